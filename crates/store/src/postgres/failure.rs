//! What goes wrong with a database on a network, as kinds that can be acted on, and what of it may be tried again.

use crate::fault::damaged;
use deadpool_postgres::PoolError;
use epitome_engine::store::{FaultKind, StoreError, StoreFault};
use std::time::Duration;
use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

/// Why something could not be done.
#[derive(Debug)]
pub(super) enum PostgresFailure {
    /// It was refused by what the tables hold.
    Refusal(StoreError),
    /// The database failed, or the connection to it did.
    Database(Error),
    /// There was no connection.
    Connection(PoolError),
    /// Nobody answered for so long.
    Silence(Duration),
}

impl From<StoreError> for PostgresFailure {
    fn from(error: StoreError) -> Self {
        Self::Refusal(error)
    }
}

impl From<Error> for PostgresFailure {
    fn from(error: Error) -> Self {
        Self::Database(error)
    }
}

impl From<PoolError> for PostgresFailure {
    fn from(error: PoolError) -> Self {
        Self::Connection(error)
    }
}

impl PostgresFailure {
    /// Something in a table that cannot be read.
    pub(super) fn damaged(what: impl Into<String>) -> Self {
        Self::Refusal(damaged(what))
    }

    /// Whether it may have passed when the same is asked once more: the connection was lost, the server is another one now, or
    /// two transactions were in each other's way.
    pub(super) fn is_passing(&self) -> bool {
        match self {
            Self::Refusal(_) | Self::Silence(_) => false,
            Self::Database(error) | Self::Connection(PoolError::Backend(error)) => match error.code() {
                None => true,
                Some(code) => {
                    let passing = [
                        SqlState::ADMIN_SHUTDOWN,
                        SqlState::CRASH_SHUTDOWN,
                        SqlState::CANNOT_CONNECT_NOW,
                        SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
                        SqlState::T_R_SERIALIZATION_FAILURE,
                        SqlState::T_R_DEADLOCK_DETECTED,
                        // A server that has become a standby: the next connection finds its successor.
                        SqlState::READ_ONLY_SQL_TRANSACTION,
                    ];
                    code.code().starts_with("08") || passing.contains(code)
                }
            },
            Self::Connection(_) => false,
        }
    }

    /// The same for callers of the port; `place` names the database without its password.
    pub(super) fn told(self, place: &str) -> StoreError {
        let (kind, why) = match self {
            Self::Refusal(error) => return error,
            Self::Database(error) | Self::Connection(PoolError::Backend(error)) => {
                (kind(&error), chain(&error))
            }
            Self::Connection(PoolError::Timeout(_)) => {
                (FaultKind::Busy, "no connection was free or could be made in time".to_owned())
            }
            Self::Connection(error) => (FaultKind::Gone, error.to_string()),
            Self::Silence(time) => (FaultKind::Gone, format!("no answer for {} seconds", time.as_secs())),
        };
        StoreError::Fault(StoreFault { kind, what: format!("{place} failed ({why})") })
    }
}

fn kind(error: &Error) -> FaultKind {
    let Some(code) = error.code() else { return FaultKind::Gone };
    match (code.code(), code.code().get(..2).unwrap_or_default()) {
        ("53100", _) => FaultKind::Full,
        ("25006" | "42501", _) => FaultKind::ReadOnly,
        ("57014" | "55P03" | "40001" | "40P01", _) | (_, "53") => FaultKind::Busy,
        ("57P01" | "57P02" | "57P03" | "57P04" | "25P03" | "3D000", _) | (_, "08" | "28") => FaultKind::Gone,
        ("XX001" | "XX002", _) => FaultKind::Damaged,
        _ => FaultKind::Other,
    }
}

/// An error with its causes: the driver's own says `db error` and leaves the rest to them.
fn chain(error: &Error) -> String {
    let mut said = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        let one = error.to_string();
        if !said.contains(&one) {
            said = format!("{said}: {one}");
        }
        cause = error.source();
    }
    said
}
