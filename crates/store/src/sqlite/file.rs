//! The file of a store: made for its owner alone, and opened with write-ahead logging, on disk at each commit.

use super::schema;
use crate::fault::of_sqlite;
use epitome_engine::store::{FaultKind, StoreError, StoreFault};
use rusqlite::{Connection, OpenFlags};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Others may be at a long transaction: a backup, a clean-up.
pub(super) const BUSY_TIME: Duration = Duration::from_secs(5);
/// So much of what it has read a connection keeps: with the next commit it is to be read again, and the system has it too.
const READ_KILOBYTES_MAX: i64 = 512;
/// Each of the statements on a request's way is prepared once.
const STATEMENTS_MAX: usize = 64;

/// Makes the file where there is none, for its owner alone: it holds every conversation. SQLite gives the files beside it the
/// same mode; one that is there stays as it is.
pub(super) fn make_private(path: &Path) {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    // Where it cannot be made, SQLite says why.
    drop(options.open(path));
}

/// A connection to a file that may not be written. Without a folder to put SQLite's shared memory in, a file that nobody has open is
/// read as one that does not change.
pub(super) fn connect_to_look(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = connect(path, flags).and_then(|connection| {
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(())).map_err(of_sqlite)?;
        Ok(connection)
    });
    let log = path.with_file_name(format!("{}-wal", path.file_name().unwrap_or_default().to_string_lossy()));
    let has_log = std::fs::metadata(log).is_ok_and(|log| log.len() > 0);
    match opened {
        Err(_) if !has_log && path.is_file() => {
            let escaped = path.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
            let address = format!("file:{escaped}?immutable=1");
            connect(Path::new(&address), flags | OpenFlags::SQLITE_OPEN_URI)
        }
        opened => opened,
    }
}

/// A connection to it, with what every one of ours goes by.
pub(super) fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, StoreError> {
    let connection = Connection::open_with_flags(path, flags).map_err(of_sqlite)?;
    connection.busy_timeout(BUSY_TIME).map_err(of_sqlite)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    if flags.contains(OpenFlags::SQLITE_OPEN_READ_ONLY) {
        connection.pragma_update(None, "cache_size", -READ_KILOBYTES_MAX).map_err(of_sqlite)?;
    } else {
        // To say how it is logged may write: a file of a later version stays as it is.
        schema::version(&connection)?;
        connection.pragma_update(None, "journal_mode", "WAL").map_err(of_sqlite)?;
        // A commit that is acknowledged is on disk.
        connection.pragma_update(None, "synchronous", "FULL").map_err(of_sqlite)?;
    }
    Ok(connection)
}

/// The file that a connection was opened on. One that is deleted or moved away is still written to without an error: what is said
/// there is gone with the last connection.
pub(super) struct OpenedFile {
    path: PathBuf,
    identity: Option<FileIdentity>,
}

/// What a file is known by wherever it stands.
type FileIdentity = (u64, u64);

impl OpenedFile {
    /// The main file of a connection.
    pub(super) fn of(connection: &Connection) -> Self {
        let path = PathBuf::from(connection.path().unwrap_or_default());
        let identity = identity(&path);
        Self { path, identity }
    }

    /// Whether it is still where it was; what is in memory alone, and what this system does not tell apart, is.
    pub(super) fn check(&self) -> Result<(), StoreFault> {
        if self.identity.is_none() || identity(&self.path) == self.identity {
            return Ok(());
        }
        let what = format!(
            "the store's file is no longer at {}; put it back, or start anew for another",
            self.path.display()
        );
        Err(StoreFault { kind: FaultKind::Gone, what })
    }
}

#[cfg(unix)]
fn identity(path: &Path) -> Option<FileIdentity> {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata(path).ok().map(|file| (file.dev(), file.ino()))
}

#[cfg(not(unix))]
fn identity(_: &Path) -> Option<FileIdentity> {
    None
}
