//! opencode's sessions as it kept them before its database: a file for each session, message and part, in a tree of
//! folders. Such a session is read as the export opencode would give of it.

use anyhow::{Context as _, Result, bail};
use std::path::{Path, PathBuf};

/// What one session may come to: it is held in memory, as a document is.
const EXPORT_BYTES_MAX: usize = 1 << 30;

/// The folder of everything and the id, where a file is `storage/session/<project>/<id>.json` of such a tree.
fn place_of(path: &Path) -> Option<(PathBuf, &str)> {
    let id = path.file_name()?.to_str()?.strip_suffix(".json").filter(|id| id.starts_with("ses_"))?;
    let sessions = path.parent()?.parent().filter(|folder| folder.ends_with("session"))?;
    Some((sessions.parent()?.to_owned(), id))
}

/// Whether a file is a session of such a tree.
pub fn is_session(path: &Path) -> bool {
    place_of(path).is_some_and(|(storage, id)| storage.join("message").join(id).is_dir())
}

/// The session at `path` as an export: what is said of it, and its messages with their parts.
pub fn export(path: &Path) -> Result<Vec<u8>> {
    let (storage, id) = place_of(path).context("it is no session of opencode's")?;
    let mut document = format!("{{\"info\":{},\"messages\":[", read(path)?);
    for (at, (message, info)) in records(&storage.join("message").join(id))?.iter().enumerate() {
        let parts = records(&storage.join("part").join(message)).unwrap_or_default();
        let parts: Vec<&str> = parts.iter().map(|(_, part)| part.as_str()).collect();
        let comma = if at > 0 { "," } else { "" };
        document.push_str(&format!("{comma}{{\"info\":{info},\"parts\":[{}]}}", parts.join(",")));
        if document.len() > EXPORT_BYTES_MAX {
            bail!("cannot read {}: it comes to more than {EXPORT_BYTES_MAX} bytes", path.display());
        }
    }
    document.push_str("]}\n");
    Ok(document.into_bytes())
}

/// The records of a folder, each with its name, in the order of their ids, which is that of time.
fn records(folder: &Path) -> Result<Vec<(String, String)>> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    let records = paths.iter().filter_map(|path| {
        let name = path.file_name()?.to_str()?.strip_suffix(".json")?.to_owned();
        Some(read(path).map(|text| (name, text)))
    });
    records.collect()
}

/// A record's JSON. One that is none is read as a text, so that its reader can say so.
fn read(path: &Path) -> Result<String> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let is_json = serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok();
    Ok(if is_json { text } else { serde_json::Value::from(text).to_string() })
}
