//! What was learned of providers' endpoints, kept in the store between runs and beside other replicas: windows, how each counts, and
//! whether it binds thinking. It is written from time to time and at the end; what a crash loses is learned again. Whoever has the store
//! forgotten some of it leaves word there, for servers that hold it in memory.

use crate::endpoint_facts::{EndpointFacts, EndpointFilter, LearnedFacts};
use crate::server_state::ServerState;
use epitome_engine::CalibrationTable;
use epitome_engine::store::{Store, StoreError};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::time::Duration;

const WINDOWS: &str = "learned windows";
const CALIBRATIONS: &str = "learned calibrations";
const BINDINGS: &str = "learned bindings";
/// Which of it somebody wants forgotten.
const RESET: &str = "forgotten endpoints";

/// Word that some of it is to be forgotten.
#[derive(Serialize, Deserialize)]
struct ResetMemo {
    /// When, by whoever said so: the same wish again is another one.
    at: Duration,
    #[serde(flatten)]
    filter: EndpointFilter,
}

/// What a store keeps under a name. What cannot be read is learned again.
async fn memo<T: DeserializeOwned>(store: &dyn Store, name: &str) -> Result<Option<T>, StoreError> {
    let kept = store.memos(name).await?.into_iter().find(|memo| memo.name == name);
    Ok(kept.and_then(|memo| serde_json::from_slice(&memo.value).ok()))
}

/// What a store keeps of endpoints.
async fn kept(store: &dyn Store) -> Result<LearnedFacts, StoreError> {
    let mut calibrations = CalibrationTable::default();
    calibrations.restore(memo(store, CALIBRATIONS).await?.unwrap_or_default());
    Ok(LearnedFacts {
        windows: memo(store, WINDOWS).await?.unwrap_or_default(),
        calibrations,
        bindings: memo(store, BINDINGS).await?.unwrap_or_default(),
    })
}

/// Takes up what was kept.
pub(crate) async fn load(state: &ServerState) {
    let store = &**state.engine.store();
    if let Ok(facts) = kept(store).await {
        state.books.learned(|known| *known = facts);
    }
    // What was to be forgotten before is not in it any more.
    is_reset(state).await;
}

/// Keeps what was learned since it was last kept. A store that fails now is told of when a session needs it.
pub(crate) async fn save(state: &ServerState) {
    if let Some(filter) = is_reset(state).await {
        state.books.learned(|known| known.forget(&filter));
    }
    let written = state.books.learned(|known| known.written());
    for (name, value) in written {
        if state.books.is_news(name, &value) {
            drop(state.engine.store().keep_memo(name.to_owned(), Some(value)).await);
        }
    }
}

/// What somebody else wants forgotten since this was last asked.
async fn is_reset(state: &ServerState) -> Option<EndpointFilter> {
    let found = state.engine.store().memos(RESET).await.ok()?;
    let value = found.into_iter().find(|memo| memo.name == RESET)?.value;
    let reset: ResetMemo = serde_json::from_slice(&value).ok()?;
    state.books.is_news(RESET, &value).then_some(reset.filter)
}

impl LearnedFacts {
    /// It as it is kept, by name.
    fn written(&self) -> Vec<(&'static str, Vec<u8>)> {
        let parts = [
            (WINDOWS, serde_json::to_vec(&self.windows)),
            (CALIBRATIONS, serde_json::to_vec(&self.calibrations.rows())),
            (BINDINGS, serde_json::to_vec(&self.bindings)),
        ];
        parts.into_iter().filter_map(|(name, value)| Some((name, value.ok()?))).collect()
    }
}

/// What a store keeps of providers' endpoints, at a time since the epoch.
///
/// # Errors
/// Where the store fails.
pub async fn learned_endpoints(store: &dyn Store, now: Duration) -> Result<Vec<EndpointFacts>, StoreError> {
    Ok(kept(store).await?.listed(now))
}

/// Has a store forget what was learned of the endpoints that are meant, and every server on it within seconds; how many those were.
///
/// # Errors
/// Where the store fails.
pub async fn forget_endpoints(
    store: &dyn Store,
    filter: &EndpointFilter,
    now: Duration,
) -> Result<usize, StoreError> {
    let mut facts = kept(store).await?;
    let forgotten = facts.forget(filter);
    for (name, value) in facts.written() {
        store.keep_memo(name.to_owned(), Some(value)).await?;
    }
    let reset = ResetMemo { at: now, filter: filter.clone() };
    let value = serde_json::to_vec(&reset).unwrap_or_default();
    store.keep_memo(RESET.to_owned(), Some(value)).await?;
    Ok(forgotten)
}
