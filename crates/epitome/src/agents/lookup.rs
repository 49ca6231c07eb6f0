//! Finding the session that is meant where a file is taken: a path, a number of the table shown last, an id or its
//! beginning, or a name.

use super::collection::{Depth, FoundSession, SessionCollection};
use super::{Agent, SessionFile, home, index};
use crate::shell_word::shell_word;
use crate::{columns, input, output};
use anyhow::{Context as _, Result, anyhow, bail};
use epitome_engine::store::SessionId;
use epitome_tokens::Catalog;
use std::path::{Path, PathBuf};

/// How many sessions an error names before it only counts the rest.
const CANDIDATES_MAX: usize = 8;

/// The shortest beginning of an id: shorter ones are words people mean otherwise.
const ID_CHARS_MIN: usize = 4;

/// The transcript that is meant. What is there wins; what looks like a path is one.
pub fn file_of(named: &Path) -> Result<PathBuf> {
    match session_of(named)? {
        Some(file) => Ok(file.path),
        None => Ok(named.to_owned()),
    }
}

/// The session that is meant; none where a path is.
pub fn session_of(named: &Path) -> Result<Option<SessionFile>> {
    let Some(text) = named.to_str().filter(|text| !is_path(named, text)) else { return Ok(None) };
    let mut collection = SessionCollection::gather(Catalog::built_in(), None);
    // Nobody writes a number of the table with noughts in front: that is the beginning of an id.
    let number = text.parse::<usize>().ok().filter(|_| text == "0" || !text.starts_with('0'));
    let found = match number {
        Some(number) if text.len() < ID_CHARS_MIN || is_shown(number) => by_number(number, &collection)?,
        Some(_) | None => by_words(text, &mut collection)?,
    };
    let told = format!("{text}: {} session {} ({})", found.agent.name(), found.id, home::shown(&found.path));
    output::tell(columns::plain(&told));
    Ok(Some(found))
}

fn is_path(named: &Path, text: &str) -> bool {
    text == "-" || named.exists() || text.contains(['/', '\\', '.']) || input::stored_session(named).is_some()
}

/// Where the files of the table shown last are kept.
fn table_place() -> Option<PathBuf> {
    Some(home::cache()?.join("last-table.json"))
}

/// Remembers the table that is shown, so that its numbers mean what they meant to who read it. Where it cannot, the one
/// before is forgotten as well: its numbers would be taken for those of this one.
pub fn keep_table(shown: &[FoundSession]) -> Result<()> {
    let place = table_place().context("neither HOME nor XDG_CACHE_HOME is set")?;
    let paths: Vec<&Path> = shown.iter().map(|session| &*session.file.path).collect();
    let kept = index::write(&place, &paths);
    if kept.is_err() {
        drop(std::fs::remove_file(&place));
    }
    kept
}

/// The files of the table shown last; none where none was shown yet.
fn last_table() -> Option<Vec<PathBuf>> {
    serde_json::from_str(&std::fs::read_to_string(table_place()?).ok()?).ok()
}

/// Whether a long table had this number: it may begin an id as well, and who read the table means the number.
fn is_shown(number: usize) -> bool {
    number > 0 && last_table().is_some_and(|table| number <= table.len())
}

fn by_number(number: usize, collection: &SessionCollection<'_>) -> Result<SessionFile> {
    let table = last_table();
    let no_such = || {
        anyhow!(
            "there is no file `{number}`, and no session of this number in the table shown last; `epitome sessions` shows one"
        )
    };
    let at = number.checked_sub(1).with_context(no_such)?;
    let Some(table) = table else {
        bail!(
            "there is no file `{number}`, and no table is kept whose numbers could be meant; `epitome sessions` shows one"
        )
    };
    // Where nothing can be written, a table that was shown since could not be kept either.
    if let Some(why) = table_place().and_then(|place| output::why_not_written(&place)) {
        bail!(
            "there is no file `{number}`, and the numbers of the table shown last could not be kept ({why}); name the session by its id"
        );
    }
    let path = table.get(at).with_context(no_such)?;
    let file = collection.files.iter().find(|file| file.path == *path).cloned();
    file.with_context(|| {
        format!(
            "session {number} was {}, and is gone; `epitome sessions` shows what there is",
            path.display()
        )
    })
}

