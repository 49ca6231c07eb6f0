//! opencode's SQLite database, read as the exports opencode would give of it: a document for each session, in the
//! order they were begun.
//!
//! The database may be in use. Nothing is locked and nothing beside it is written: where all is in the file itself, it
//! is opened as immutable; where a log stands beside it that SQLite would have to work in, both are copied, and the copy
//! is opened. A file that changes meanwhile is read once more. What a document means is for `epitome_wire` to say.
//!
//! opencode 1 keeps messages and their parts in tables of their own; opencode 2 keeps a row for each message and writes
//! nothing to the old tables, which stay where they are. A session that is in both is the newer one's. A fork has rows of
//! its own: those up to where it was made are copies, as old as the ones they were made from.

mod listing;
mod second;

pub use listing::{DatabaseSession, sessions};

use anyhow::{Context as _, Result, anyhow, bail};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Row};
use serde_json::value::RawValue;
use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// How every SQLite database begins.
pub const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// The logs that SQLite keeps beside a database with what is not in it yet.
const LOGS: [&str; 2] = ["-wal", "-journal"];

/// How often a database that changes while it is read is tried: opencode writes in bursts, and pauses between.
const TRIES_MAX: usize = 4;

/// What all sessions together may come to: they are held in memory, as a document is.
const EXPORT_BYTES_MAX: usize = 1 << 30;

/// How a version of opencode keeps its sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DatabaseLayout {
    /// As opencode 2 does.
    Second,
    /// As opencode 1 does since 1.2.
    First,
}

impl DatabaseLayout {
    /// The newest first: what it holds is what the others held before.
    const ALL: [Self; 2] = [Self::Second, Self::First];

    /// Its tables, that of the sessions first.
    fn tables(self) -> &'static [&'static str] {
        match self {
            Self::Second => &["session_v2", "session_message"],
            Self::First => &["session", "message", "part"],
        }
    }
}

/// The sessions of the database at `path`, each a line that is the document its export would be; of one alone where it
/// is named.
pub fn exports(path: &Path, only: Option<&str>) -> Result<Vec<u8>> {
    undisturbed(path, |snapshot| snapshot.export(only))
}

/// What `read` makes of the database, read again where it changed meanwhile.
fn undisturbed<T>(path: &Path, read: impl Fn(&DatabaseSnapshot) -> Result<T>) -> Result<T> {
    for _ in 0..TRIES_MAX {
        let before = stamp(path);
        let made = DatabaseSnapshot::of(path).and_then(|snapshot| read(&snapshot));
        if stamp(path) == before {
            return made.with_context(|| format!("cannot read {}", path.display()));
        }
    }
    bail!(
        "cannot read {}: it is being written to all the time; try again when opencode is idle",
        path.display()
    )
}

/// Length and time of the database and its logs: another one where something was written.
fn stamp(path: &Path) -> Vec<Option<(u64, Option<SystemTime>)>> {
    let files = std::iter::once(path.to_owned()).chain(LOGS.map(|log| beside(path, log)));
    files.map(|file| std::fs::metadata(file).ok().map(|about| (about.len(), about.modified().ok()))).collect()
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    name.into()
}

/// A database as it was at one moment, opened.
struct DatabaseSnapshot {
    database: Connection,
    /// Where the copy lies, for as long as it is open.
    _folder: Option<tempfile::TempDir>,
}

impl DatabaseSnapshot {
    fn of(path: &Path) -> Result<Self> {
        let logs = LOGS.map(|log| beside(path, log));
        let is_pending = |log: &PathBuf| std::fs::metadata(log).is_ok_and(|about| about.len() > 0);
        if logs.iter().any(is_pending) { Self::copied(path) } else { Self::in_place(path) }
    }

