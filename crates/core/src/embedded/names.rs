//! Names told without their lines: code that says nothing by itself is not quoted for a name in it. The list says between
//! which entries each name stands, and may tell it with the words beside it ([`super::gloss`]).

use super::page::{Section, Spot, SummaryPage};
use crate::{EntryId, Tokens};
use std::collections::HashSet;

/// Names with the entries they stand in, and room for them set aside on a page.
#[derive(Default)]
pub(super) struct NameList {
    names: Vec<ListedName>,
    listed: HashSet<u32>,
}

struct ListedName {
    id: Option<EntryId>,
    fact: u32,
    name: String,
}

/// So many names share a line: fewer would pay more for the entries than for the names, and of more nobody could say where
/// they stand.
const LINE_NAMES: usize = 16;
/// What `m0123 to m0145 names: ` takes.
const HEAD_TOKENS: Tokens = Tokens(13);
/// Between the entries and the names.
const NAMES: &str = "names: ";
/// What stands between two names, and what it takes.
const JOINT: &str = "; ";
const JOINT_TOKENS: Tokens = Tokens(1);
/// Behind all lines.
const ORDER: u64 = u64::MAX / 2;

impl NameList {
    /// Lists the name of a fact, where it is not listed and there is room.
    pub(super) fn add(
        &mut self,
        page: &mut SummaryPage<'_>,
        id: Option<EntryId>,
        (fact, name): (u32, String),
        quota: &mut Tokens,
    ) {
        let opens_line = self.names.len().is_multiple_of(LINE_NAMES);
        let more = if opens_line { HEAD_TOKENS } else { JOINT_TOKENS };
        if !self.listed.contains(&fact) && page.reserve(Section::Lines, &name, more, quota) {
            self.listed.insert(fact);
            self.names.push(ListedName { id, fact, name });
        }
    }

    /// The facts on the list, in the order they came to it.
    pub(super) fn facts(&self) -> Vec<u32> {
        self.names.iter().map(|listed| listed.fact).collect()
    }

    /// Takes names off the list that a line tells now.
    pub(super) fn withdraw(&mut self, page: &mut SummaryPage<'_>, told: &[u32], quota: &mut Tokens) {
        if !told.iter().any(|fact| self.listed.contains(fact)) {
            return;
        }
        self.names.retain(|listed| {
            let is_told = told.contains(&listed.fact);
            if is_told {
                page.release(Section::Lines, &listed.name, JOINT_TOKENS, quota);
            }
            !is_told
        });
    }

    /// Puts the list on the page, by where the names stand.
    pub(super) fn write(mut self, page: &mut SummaryPage<'_>) {
        self.names.sort_by_key(|listed| listed.id);
        // Names that an earlier summary told are of no entry that is read: theirs are lines of their own.
        let unread = self.names.partition_point(|listed| listed.id.is_none());
        let (unread, read) = self.names.split_at(unread);
        for (order, line) in unread.chunks(LINE_NAMES).chain(read.chunks(LINE_NAMES)).enumerate() {
            let mut entries: Vec<EntryId> = line.iter().filter_map(|listed| listed.id).collect();
            entries.dedup();
            let pointer = match (entries.first(), entries.last()) {
                (Some(first), Some(last)) if first != last => format!("{first} to {last} "),
                (Some(only), _) => format!("{only} "),
                (None, _) => String::new(),
            };
            let names: Vec<&str> = line.iter().map(|listed| listed.name.as_str()).collect();
            let spot = Spot::new(Section::Lines, ORDER + order as u64, entries);
            page.put(spot, &format!("{pointer}{NAMES}{}", names.join(JOINT)));
        }
    }
}

/// The names that a line of such a list tells, each with its words; none where it is another line.
pub(super) fn told_names(line: &str) -> Option<impl Iterator<Item = &str>> {
    let without_entry = |line| behind_entry(line).unwrap_or(line);
    let rest = without_entry(line);
    let rest = rest.strip_prefix("to ").map_or(rest, without_entry);
    Some(rest.strip_prefix(NAMES)?.split(JOINT))
}

/// What follows the entry that a line begins with.
fn behind_entry(line: &str) -> Option<&str> {
    let (entry, rest) = line.split_once(' ')?;
    EntryId::of_pointer(entry).map(|_| rest)
}
