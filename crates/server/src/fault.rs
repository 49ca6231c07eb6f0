//! Errors of our own, in the shape the client knows from its provider.

use crate::upstream_route::Cloud;
use axum::http::header::CONTENT_TYPE;
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use epitome_wire::Protocol;
use serde_json::{Value, json};

/// A request that never reached the provider, or whose reply never reached us.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    /// The body is larger than any provider takes.
    #[error("epitome: the request has more than {bytes_max} bytes, over what any provider takes; send less")]
    TooLarge {
        /// The limit.
        bytes_max: usize,
    },
    /// The body did not arrive.
    #[error("epitome: the request broke off before it was whole; send it again")]
    BrokenOff,
    /// It was opened, as in a browser.
    #[error(
        "epitome: conversations are sent here with POST; point the agent's base URL at this server without /v1/messages"
    )]
    NotPosted,
    /// No row of the table of routes has its path.
    #[error(
        "epitome: {asked} is no path that is served here; served are /v1/messages, /v1/chat/completions, /v1/responses and what goes with them, any path of a provider below /anthropic or /openai, and what --route names; see docs/reference/proxy.md"
    )]
    NoSuchPath {
        /// Its method and path.
        asked: String,
    },
    /// It is a cloud's path, and that has no upstream.
    #[error(
        "epitome: this is a path of {}, and nobody said where that is; start the server with --route {}=URL",
        .cloud.title(),
        .cloud.name()
    )]
    NotRouted {
        /// Whose path it is.
        cloud: Cloud,
    },
    /// Its path would leave the base URL's.
    #[error(
        "epitome: a part of the path is `.` or `..`, which would lead out of the provider's base URL; send the path it stands for"
    )]
    DotsInPath,
    /// Its key is another company's.
    #[error(
        "epitome: the request has a key of {owner}'s, and its path goes to {upstream}; nothing was sent. Check the agent's base URL and key, or name an upstream of your own"
    )]
    ForeignKey {
        /// Whose key it is.
        owner: &'static str,
        /// Where it would have gone.
        upstream: String,
    },
    /// It came from this very server.
    #[error(
        "epitome: the request has come back to the proxy that sent it: {upstream} leads here; give --upstream the provider's own address"
    )]
    Loop {
        /// Where it would have gone once more.
        upstream: String,
    },
    /// A socket is asked for in place of an answer.
    #[error(
        "epitome: this server speaks HTTP and no WebSocket; send the request with POST, or set `supports_websockets = false` for this provider where the client asks"
    )]
    Upgrade,
    /// Nobody answers there.
    #[error(
        "epitome: cannot reach the provider at {upstream}: {why}; check the network and the address requests are sent to"
    )]
    Unreachable {
        /// Its base URL.
        upstream: String,
        /// What the connection said.
        why: String,
    },
    /// Somebody may be there, and said nothing.
    #[error(
        "epitome: the provider at {upstream} gave no answer: {why}; it may have taken the request. Send it again, or see how the provider is"
    )]
    Unanswered {
        /// Its base URL.
        upstream: String,
        /// What the connection said.
        why: String,
    },
}

impl Fault {
    /// A path that no row has.
    pub(crate) fn no_such_path(method: &Method, path: &str) -> Self {
        Self::NoSuchPath { asked: format!("{method} {path}") }
    }

    fn status(&self) -> StatusCode {
        match self {
            Self::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::BrokenOff => StatusCode::BAD_REQUEST,
            Self::NotPosted => StatusCode::METHOD_NOT_ALLOWED,
            Self::NoSuchPath { .. } | Self::NotRouted { .. } => StatusCode::NOT_FOUND,
            Self::DotsInPath => StatusCode::BAD_REQUEST,
            Self::ForeignKey { .. } => StatusCode::FORBIDDEN,
            Self::Loop { .. } => StatusCode::LOOP_DETECTED,
            // Which clients take for the word to go on by HTTP, at once and for the rest of the session.
            Self::Upgrade => StatusCode::UPGRADE_REQUIRED,
            Self::Unreachable { .. } | Self::Unanswered { .. } => StatusCode::BAD_GATEWAY,
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::TooLarge { .. } => "request_too_large",
            Self::BrokenOff | Self::NotPosted | Self::DotsInPath | Self::Upgrade => "invalid_request_error",
            Self::NoSuchPath { .. } | Self::NotRouted { .. } => "not_found_error",
            Self::ForeignKey { .. } => "permission_error",
            Self::Unreachable { .. } | Self::Unanswered { .. } | Self::Loop { .. } => "api_error",
        }
    }

    /// The error as `protocol` words it.
    pub(crate) fn response(&self, protocol: Protocol) -> Response {
        let body = shaped(protocol, self.kind(), &self.to_string()).to_string();
        (self.status(), [(CONTENT_TYPE, "application/json")], body).into_response()
    }
}

/// An error in the shape of a protocol.
pub(crate) fn shaped(protocol: Protocol, kind: &str, message: &str) -> Value {
    match protocol {
        Protocol::Anthropic => json!({"type": "error", "error": {"type": kind, "message": message}}),
        Protocol::OpenaiChat | Protocol::OpenaiResponses => {
            json!({"error": {"message": message, "type": kind, "param": null, "code": null}})
        }
    }
}

/// An error with all its causes, in one line.
pub(crate) fn told(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
