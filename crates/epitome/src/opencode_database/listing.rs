//! The sessions of a database for a table of sessions: who each is, and what its messages say of themselves, without
//! their parts.

use super::{DatabaseLayout, DatabaseSnapshot, optional, text, undisturbed};
use anyhow::Result;
use std::collections::HashSet;
use std::path::Path;

/// A session as its database lists it.
pub struct DatabaseSession {
    pub id: String,
    pub directory: Option<String>,
    pub title: Option<String>,
    /// When it was changed last, in milliseconds since 1970.
    pub updated_ms: i64,
    /// What is said of each of its messages, as an export has it; none where nobody asked.
    pub messages: Vec<String>,
    /// How many of them, from the first, were copied from the session that this one is a fork of; none where it is none.
    pub copied: Option<usize>,
}

/// The sessions people hold, without those of sub-agents. The messages of one are read where `is_wanted` says so of its
/// id and time.
pub fn sessions(path: &Path, is_wanted: impl Fn(&str, i64) -> bool) -> Result<Vec<DatabaseSession>> {
    undisturbed(path, |snapshot| snapshot.sessions(&is_wanted))
}

impl DatabaseSnapshot {
    fn sessions(&self, is_wanted: &impl Fn(&str, i64) -> bool) -> Result<Vec<DatabaseSession>> {
        let (mut sessions, mut told) = (Vec::new(), HashSet::new());
        for layout in self.layouts()? {
            let mut listed = self.database.prepare(&format!("SELECT * FROM {}", layout.tables()[0]))?;
            let mut rows = listed.query([])?;
            while let Some(row) = rows.next()? {
                let id: String = row.get("id")?;
                if optional(row, "parent_id").is_some() || !told.insert(id.clone()) {
                    continue;
                }
                let updated_ms = row.get("time_updated")?;
                let said = if is_wanted(&id, updated_ms) { self.said_of(layout, &id)? } else { Vec::new() };
                let begun_ms: i64 = row.get("time_created")?;
                let copied = optional(row, "fork_session_id")
                    .map(|_| said.iter().take_while(|(time, _)| *time < begun_ms).count());
                let messages = said.into_iter().map(|(_, message)| message).collect();
                let (directory, title) = (optional(row, "directory"), optional(row, "title"));
                sessions.push(DatabaseSession { id, directory, title, updated_ms, messages, copied });
            }
        }
        Ok(sessions)
    }

    /// What is said of each message of a session, with the time of each.
    fn said_of(&self, layout: DatabaseLayout, session: &str) -> Result<Vec<(i64, String)>> {
        if layout == DatabaseLayout::Second {
            return self.dated_rows(session);
        }
        let mut messages = self.database.prepare(
            "SELECT time_created, data FROM message WHERE session_id = ?1 ORDER BY time_created, id",
        )?;
        let mut rows = messages.query([session])?;
        let mut all = Vec::new();
        while let Some(row) = rows.next()? {
            all.push((row.get("time_created")?, format!("{{\"info\":{}}}", text(row, "data")?)));
        }
        Ok(all)
    }
}
