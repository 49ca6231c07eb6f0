//! Connections that are read on, kept for the next reader: to open one takes longer than most of what is read.

use super::file;
use crate::fault::of_sqlite;
use epitome_engine::store::StoreError;
use rusqlite::{Connection, OpenFlags};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// So many connections wait for readers; more are closed after use.
const READERS_MAX: usize = 4;

/// Connections to a file, for reading.
pub(super) struct Readers {
    pub(super) path: PathBuf,
    /// Whether nothing may be written.
    pub(super) is_looking: bool,
    /// Those that nobody reads on just now.
    idle: Mutex<Vec<Connection>>,
}

impl Readers {
    pub(super) fn new(path: PathBuf, is_looking: bool) -> Self {
        Self { path, is_looking, idle: Mutex::default() }
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
            None if self.is_looking => file::connect_to_look(&self.path)?,
            None => {
                file::connect(&self.path, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)?
            }
        };
        let found = act(&connection);
        let mut idle = self.idle();
        if idle.len() < READERS_MAX {
            idle.push(connection);
        }
        found
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
