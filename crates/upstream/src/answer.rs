//! An answer, decided: what goes back, when, and whether all of it does.

use crate::complaint::Complaint;
use crate::overflow::{ErrorBody, Refusal};
use epitome_tokens::Usage;
use epitome_wire::Protocol;
use serde_json::Value;
use std::time::Duration;

/// What goes back to the client.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answer {
    /// The request's number.
    pub(crate) number: u64,
    pub(crate) status: u16,
    /// Seconds to wait before trying again.
    pub(crate) retry_after: Option<u64>,
    pub(crate) content: Content,
    /// The wait before it, and between events.
    pub(crate) pause: Duration,
    pub(crate) ending: Ending,
    /// What it took, where a model answered.
    pub(crate) usage: Option<Usage>,
}

/// What an answer holds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Content {
    Json(Value),
    Html(&'static str),
    Nothing,
    /// Events in their framing.
    Events(Vec<String>),
}

/// How an answer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// As it should.
    Whole,
    /// Half way.
    Cut,
    /// It never begins.
    Never,
}

impl Answer {
    /// An answer that is well.
    pub(crate) fn good(content: Content) -> Self {
        Self {
            number: 0,
            status: 200,
            retry_after: None,
            content,
            pause: Duration::ZERO,
            ending: Ending::Whole,
            usage: None,
        }
    }

    /// A complaint in the provider's shape.
    pub(crate) fn complaint(complaint: &Complaint, protocol: Protocol, number: u64) -> Self {
        let content = Content::Json(complaint.body(protocol, number));
        Self { number, status: complaint.status, ..Self::good(content) }
    }

    /// An overflow error.
    pub(crate) fn refusal(refusal: Refusal) -> Self {
        let content = match refusal.body {
            ErrorBody::Json(value) => Content::Json(value),
            ErrorBody::Html(page) => Content::Html(page),
            ErrorBody::Nothing => Content::Nothing,
        };
        Self { status: refusal.status, ..Self::good(content) }
    }

    /// No answer.
    pub(crate) fn never() -> Self {
        Self { status: 504, ending: Ending::Never, ..Self::good(Content::Nothing) }
    }
}
