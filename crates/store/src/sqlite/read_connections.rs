//! Connections that are read on, kept for the next reader: to open one takes longer than most of what is read.

use super::file;
use crate::fault::of_sqlite;
use epitome_engine::store::StoreError;
use rusqlite::{Connection, OpenFlags};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// So many connections wait for readers; more are closed after use.
const IDLE_MAX: usize = 4;

/// What may be done with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileAccess {
    ReadAndWrite,
    /// Whoever would write is refused.
    ReadOnly,
}

/// Connections to a file, for reading.
pub(super) struct ReadConnections {
    pub(super) path: PathBuf,
    pub(super) access: FileAccess,
    /// Those that nobody reads on just now.
    idle: Mutex<Vec<Connection>>,
}

impl ReadConnections {
    pub(super) fn new(path: PathBuf, access: FileAccess) -> Self {
        Self { path, access, idle: Mutex::default() }
    }

    /// Reads; what is read is as it was at one moment.
    pub(super) fn read<T>(
        &self,
        act: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.glance(|connection| {
            let transaction = connection.unchecked_transaction().map_err(of_sqlite)?;
            act(&transaction)
        })
    }

    /// Reads with one statement, or with several that need not agree on the moment: a transaction around them takes as long as
    /// they do.
    pub(super) fn glance<T>(
        &self,
        act: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let free = self.idle().pop();
        let connection = match free {
            Some(connection) => connection,
            None => match self.access {
                FileAccess::ReadOnly => file::connect_to_look(&self.path)?,
                FileAccess::ReadAndWrite => {
                    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
                    file::connect(&self.path, flags)?
                }
            },
        };
        let found = act(&connection);
        let mut idle = self.idle();
        if idle.len() < IDLE_MAX {
            idle.push(connection);
        }
        found
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