fn by_words(text: &str, collection: &mut SessionCollection<'_>) -> Result<SessionFile> {
    let files = collection.files.clone();
    let by_id: Vec<SessionFile> = files.iter().filter(|file| is_id(file, text)).cloned().collect();
    if let [one] = &by_id[..] {
        return Ok(one.clone());
    }
    let searched = if by_id.is_empty() { &files } else { &by_id };
    let sessions = collection.read(searched, Depth::Ends);
    collection.keep();
    let candidates = if by_id.is_empty() { recorded_or_named(&sessions, text) } else { sessions };
    match &candidates[..] {
        [one] => Ok(one.file.clone()),
        [] => bail!(
            "there is no file `{text}`, and no session of this id or name{}; {}",
            if text.len() < ID_CHARS_MIN { " (of an id its first four characters are needed)" } else { "" },
            match text.parse::<SessionId>() {
                Ok(stored) => format!("a session in the store is named by `--session {stored}`"),
                Err(_) => format!(
                    "`epitome sessions {}` lists those with it in their folder or model",
                    shell_word(text)
                ),
            }
        ),
        several => Err(ambiguous(text, several)),
    }
}

/// Whether a text is a session's id, or begins it. A file's name may hold only the beginning itself.
fn is_id(file: &SessionFile, text: &str) -> bool {
    let is_short = file.agent == Agent::GeminiCli && text.len() >= file.id.len();
    text.len() >= ID_CHARS_MIN && (file.id.starts_with(text) || (is_short && text.starts_with(&file.id)))
}

/// The sessions whose records give them this id, where a file is named otherwise; else those of this name.
fn recorded_or_named(sessions: &[FoundSession], text: &str) -> Vec<FoundSession> {
    let says_so =
        |session: &&FoundSession| session.figures.id.as_deref().is_some_and(|id| id.starts_with(text));
    let recorded: Vec<FoundSession> =
        sessions.iter().filter(|_| text.len() >= ID_CHARS_MIN).filter(says_so).cloned().collect();
    if recorded.is_empty() { named(sessions, text) } else { recorded }
}

/// The sessions of this name; those with it in their name where none has it alone.
fn named(sessions: &[FoundSession], text: &str) -> Vec<FoundSession> {
    let text = text.to_lowercase();
    let titled = |is_it: &dyn Fn(&str) -> bool| -> Vec<FoundSession> {
        let has_it =
            |session: &&FoundSession| session.title().is_some_and(|title| is_it(&title.to_lowercase()));
        sessions.iter().filter(has_it).cloned().collect()
    };
    let exactly = titled(&|title| title == text);
    if exactly.is_empty() { titled(&|title| title.contains(&text)) } else { exactly }
}

fn ambiguous(text: &str, several: &[FoundSession]) -> anyhow::Error {
    let is_one_id =
        |session: &FoundSession| several.iter().filter(|other| other.id() == session.id()).count() == 1;
    let lines = several.iter().take(CANDIDATES_MAX).map(|session| {
        let title = columns::cut(session.title().unwrap_or_default(), 40);
        let path = if is_one_id(session) { String::new() } else { home::shown(&session.file.path) + "  " };
        format!("\n  {}  {path}{}  {title}", columns::plain(session.id()), session.file.agent.name())
    });
    let by = if several.iter().all(is_one_id) { "id" } else { "id, or its path where two have one" };
    let rest = several.len().saturating_sub(CANDIDATES_MAX);
    let more = if rest > 0 { format!("\n  and {rest} more") } else { String::new() };
    anyhow!(
        "`{text}` may be any of {} sessions; name one by its {by}{}{more}",
        several.len(),
        lines.collect::<String>()
    )
}
