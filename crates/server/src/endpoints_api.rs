//! The HTTP API of what was learned of providers' endpoints: a list, and a way to forget.

use crate::api_error::ApiError;
use crate::endpoint_facts::EndpointFilter;
use crate::learned;
use crate::server_state::ServerState;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde_json::json;
use std::sync::Arc;

/// The path below `/api/v1`.
pub(crate) fn router() -> Router<Arc<ServerState>> {
    Router::new()
        .route("/api/v1/endpoints", get(list).delete(forget))
        .method_not_allowed_fallback(async || ApiError::Method)
}

async fn list(State(state): State<Arc<ServerState>>) -> impl IntoResponse {
    let now = state.calendar();
    Json(state.books.learned(|known| known.listed(now)))
}

async fn forget(
    State(state): State<Arc<ServerState>>,
    query: Result<Query<EndpointFilter>, QueryRejection>,
) -> Result<Response, ApiError> {
    let Query(filter) = query.map_err(|rejection| {
        ApiError::Refused(format!(
            "the query cannot be used: {}; write ?model=NAME, ?base_url=URL, both or neither",
            rejection.body_text()
        ))
    })?;
    let here = state.books.learned(|known| known.forget(&filter));
    // Other servers on the same store, and what it keeps.
    let kept = learned::forget_endpoints(&**state.engine.store(), &filter, state.calendar()).await;
    learned::save(&state).await;
    let forgotten = here.max(kept.map_err(epitome_engine::EngineError::from)?);
    Ok(Json(json!({"forgotten": forgotten})).into_response())
}
