//! Bodies of the API: JSON, and refused in the API's own words.

use crate::api_error::ApiError;
use axum::Json;
use axum::extract::{FromRequest, OptionalFromRequest, Request};
use serde::de::DeserializeOwned;

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
