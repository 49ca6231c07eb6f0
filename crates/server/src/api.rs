//! The HTTP API of sessions: lists, compactions by hand, what a person thinks of them, undo, pins, moves about the tree,
//! checkpoints, events. Each handler decodes, makes one call of the engine, and encodes.

use crate::api_error::ApiError;
use crate::blocking;
use crate::books::Book;
use crate::compact_body::{CompactBody, CompactNow, CompactRequest};
use crate::json_body::{FOCUS_CHARS_MAX, JsonBody, check_chars};
use crate::own_model;
use crate::rules::Caller;
use crate::server_state::{ServerState, note_step};
use crate::session_list;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, patch, post};
use axum::{Json, Router};
use epitome_core::{Decision, EntryId, Judgement, Range, Trigger};
use epitome_engine::store::{EventPosition, SessionId};
use epitome_engine::{
    BranchExit, Checkout, CompactOptions, Engine, EngineError, NavigationOutcome, PreparedSession,
    WindowFacts,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// A name that is read in a list.
const LABEL_CHARS_MAX: usize = 200;
/// A page: notes stay in the log for as long as the session does.
const NOTES_CHARS_MAX: usize = 4_000;

/// Why nothing is compacted by hand.
const OBSERVING: &str = "this server only observes, and changes nothing; ask with `\"dry_run\": true`, or start it without --observe";

type SharedState = State<Arc<ServerState>>;

/// The paths below `/api/v1`.
pub(crate) fn router() -> Router<Arc<ServerState>> {
    Router::new()
        .route("/api/v1/sessions", get(sessions))
        .route("/api/v1/stats", get(stats))
        .route("/api/v1/checkpoints", get(checkpoints))
        .route("/api/v1/checkpoints/{checkpoint}", post(decide))
        .route("/api/v1/sessions/{id}/compact", post(compact))
        .route("/api/v1/sessions/{id}/compactions", get(compactions))
        .route("/api/v1/sessions/{id}/compactions/{entry}", patch(judge))
        .route("/api/v1/sessions/{id}/compactions/{entry}/undo", post(undo))
        .route("/api/v1/sessions/{id}/compactions/{entry}/redo", post(redo))
        .route("/api/v1/sessions/{id}/pins/{entry}", post(pin).delete(unpin))
        .route("/api/v1/sessions/{id}/breaker/reset", post(reset_breaker))
        .route("/api/v1/sessions/{id}/navigate", post(navigate))
        .route("/api/v1/sessions/{id}/rollback", post(rollback))
        .route("/api/v1/sessions/{id}/labels", post(label))
        .route("/api/v1/sessions/{id}/messages/{entry}", get(recall))
        .route("/api/v1/sessions/{id}/events", get(events))
        .method_not_allowed_fallback(async || ApiError::Method)
}

async fn sessions(State(state): SharedState) -> impl IntoResponse {
    Json(session_list::sessions(&state.books))
}

async fn stats(State(state): SharedState) -> impl IntoResponse {
    Json(state.counter.totals())
}

async fn checkpoints(State(state): SharedState) -> impl IntoResponse {
    Json(state.checkpoints.all())
}

async fn compactions(State(state): SharedState, Path(id): Path<String>) -> Result<Response, ApiError> {
    let session = session(&id)?;
    let listed =
        state.books.with(session, |book| session_list::compactions(book)).ok_or(ApiError::NoSession(id))?;
    Ok(Json(listed).into_response())
}

async fn compact(
    State(state): SharedState,
    Path(id): Path<String>,
    body: Option<JsonBody<CompactBody>>,
) -> Result<Response, ApiError> {
    match CompactRequest::try_from(body.map(|JsonBody(body)| body).unwrap_or_default())? {
        CompactRequest::AtTurnEnd if state.settings.is_observing => Err(ApiError::Stayed(OBSERVING.into())),
        CompactRequest::Now(now) if state.settings.is_observing && !now.dry_run => {
            Err(ApiError::Stayed(OBSERVING.into()))
        }
        CompactRequest::AtTurnEnd => {
            act(state, id, async |engine, checkout| engine.request_compaction(checkout).await).await
        }
        CompactRequest::Now(now) => compact_now(state, id, now).await,
    }
}

async fn compact_now(state: Arc<ServerState>, id: String, now: CompactNow) -> Result<Response, ApiError> {
    let CompactNow { focus, range, dry_run, set } = now;
    let options = CompactOptions { range, ..CompactOptions::default() };
    let compacted = async move |state: &ServerState, mut checkout: Checkout| {
        check_range(state, &checkout, range).await?;
        if !set.is_empty() {
            checkout = governed(state, checkout, &set)?;
        }
        checkout.options.focus = focus;
        if dry_run {
            let record = state.engine.preview(&checkout, Trigger::Manual, options).await?;
            return Ok(Json(&*record).into_response());
        }
        let acted = state.engine.compact(&checkout, Trigger::Manual, options).await?;
        Ok(done(state, checkout.session, &acted))
    };
    work(state, id, compacted).await
}

/// The same checkout, with settings that count for this act alone.
fn governed(state: &ServerState, checkout: Checkout, set: &Map<String, Value>) -> Result<Checkout, ApiError> {
    let session = checkout.session;
    let newest = |book: &mut Book| (book.protocol, book.model.clone(), book.agent.clone());
    let (protocol, model, agent) =
        state.books.with(session, newest).ok_or_else(|| ApiError::NoSession(session.to_string()))?;
    let known = WindowFacts { stated: state.settings.window, ..WindowFacts::default() };
    let (upstream, agent) = (state.settings.upstreams.of_model(protocol, &model), agent.as_deref());
    let caller = Caller { protocol, model: &model, agent, credentials: &[], upstream, known };
    let rule = state.settings.rules.of_act(&caller, set).map_err(ApiError::Refused)?;
    own_model::govern(checkout, &rule).map_err(|error| ApiError::Refused(error.to_string()))
}

/// Refuses a range that ends at a message which is not in view.
async fn check_range(state: &ServerState, checkout: &Checkout, range: Range) -> Result<(), ApiError> {
    let end = match range {
        Range::All => return Ok(()),
        Range::UpTo(id) | Range::From(id) => id,
    };
    let path = state.engine.look(checkout).await?;
    let is_in_view = path.context().message_slots().any(|(shown, ..)| shown == end);
    is_in_view.then_some(()).ok_or(ApiError::NotInView(end))
}

async fn judge(
    State(state): SharedState,
    Path((id, entry)): Path<(String, String)>,
    JsonBody(judgement): JsonBody<Judgement>,
) -> Result<Response, ApiError> {
    let of = parse_entry(&entry)?;
    check_chars("notes", Some(&judgement.notes), NOTES_CHARS_MAX)?;
    act(state, id, async move |engine, checkout| engine.judge(checkout, of, judgement).await).await
}

async fn undo(
    State(state): SharedState,
    Path((id, entry)): Path<(String, String)>,
) -> Result<Response, ApiError> {
    let of = parse_entry(&entry)?;
    act(state, id, async move |engine, checkout| engine.undo(checkout, of).await).await
}

async fn redo(
    State(state): SharedState,
    Path((id, entry)): Path<(String, String)>,
) -> Result<Response, ApiError> {
    let of = parse_entry(&entry)?;
    act(state, id, async move |engine, checkout| engine.redo(checkout, of).await).await
}

async fn pin(
    State(state): SharedState,
    Path((id, entry)): Path<(String, String)>,
) -> Result<Response, ApiError> {
    let of = parse_entry(&entry)?;
    act(state, id, async move |engine, checkout| engine.pin(checkout, of).await).await
}

async fn unpin(
    State(state): SharedState,
    Path((id, entry)): Path<(String, String)>,
) -> Result<Response, ApiError> {
    let of = parse_entry(&entry)?;
    act(state, id, async move |engine, checkout| engine.unpin(checkout, of).await).await
}

async fn reset_breaker(State(state): SharedState, Path(id): Path<String>) -> Result<Response, ApiError> {
    act(state, id, async |engine, checkout| engine.reset_breaker(checkout).await).await
}

/// Where a session is to go, and what is said of the branch it leaves.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NavigateBody {
    to: EntryId,
    #[serde(default)]
    summary: bool,
    focus: Option<String>,
}

