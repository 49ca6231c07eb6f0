//! The sessions in memory, for people and scripts.

use crate::memory::{Memory, SessionId};
use crate::tally::Tally;
use epitome_core::{Budget, Tokens};
use epitome_engine::Report;
use serde::Serialize;

/// One session, as far as it can be looked at now.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum Listed {
    /// All of it.
    Seen(Box<Seen>),
    /// It is at work, and nobody waits for it to say so.
    Busy {
        session: SessionId,
        branched_from: Option<SessionId>,
        /// Always true.
        busy: bool,
    },
}

/// What there is to see of a session.
#[derive(Serialize)]
pub(crate) struct Seen {
    session: SessionId,
    /// The session it branched off, where its client went back and said something else.
    branched_from: Option<SessionId>,
    protocol: &'static str,
    model: String,
    messages: usize,
    /// What the history takes in the context, by our count.
    tokens: Tokens,
    #[serde(flatten)]
    budget: Budget,
    #[serde(flatten)]
    tally: Tally,
    compactions: Vec<Report>,
}

/// All sessions, oldest first.
pub(crate) fn sessions(memory: &Memory) -> Vec<Listed> {
    let mut all = Vec::new();
    for (session, branched_from, conversation) in memory.all() {
        let Ok(conversation) = conversation.try_lock() else {
            all.push(Listed::Busy { session, branched_from, busy: true });
            continue;
        };
        let (budget, tokens) = conversation.room();
        let (tally, compactions) = (*conversation.tally(), conversation.records().to_vec());
        all.push(Listed::Seen(Box::new(Seen {
            session,
            branched_from,
            protocol: conversation.protocol().name(),
            model: conversation.model().to_owned(),
            messages: conversation.len(),
            tokens,
            budget,
            tally,
            compactions,
        })));
    }
    all
}
