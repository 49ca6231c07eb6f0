//! Errors of our own, in the shape the client knows from its provider.

use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
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
}

impl Fault {
    fn status(&self) -> StatusCode {
        match self {
            Self::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::BrokenOff => StatusCode::BAD_REQUEST,
            Self::NotPosted => StatusCode::METHOD_NOT_ALLOWED,
            // Which clients take for the word to go on by HTTP, at once and for the rest of the session.
            Self::Upgrade => StatusCode::UPGRADE_REQUIRED,
            Self::Unreachable { .. } => StatusCode::BAD_GATEWAY,
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::TooLarge { .. } => "request_too_large",
            Self::BrokenOff | Self::NotPosted | Self::Upgrade => "invalid_request_error",
            Self::Unreachable { .. } => "api_error",
        }
    }

    /// The error as `protocol` words it.
    pub(crate) fn response(&self, protocol: Protocol) -> Response {
        let body = shaped(protocol, self.kind(), &self.to_string()).to_string();
        (self.status(), [(CONTENT_TYPE, "application/json")], body).into_response()
    }
}

fn shaped(protocol: Protocol, kind: &str, message: &str) -> Value {
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