async fn navigate(
    State(state): SharedState,
    Path(id): Path<String>,
    JsonBody(NavigateBody { to, summary, focus }): JsonBody<NavigateBody>,
) -> Result<Response, ApiError> {
    check_chars("focus", focus.as_deref(), FOCUS_CHARS_MAX)?;
    let exit = if summary { BranchExit::Summary { focus } } else { BranchExit::Silent };
    let navigated = async move |state: &ServerState, checkout: Checkout| {
        let outcome = state.engine.navigate(&checkout, to, exit).await?;
        match outcome {
            NavigationOutcome::There { summary } => {
                Ok(moved(state, checkout.session, summary.unwrap_or(to), summary))
            }
            NavigationOutcome::Stayed { why } => Err(ApiError::Stayed(why)),
        }
    };
    work(state, id, navigated).await
}

/// Where a session is to go back to.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RollbackBody {
    to: EntryId,
}

async fn rollback(
    State(state): SharedState,
    Path(id): Path<String>,
    JsonBody(RollbackBody { to }): JsonBody<RollbackBody>,
) -> Result<Response, ApiError> {
    let rolled_back = async move |state: &ServerState, checkout: Checkout| {
        state.engine.rollback_at(checkout.session, to, state.settings.clock.unix_ms()).await?;
        Ok(moved(state, checkout.session, to, None))
    };
    work(state, id, rolled_back).await
}