    fn in_place(path: &Path) -> Result<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
        let database = Connection::open_with_flags(immutable(path)?, flags)?;
        Ok(Self { database, _folder: None })
    }

    fn copied(path: &Path) -> Result<Self> {
        let folder = tempfile::tempdir().context("there is no room for a copy")?;
        let copy = folder.path().join("copy.db");
        std::fs::copy(path, &copy).context("it cannot be copied")?;
        for log in LOGS.into_iter().filter(|log| beside(path, log).exists()) {
            std::fs::copy(beside(path, log), beside(&copy, log)).context("its log cannot be copied")?;
        }
        Ok(Self { database: Connection::open(&copy)?, _folder: Some(folder) })
    }

    fn export(&self, only: Option<&str>) -> Result<Vec<u8>> {
        let mut documents = Vec::new();
        let (mut told, mut bytes) = (HashSet::new(), 0);
        for layout in self.layouts()? {
            let mut sessions = self.database.prepare(&format!("SELECT * FROM {}", layout.tables()[0]))?;
            let mut rows = sessions.query([])?;
            while let Some(row) = rows.next()? {
                let id: String = row.get("id")?;
                let is_wanted = only.is_none_or(|only| only == id) && !told.contains(&id);
                let messages = if is_wanted { self.messages(layout, &id)? } else { Vec::new() };
                if messages.is_empty() {
                    continue;
                }
                let document =
                    format!("{{\"info\":{},\"messages\":[{}]}}\n", info(&id, row)?, messages.join(","));
                bytes += document.len();
                if bytes > EXPORT_BYTES_MAX {
                    bail!(
                        "its sessions come to more than {EXPORT_BYTES_MAX} bytes; name an export (`opencode export ID`)"
                    );
                }
                documents.push((row.get::<_, i64>("time_created")?, id.clone(), document));
                told.insert(id);
            }
        }
        if let (true, Some(only)) = (documents.is_empty(), only) {
            bail!(
                "no session `{only}` with messages is in it; `epitome sessions --tool opencode` lists them"
            );
        }
        if documents.is_empty() {
            bail!("no session in it has messages where we look; name an export (`opencode export ID`)");
        }
        documents.sort();
        Ok(documents.into_iter().flat_map(|(.., document)| document.into_bytes()).collect())
    }

    /// The layouts whose tables are there; one at least.
    fn layouts(&self) -> Result<Vec<DatabaseLayout>> {
        let mut found = Vec::new();
        let mut missing = None;
        for layout in DatabaseLayout::ALL {
            missing = self.missing_table(layout)?;
            found.extend(missing.is_none().then_some(layout));
        }
        match missing.filter(|_| found.is_empty()) {
            Some(table) => Err(anyhow!(
                "it is a SQLite database without a table `{table}`, so none of opencode's that we know; name an export (`opencode export ID`)"
            )),
            None => Ok(found),
        }
    }

    fn missing_table(&self, layout: DatabaseLayout) -> Result<Option<&'static str>> {
        for &table in layout.tables() {
            let known = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?1";
            let count: i64 = self.database.query_row(known, [table], |row| row.get(0))?;
            if count == 0 {
                return Ok(Some(table));
            }
        }
        Ok(None)
    }

    /// The messages of a session, each `{info, parts}`.
    fn messages(&self, layout: DatabaseLayout, session: &str) -> Result<Vec<String>> {
        match layout {
            DatabaseLayout::Second => {
                Ok(self.dated_rows(session)?.into_iter().map(|(_, message)| message).collect())
            }
            DatabaseLayout::First => self.messages_with_parts(session),
        }
    }

    /// The rows of opencode 2 as messages, in the order in which they were written, with the time of each.
    fn dated_rows(&self, session: &str) -> Result<Vec<(i64, String)>> {
        let mut rows = self.database.prepare(
            "SELECT id, type, time_created, data FROM session_message WHERE session_id = ?1 ORDER BY seq, id",
        )?;
        let mut rows = rows.query([session])?;
        let mut all = Vec::new();
        while let Some(row) = rows.next()? {
            let (id, kind): (String, String) = (row.get("id")?, row.get("type")?);
            let (time, data) = (row.get("time_created")?, text(row, "data")?);
            let messages = second::MessageRow { session, id: &id, kind: &kind }.export(&data);
            all.extend(messages.into_iter().map(|message| (time, message)));
        }
        Ok(all)
    }

    /// The messages of opencode 1 with their parts.
    fn messages_with_parts(&self, session: &str) -> Result<Vec<String>> {
        let mut parts = self.parts(session)?;
        let mut messages = self
            .database
            .prepare("SELECT id, data FROM message WHERE session_id = ?1 ORDER BY time_created, id")?;
        let mut rows = messages.query([session])?;
        let mut all = Vec::new();
        while let Some(row) = rows.next()? {
            let id: String = row.get("id")?;
            let info = with_ids(&[("id", &id), ("sessionID", session)], &text(row, "data")?);
            let parts = parts.remove(&id).unwrap_or_default();
            all.push(format!("{{\"info\":{info},\"parts\":[{}]}}", parts.join(",")));
        }
        Ok(all)
    }

    /// The parts of a session's messages, by message.
    fn parts(&self, session: &str) -> Result<HashMap<String, Vec<String>>> {
        let mut parts = self
            .database
            .prepare("SELECT id, message_id, data FROM part WHERE session_id = ?1 ORDER BY id")?;
        let mut rows = parts.query([session])?;
        let mut all: HashMap<String, Vec<String>> = HashMap::new();
        while let Some(row) = rows.next()? {
            let (id, message): (String, String) = (row.get("id")?, row.get("message_id")?);
            let ids = [("id", &*id), ("sessionID", session), ("messageID", &message)];
            all.entry(message.clone()).or_default().push(with_ids(&ids, &text(row, "data")?));
        }
        Ok(all)
    }
}

