//! Failures that a store is stood in for, and what is said of that to whoever asks meanwhile.

use epitome_core::EntryId;
use epitome_engine::store::{FaultKind, SessionId, StoreError, StoreFault};

/// What cannot be read while the store fails, for whoever can say it again.
pub(super) fn out_of_reach(error: StoreError, session: SessionId, ids: &[EntryId]) -> StoreError {
    match error {
        StoreError::Fault(fault) if fault.kind.is_passing() => {
            StoreError::OutOfReach { session, ids: ids.to_vec() }
        }
        error => error,
    }
}

/// A session is not opened before what waits for it is stored.
pub(super) fn unstored(session: SessionId) -> StoreError {
    let what = format!("what was said in {session} is not stored yet");
    StoreFault { kind: FaultKind::Busy, what }.into()
}