/// Acts that follow are on the path that ends in `leaf`.
fn moved(state: &ServerState, session: SessionId, leaf: EntryId, summary: Option<EntryId>) -> Response {
    state.books.with(session, |book| {
        if let Some(checkout) = &mut book.checkout {
            checkout.leaf = Some(leaf);
        }
    });
    Json(json!({"session": session, "leaf": leaf, "summary": summary})).into_response()
}

/// A name for where a session has got to.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LabelBody {
    text: String,
}

async fn label(
    State(state): SharedState,
    Path(id): Path<String>,
    JsonBody(LabelBody { text }): JsonBody<LabelBody>,
) -> Result<Response, ApiError> {
    check_chars("text", Some(&text), LABEL_CHARS_MAX)?;
    if text.trim().is_empty() {
        return Err(ApiError::Refused("`text` is empty; write the name that the place is to have".into()));
    }
    act(state, id, async move |engine, checkout| engine.label(checkout, &text).await).await
}

/// What an operator may say; that nobody did is the clock's.
#[derive(Deserialize)]
#[serde(tag = "decision", rename_all = "kebab-case", deny_unknown_fields)]
enum DecisionBody {
    Approve,
    Edit { summary: String },
    Reject,
}

impl From<DecisionBody> for Decision {
    fn from(body: DecisionBody) -> Self {
        match body {
            DecisionBody::Approve => Self::Approve,
            DecisionBody::Edit { summary } => Self::Edit { summary },
            DecisionBody::Reject => Self::Reject,
        }
    }
}

async fn decide(
    State(state): SharedState,
    Path(name): Path<String>,
    JsonBody(decision): JsonBody<DecisionBody>,
) -> Result<Response, ApiError> {
    let decided = name.parse().ok().and_then(|id| state.checkpoints.decide(id, decision.into()));
    let session = decided.ok_or(ApiError::NobodyWaits(name))?;
    Ok(Json(json!({"session": session})).into_response())
}

async fn recall(
    State(state): SharedState,
    Path((id, entry)): Path<(String, String)>,
) -> Result<Response, ApiError> {
    let message = state.engine.recall(session(&id)?, parse_entry(&entry)?).await?;
    Ok(Json(&*message).into_response())
}

/// From where events are listed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SinceQuery {
    #[serde(default)]
    since: Option<String>,
}

async fn events(
    State(state): SharedState,
    Path(id): Path<String>,
    query: Result<Query<SinceQuery>, QueryRejection>,
) -> Result<Response, ApiError> {
    let Query(SinceQuery { since }) = query?;
    let session = session(&id)?;
    state.books.with(session, |_| ()).ok_or(ApiError::NoSession(id))?;
    let since =
        since.map_or(Ok(EventPosition::default()), |since| since.parse()).map_err(ApiError::Refused)?;
    // Read and parsed beside the connections of this thread: they may be those of a year.
    let listed = blocking::run_while_awaited(async move || state.engine.events(since).await).await;
    let mut events = listed.ok_or(ApiError::Stopped)??;
    events.retain(|one| one.session == session);
    Ok(Json(events).into_response())
}

/// Does something with the path of a session's newest request, for as long as the client waits.
async fn work<T: Send + 'static>(
    state: Arc<ServerState>,
    id: String,
    work: impl AsyncFnOnce(&ServerState, Checkout) -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    let checkout = checkout(&state, id)?;
    let worked = blocking::run_while_awaited(async move || work(&state, checkout).await).await;
    worked.ok_or(ApiError::Stopped)?
}

/// The same where it is one act of the engine.
async fn act(
    state: Arc<ServerState>,
    id: String,
    act: impl AsyncFnOnce(&Engine, &Checkout) -> Result<PreparedSession, EngineError> + Send + 'static,
) -> Result<Response, ApiError> {
    let acted = async move |state: &ServerState, checkout: Checkout| {
        let acted = act(&state.engine, &checkout).await?;
        Ok(done(state, checkout.session, &acted))
    };
    work(state, id, acted).await
}

/// What an act came to.
fn done(state: &ServerState, session: SessionId, acted: &PreparedSession) -> Response {
    note_step(state, session, acted);
    state.books.with(session, |book| book.see(&acted.session));
    let record = acted.step.record.as_deref().map_or(Value::Null, |record| json!(record));
    let entries: Vec<EntryId> = acted.step.appended.iter().map(|one| one.id).collect();
    Json(json!({"session": session, "entries": entries, "record": record})).into_response()
}

/// How the newest request of a session was worked on.
fn checkout(state: &ServerState, id: String) -> Result<Checkout, ApiError> {
    let found = state.books.with(session(&id)?, |book: &mut Book| book.checkout.clone()).flatten();
    found.ok_or(ApiError::NoSession(id))
}

fn session(name: &str) -> Result<SessionId, ApiError> {
    name.parse().map_err(|_| ApiError::NoSession(name.to_owned()))
}

fn parse_entry(name: &str) -> Result<EntryId, ApiError> {
    name.parse().map_err(|_| ApiError::NoEntry(name.to_owned()))
}
