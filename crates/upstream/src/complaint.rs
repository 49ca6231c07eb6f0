//! Errors in a provider's own shape, as a whole answer or as an event of a stream.

use epitome_wire::Protocol;
use serde_json::{Value, json};

/// What a provider says when it does not answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Complaint {
    pub(crate) status: u16,
    pub(crate) message: String,
    /// OpenAI's name for the case.
    pub(crate) code: Option<&'static str>,
    /// The field OpenAI names.
    pub(crate) param: Option<String>,
}

impl Complaint {
    /// A complaint about the request itself.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self { status: 400, message: message.into(), code: None, param: None }
    }

    /// What providers say with a status of their own accord.
    pub(crate) fn of_status(status: u16) -> Self {
        let (message, code) = match status {
            401 => ("Incorrect API key provided.", Some("invalid_api_key")),
            403 => ("Your account does not have access to this resource.", None),
            404 => ("The requested resource could not be found.", None),
            413 => ("Request exceeds the maximum size", None),
            429 => {
                ("This request would exceed your account's rate limit. Please try again later.", LIMIT_CODE)
            }
            500 => ("Internal server error", None),
            503 => ("The server is overloaded or not ready yet.", None),
            529 => ("Overloaded", None),
            _ => ("The request could not be completed.", None),
        };
        Self { status, message: message.into(), code, param: None }
    }

    /// The body of the answer.
    pub(crate) fn body(&self, protocol: Protocol, number: u64) -> Value {
        match protocol {
            Protocol::Anthropic => json!({
                "type": "error",
                "error": {"type": anthropic_type(self.status), "message": self.message},
                "request_id": request_id(number),
            }),
            Protocol::OpenaiChat | Protocol::OpenaiResponses => json!({"error": {
                "message": self.message,
                "type": openai_type(self.status),
                "param": self.param,
                "code": self.code,
            }}),
        }
    }
}

const LIMIT_CODE: Option<&str> = Some("rate_limit_exceeded");

/// The id a provider gives a request.
pub(crate) fn request_id(number: u64) -> String {
    format!("req_scripted{number:06}")
}

fn anthropic_type(status: u16) -> &'static str {
    match status {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        504 => "timeout_error",
        529 | 503 => "overloaded_error",
        500.. => "api_error",
        _ => "invalid_request_error",
    }
}

fn openai_type(status: u16) -> &'static str {
    match status {
        403 => "permission_error",
        429 => "requests",
        500.. => "server_error",
        _ => "invalid_request_error",
    }
}
