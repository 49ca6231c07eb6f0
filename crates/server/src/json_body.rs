//! Bodies of the API: JSON, with limits on the texts in them, and refused in the API's own words.

use crate::api_error::ApiError;
use axum::Json;
use axum::extract::{FromRequest, OptionalFromRequest, Request};
use serde::de::DeserializeOwned;

/// A page: a focus goes to the summariser with every request for a summary.
pub(crate) const FOCUS_CHARS_MAX: usize = 4_000;

/// A body that was sent as JSON.
pub(crate) struct JsonBody<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let Json(body) = <Json<T> as FromRequest<S>>::from_request(request, state).await?;
        Ok(Self(body))
    }
}

/// None where no body is announced.
impl<T: DeserializeOwned, S: Send + Sync> OptionalFromRequest<S> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Option<Self>, ApiError> {
        let body = <Json<T> as OptionalFromRequest<S>>::from_request(request, state).await?;
        Ok(body.map(|Json(body)| Self(body)))
    }
}

/// Refuses a text that is longer than its field takes.
pub(crate) fn check_chars(field: &str, text: Option<&str>, chars_max: usize) -> Result<(), ApiError> {
    let is_long = text.is_some_and(|text| text.chars().nth(chars_max).is_some());
    let why = || format!("`{field}` has more than {chars_max} characters; write less");
    if is_long { Err(ApiError::Refused(why())) } else { Ok(()) }
}
