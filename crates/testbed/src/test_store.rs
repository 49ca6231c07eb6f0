//! Places for stores of each kind, to be thrown away: a test that is run on all of them is written once. Opening a store is the
//! caller's.

use crate::postgres::TestPostgres;
use tempfile::TempDir;

/// A place where there is no store yet.
#[derive(Debug)]
pub struct TestStore {
    address: String,
    /// Lasts as long as this; none where the place is a database.
    folder: Option<TempDir>,
}

impl TestStore {
    /// A place for each kind of store.
    ///
    /// # Panics
    /// Where there is no room, or no PostgreSQL is installed.
    pub fn of_each_kind() -> [Self; 2] {
        [Self::sqlite(), Self::postgres()]
    }

    /// A place for a file.
    ///
    /// # Panics
    /// Where there is no room.
    pub fn sqlite() -> Self {
        let folder = tempfile::tempdir().expect("there is room");
        let address = format!("sqlite:{}", folder.path().join("epitome.db").display());
        Self { address, folder: Some(folder) }
    }

    /// A database of the cluster that all tests of this program share.
    ///
    /// # Panics
    /// Where PostgreSQL is not installed, or does not start.
    pub fn postgres() -> Self {
        Self { address: TestPostgres::shared().database(), folder: None }
    }

    /// Its address.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Another empty place of the same kind.
    ///
    /// # Panics
    /// Where there is no room.
    pub fn another(&self) -> Self {
        if self.is_file() { Self::sqlite() } else { Self::postgres() }
    }

    /// Whether it is a place for a file.
    pub fn is_file(&self) -> bool {
        self.folder.is_some()
    }
}
