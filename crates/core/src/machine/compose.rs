//! What the machine adds to a model's prose: todos, files, requests it left out, what hooks inject,
//! and rules word for word. Facts are copied from the log, never asked for.

use crate::facts::{self, Voice};
use crate::ledger::{FileRecord, Ledger};
use crate::policy::{FileList, RebuildRule};
use crate::{Author, EntryId, Material, embedded};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// The prose of a summary: of the history, and of the beginning of a turn that was cut.
pub(super) struct Prose<'t> {
    pub history: Option<&'t str>,
    pub prefix: Option<&'t str>,
}

/// A tree of files lists so many, the newest; more is no overview.
const TREE_FILES_MAX: usize = 20;
/// A shorter request is a word on the way ("go on"), not something a summary must cover.
const REQUEST_CHARS_MIN: usize = 40;
/// So many requests at most are looked for in a summary, the newest.
const REQUESTS_MAX: usize = 24;
/// A quotation shorter than this is a name or a word, not something somebody is said to have said.
const QUOTE_CHARS_MIN: usize = 20;

impl Prose<'_> {
    /// Both parts as one text.
    pub(super) fn joined(&self) -> String {
        match (self.history, self.prefix) {
            (Some(history), Some(prefix)) => {
                format!("{history}\n\n---\n\n**Turn Context (split turn):**\n\n{prefix}")
            }
            (Some(only), None) => only.to_owned(),
            (None, Some(prefix)) => format!("**Turn Context (split turn):**\n\n{prefix}"),
            (None, None) => String::new(),
        }
    }
}

/// The prose with what `rebuild` adds to it, facts apart, made `harmless`.
pub(super) fn compose(
    prose: &str,
    rebuild: &RebuildRule,
    ledger: &Ledger,
    material: &Material<'_>,
    harmless: &dyn Fn(&str) -> String,
) -> String {
    let mut text = mark_quotes(prose, material);
    if rebuild.coverage {
        text.push_str(&uncovered(&text, material));
    }
    if rebuild.todos {
        text.push_str(&todos(ledger));
    }
    // Of what stays in view the calls themselves can be seen.
    let gone = || embedded::ledger(&Material { visible: &[], ..*material });
    text.push_str(&match rebuild.files {
        FileList::None => String::new(),
        FileList::Lists => lists(&gone()),
        FileList::Tree => tree(&gone()),
    });
    harmless(&text)
}

/// The text with what hooks put behind it.
pub(super) fn with_injected(mut text: String, inject: &[String]) -> String {
    for note in inject {
        let _infallible = write!(text, "\n\n{}", crate::fence::escape(note));
    }
    text
}

/// The open todos, with their state.
pub(super) fn todos(ledger: &Ledger) -> String {
    let open: Vec<_> = ledger.open_todos().collect();
    let mut text = String::new();
    if open.is_empty() {
        return text;
    }
    text.push_str("\n\n## Open todos (from the log)");
    for todo in &open {
        let mark = if todo.state == crate::ledger::TodoState::InProgress { "~" } else { " " };
        let _infallible = write!(text, "\n- [{mark}] {}", todo.text.trim());
    }
    if open.len() > 1 {
        text.push_str("\nCheck which of these are done before going on.");
    }
    text
}

/// Files read and files changed, each once, sorted.
fn lists(ledger: &Ledger) -> String {
    let paths = |wanted: bool| -> BTreeSet<&str> {
        let files = ledger.files.iter().filter(|file| file.is_changed() == wanted);
        files.map(|file| file.path.as_ref()).collect()
    };
    let mut text = String::new();
    for (tag, paths) in [("read-files", paths(false)), ("modified-files", paths(true))] {
        if !paths.is_empty() {
            let lines: Vec<&str> = paths.into_iter().collect();
            let _infallible = write!(text, "\n\n<{tag}>\n{}\n</{tag}>", lines.join("\n"));
        }
    }
    text
}

/// The files used last, by folder.
fn tree(ledger: &Ledger) -> String {
    if ledger.files.is_empty() {
        return String::new();
    }
    let mut newest: Vec<&FileRecord> = ledger.files.iter().collect();
    newest.sort_by_key(|file| std::cmp::Reverse(file.entry));
    let left_out = newest.len().saturating_sub(TREE_FILES_MAX);
    let mut folders: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for file in newest.into_iter().take(TREE_FILES_MAX) {
        let (folder, name) = file.path.rsplit_once('/').unwrap_or(("", &file.path));
        let use_of = match (file.read, file.is_changed()) {
            (true, true) => "RW",
            (_, true) => "Write",
            (_, false) => "Read",
        };
        folders.entry(folder).or_default().push(format!("{name} ({use_of})"));
    }
    let mut text = "\n\n<files>".to_owned();
    for (folder, mut names) in folders {
        names.sort();
        let _infallible = write!(text, "\n{folder}/\n  {}", names.join("\n  "));
    }
    if left_out > 0 {
        let _infallible = write!(text, "\n… and {left_out} more");
    }
    text.push_str("\n</files>");
    text
}

/// A person's requests that the summary says nothing of, word for word.
fn uncovered(summary: &str, material: &Material<'_>) -> String {
    let known = words(summary);
    let mut missing = Vec::new();
    for (id, text) in requests(material) {
        let asked = words(&text);
        let found = asked.iter().filter(|word| known.contains(*word)).count();
        if found * 2 < asked.len() {
            missing.push(format!("\n- {id}: {}", text.trim()));
        }
    }
    if missing.is_empty() {
        return String::new();
    }
    format!("\n\n## Requests not covered above (word for word){}", missing.concat())
}

fn requests(material: &Material<'_>) -> Vec<(EntryId, String)> {
    let mut requests = Vec::new();
    for (id, message) in material.superseded.iter().rev() {
        let said = message.said();
        let is_request = message.author == Author::Person && said.chars().count() >= REQUEST_CHARS_MIN;
        if is_request && requests.len() < REQUESTS_MAX {
            requests.push((*id, said));
        }
    }
    requests.reverse();
    requests
}

/// The words of a text that say something: longer than three letters, in lower case.
fn words(text: &str) -> BTreeSet<String> {
    let split = text.split(|c: char| !c.is_alphanumeric());
    split.filter(|word| word.chars().count() > 3).map(str::to_lowercase).collect()
}

/// Marks quotations that nobody said: a summary must not put words into people's mouths.
fn mark_quotes(text: &str, material: &Material<'_>) -> String {
    let quotes: Vec<&str> = quotations(text).collect();
    if quotes.is_empty() {
        return text.to_owned();
    }
    let mut said = String::new();
    for (_, message) in material.superseded.iter().chain(material.visible) {
        for passage in facts::passages(message) {
            if passage.voice == Voice::Said || passage.author == Author::Person {
                said.push_str(&flat(&passage.text));
                said.push('\n');
            }
        }
    }
    material.previous.iter().for_each(|prose| said.push_str(&flat(prose)));
    let unsaid = quotes.into_iter().filter(|quote| !said.contains(&flat(quote)));
    unsaid.fold(text.to_owned(), |text, quote| {
        text.replacen(&format!("\"{quote}\""), &format!("\"{quote}\" [not found in the log]"), 1)
    })
}

/// What lines that speak of the user put in quotation marks.
fn quotations(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().filter(|line| line.to_lowercase().contains("user"));
    let quoted = lines.flat_map(|line| line.split('"').skip(1).step_by(2));
    quoted.filter(|quote| quote.chars().count() >= QUOTE_CHARS_MIN)
}

fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}
