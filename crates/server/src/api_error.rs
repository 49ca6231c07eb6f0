//! Requests of the API that could not be served: a status, and a sentence with what to do.

use axum::Json;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use epitome_core::EntryId;
use epitome_engine::EngineError;
use epitome_engine::store::StoreError;
use serde_json::json;

/// A request of the API that could not be served.
pub(crate) enum ApiError {
    NoSession(String),
    NoEntry(String),
    Engine(EngineError),
    NobodyWaits(String),
    Stayed(String),
    NotInView(EntryId),
    /// A body that cannot be taken, and why.
    Refused(String),
    /// The path takes other methods.
    Method,
    /// The work ended before it was done.
    Stopped,
}

impl From<QueryRejection> for ApiError {
    fn from(rejection: QueryRejection) -> Self {
        Self::Refused(format!("the query cannot be used: {}; write ?since=POSITION", innermost(&rejection)))
    }
}

impl From<JsonRejection> for ApiError {
    fn from(rejection: JsonRejection) -> Self {
        Self::Refused(match rejection {
            JsonRejection::JsonDataError(error) => format!("the body cannot be used: {}", innermost(&error)),
            JsonRejection::JsonSyntaxError(error) => format!("the body is no JSON: {}", innermost(&error)),
            JsonRejection::MissingJsonContentType(_) => {
                "the body is not said to be JSON; send it with `content-type: application/json`".to_owned()
            }
            other => format!("the body did not arrive: {}", innermost(&other)),
        })
    }
}

/// What was wrong in the first place, without the words of those who passed it on.
fn innermost(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(below) = cause.source() {
        cause = below;
    }
    cause.to_string()
}

impl From<EngineError> for ApiError {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Store(StoreError::NoSession(id)) => Self::NoSession(id.to_string()),
            error => Self::Engine(error),
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let (status, why) = match self {
            Self::NoSession(name) => (
                StatusCode::NOT_FOUND,
                format!("there is no session `{name}`; GET /api/v1/sessions lists them"),
            ),
            Self::NoEntry(name) => {
                (StatusCode::BAD_REQUEST, format!("`{name}` is no entry; one looks like m0123"))
            }
            Self::Engine(
                error @ (EngineError::Log(_) | EngineError::Busy(_) | EngineError::Unchanged { .. }),
            ) => (StatusCode::CONFLICT, error.to_string()),
            Self::Engine(
                error @ (EngineError::NoEntry(_)
                | EngineError::Store(StoreError::NoMessage { .. } | StoreError::NotKept { .. })),
            ) => (StatusCode::NOT_FOUND, error.to_string()),
            Self::Engine(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
            Self::NotInView(id) => (
                StatusCode::NOT_FOUND,
                format!("{id} is no message in view; name one that the model still sees"),
            ),
            Self::Refused(why) => (StatusCode::BAD_REQUEST, why),
            Self::Method => (
                StatusCode::METHOD_NOT_ALLOWED,
                "this path takes other methods; see docs/reference/proxy.md".to_owned(),
            ),
            Self::Stopped => {
                (StatusCode::INTERNAL_SERVER_ERROR, "the work on this was stopped; ask again".to_owned())
            }
            Self::Stayed(why) => (StatusCode::CONFLICT, format!("the session stays where it is: {why}")),
            Self::NobodyWaits(name) => (
                StatusCode::NOT_FOUND,
                format!(
                    "no compaction `{name}` waits for a decision; GET /api/v1/checkpoints lists those that do"
                ),
            ),
        };
        (status, Json(json!({"error": why}))).into_response()
    }
}