/// The address under which SQLite opens a file and trusts that nobody changes it.
fn immutable(path: &Path) -> Result<String> {
    let name = path.to_str().context("its name is not UTF-8, and SQLite needs one that is")?;
    let mut address = "file:".to_owned();
    for character in name.chars() {
        match character {
            '%' | '?' | '#' => write!(address, "%{:02x}", u32::from(character))?,
            '\\' if cfg!(windows) => address.push('/'),
            plain => address.push(plain),
        }
    }
    address.push_str("?immutable=1");
    Ok(address)
}

/// What an export says of the session itself: who it is, where it was held, and what was reverted.
fn info(id: &str, row: &Row<'_>) -> Result<String> {
    let mut fields = serde_json::Map::from_iter([("id".to_owned(), id.into())]);
    for (column, key) in
        [("parent_id", "parentID"), ("directory", "directory"), ("title", "title"), ("version", "version")]
    {
        let value = optional(row, column);
        fields.extend(value.map(|value| (key.to_owned(), value.into())));
    }
    let reverted = optional(row, "revert").and_then(|json| serde_json::from_str(&json).ok());
    fields.extend(reverted.map(|reverted| ("revert".to_owned(), reverted)));
    Ok(serde_json::to_string(&fields)?)
}

/// A column's text; none where it is empty, or where this version has no such column.
fn optional(row: &Row<'_>, column: &str) -> Option<String> {
    row.get::<_, Option<String>>(column).ok().flatten()
}

fn text(row: &Row<'_>, column: &str) -> Result<String> {
    Ok(match row.get_ref(column)? {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => String::new(),
    })
}

/// A stored object with the ids its row has beside it, otherwise as it stands. What is no object is put in as a text,
/// so that its reader can say so.
fn with_ids(ids: &[(&str, &str)], data: &str) -> String {
    let fields =
        serde_json::from_str::<&RawValue>(data).ok().and_then(|object| object.get().strip_prefix('{'));
    let Some(fields) = fields.map(str::trim_start) else { return serde_json::Value::from(data).to_string() };
    let ids: Vec<String> =
        ids.iter().map(|(key, id)| format!("\"{key}\":{}", serde_json::Value::from(*id))).collect();
    let comma = if fields.starts_with('}') { "" } else { "," };
    format!("{{{}{comma}{fields}", ids.join(","))
}
