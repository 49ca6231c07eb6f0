//! A summary of ours read back: what it says of messages too far back to be read again takes the same places in the
//! next one. What it says of messages that are read again is found there anew.

use super::files::REMARK;
use super::names::told_names;
use super::page::Section;
use super::reading::Quote;
use crate::{EntryId, fence};

/// What an earlier summary of ours says of messages that are not read again.
#[derive(Default)]
pub(super) struct OwnSummary<'t> {
    /// Rules, by the order they stand in; those of later messages among them.
    pub rules: Vec<&'t str>,
    /// Lines of the dialogue.
    pub dialogue: Vec<Quote>,
    /// Statements of the model's.
    pub statements: Vec<Quote>,
    /// What was committed.
    pub commits: Vec<Quote>,
    /// Names, each with the words beside it.
    pub names: Vec<&'t str>,
    /// Everything else that stands for such messages.
    pub rest: String,
}

impl<'t> OwnSummary<'t> {
    /// Reads a summary; messages from `read` on are read again.
    pub(super) fn of(text: &'t str, read: Option<EntryId>) -> Self {
        let mut own = Self::default();
        let mut section = None;
        let is_unread = |id: EntryId| read.is_none_or(|read| id < read);
        // The entry that a line stands for is named once, before its first line.
        let mut entry = None;
        for line in fence::copied(text).lines() {
            if let Some(next) = Section::of_heading(line) {
                (section, entry) = (Some(next), None);
                continue;
            }
            let (pointer, told) = pointed(line);
            entry = pointer.or(entry);
            match (section, entry.filter(|id| is_unread(*id))) {
                (Some(Section::Constraints), _) => own.rules.extend(line.strip_prefix("- ")),
                (Some(Section::Dialogue), Some(id)) => own.speak(id, pointer.is_some(), told),
                (Some(Section::Statements), Some(id)) => {
                    own.statements.push(Quote { id, text: told.trim_start_matches(": ").to_owned() });
                }
                (Some(Section::Done), Some(id)) => {
                    own.commits
                        .extend(told.strip_prefix(COMMITTED).map(|text| Quote { id, text: text.to_owned() }));
                }
                (Some(Section::Actions), Some(_)) => own.rest.extend([line, "\n"]),
                (Some(Section::Lines), unread) => match told_names(line) {
                    // One that was carried before names no entry.
                    Some(names) if pointer.is_none_or(is_unread) => own.names.extend(names),
                    Some(_) => {}
                    None => own.rest.extend(unread.into_iter().flat_map(|_| [line, "\n"])),
                },
                // The ledger knows what was done to a file, and not what was said of it.
                (Some(Section::Files), _) => {
                    own.rest.extend(remark(line).into_iter().flat_map(|said| [said, "\n"]))
                }
                (None | Some(_), _) => {}
            }
        }
        own
    }

    fn speak(&mut self, id: EntryId, is_new: bool, told: &str) {
        match self.dialogue.last_mut() {
            Some(last) if !is_new => last.text.extend(["\n", told]),
            Some(_) | None => self.dialogue.push(Quote { id, text: told.trim_start().to_owned() }),
        }
    }
}

/// What stands between a commit's entry and its head.
pub(super) const COMMITTED: &str = " committed: ";

/// An entry of the list of files, from its path on, where something is said of it.
fn remark(line: &str) -> Option<&str> {
    let (_, entry) = line.split_once(' ').filter(|(_, entry)| entry.contains(REMARK))?;
    Some(entry)
}

/// The pointer a line begins with, and what stands behind it.
fn pointed(line: &str) -> (Option<EntryId>, &str) {
    let end = line.find([' ', ':']).unwrap_or(line.len());
    match EntryId::of_pointer(&line[..end]) {
        Some(id) => (Some(id), &line[end..]),
        None => (None, line),
    }
}
