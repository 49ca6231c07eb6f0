//! What was learned of providers' endpoints, kept in the store between runs and beside other replicas: windows, and how each
//! counts. It is written from time to time and at the end; what a crash loses is learned again.

use crate::server_state::ServerState;
use epitome_wire::overflow::LearnedWindows;

const WINDOWS: &str = "learned windows";
const CALIBRATIONS: &str = "learned calibrations";

/// Takes up what was kept. What cannot be read is learned again.
pub(crate) async fn load(state: &ServerState) {
    let store = state.engine.store();
    let memo = async |name: &str| {
        let kept = store.memos(name).await.ok()?;
        kept.into_iter().find(|memo| memo.name == name).map(|memo| memo.value)
    };
    if let Some(windows) =
        memo(WINDOWS).await.and_then(|value| serde_json::from_slice::<LearnedWindows>(&value).ok())
    {
        state.books.windows(|known| *known = windows);
    }
    if let Some(rows) = memo(CALIBRATIONS).await.and_then(|value| serde_json::from_slice(&value).ok()) {
        state.books.calibrations(|known| known.restore(rows));
    }
}

/// Keeps what was learned since it was last kept. A store that fails now is told of when a session needs it.
pub(crate) async fn save(state: &ServerState) {
    let windows = state.books.windows(|known| serde_json::to_vec(known));
    let calibrations = state.books.calibrations(|known| serde_json::to_vec(&known.rows()));
    for (name, value) in [(WINDOWS, windows), (CALIBRATIONS, calibrations)] {
        let Ok(value) = value else { continue };
        if state.books.is_news(name, &value) {
            drop(state.engine.store().keep_memo(name.to_owned(), Some(value)).await);
        }
    }
}
