//! What a database says when it fails, as kinds that can be acted on.

use epitome_engine::store::{FaultKind, StoreError, StoreFault};
use rusqlite::ErrorCode;

/// A failure of SQLite.
pub(crate) fn sqlite(error: &rusqlite::Error) -> StoreFault {
    let kind = match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => FaultKind::Full,
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => FaultKind::ReadOnly,
        Some(ErrorCode::CannotOpen | ErrorCode::SystemIoFailure) => FaultKind::Gone,
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => FaultKind::Busy,
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => FaultKind::Damaged,
        Some(_) | None => FaultKind::Other,
    };
    StoreFault { kind, what: format!("the store failed ({error})") }
}

/// The same, as an error of the port.
pub(crate) fn of_sqlite(error: rusqlite::Error) -> StoreError {
    StoreError::Fault(sqlite(&error))
}

/// Something in a table that cannot be read.
pub(crate) fn damaged(what: impl Into<String>) -> StoreError {
    StoreError::Fault(StoreFault { kind: FaultKind::Damaged, what: what.into() })
}
