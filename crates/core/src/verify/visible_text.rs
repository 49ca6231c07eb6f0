//! The text of the new context, indexed so that a fact is looked up in it quickly.

use super::FactFate;
use super::words::{Words, places};
use crate::EntryId;
use crate::facts::{Class, Evidence, Mention, Sighting, lower_case, scan_line, scan_pairs};
use crate::text_hash::{TextMap, TextSet};
use std::borrow::Cow;
use std::collections::HashSet;

/// What the model will see.
#[derive(Default)]
pub(super) struct VisibleText<'s> {
    /// All of it, every run of white space one space.
    words: Words<'s>,
    /// Facts by their form.
    tokens: TextSet<&'s str>,
    /// Values by key, where the newest wins.
    values: TextMap<Cow<'s, str>, Vec<&'s str>>,
    /// Lines by each path in them.
    lines: TextMap<&'s str, Vec<&'s str>>,
}

impl<'s> VisibleText<'s> {
    /// Indexes a text; `flat` is the same text [flattened](flat).
    pub(super) fn of(shown: &'s str, flat: &'s str) -> Self {
        let mut index = Self { words: Words::of(flat), ..Self::default() };
        index.take(shown);
        index
    }

    /// Indexes the end of what will be shown, flattened; its facts are told of.
    pub(super) fn of_tail(flat: &'s str) -> Self {
        Self { words: Words::of_tail(flat), ..Self::default() }
    }

    /// Indexes what stands in front of the end, which is known. `flat` is all of it flattened: its first `head_flat` bytes are
    /// new, and from `tail_flat` on stands the end.
    pub(super) fn complete(
        mut self,
        head: &'s str,
        flat: &'s str,
        (head_flat, tail_flat): (usize, usize),
    ) -> Self {
        self.words = self.words.complete(flat, head_flat, tail_flat);
        self.take(head);
        self
    }

    /// Indexes the facts of a text's lines.
    pub(super) fn take(&mut self, shown: &'s str) {
        for line in shown.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let mut look = |mention| self.see(Sighting { mention, line });
            scan_line(line, &mut look);
            scan_pairs(line, &mut look);
        }
    }

    /// Indexes a fact that was found by its form.
    pub(super) fn see(&mut self, Sighting { mention, line }: Sighting<'s>) {
        if mention.class.latest_wins() {
            self.values.entry(lower_case(mention.key)).or_default().push(mention.value);
        }
        if mention.class == Class::Path {
            self.lines.entry(mention.value).or_default().push(line);
        }
        self.tokens.insert(mention.value);
    }

    /// What became of the fact, where these pointers are in view.
    pub(super) fn fate(&self, fact: Mention<'_>, source: EntryId, pointers: &HashSet<EntryId>) -> FactFate {
        if self.holds(fact) {
            return FactFate::Kept;
        }
        if pointers.contains(&source) {
            return FactFate::Recoverable;
        }
        let is_contradicted = fact.class.latest_wins() && self.values.contains_key(&*lower_case(fact.key));
        if is_contradicted { FactFate::Wrong } else { FactFate::Lost }
    }

    /// Whether the fact is in view, literally.
    pub(super) fn holds(&self, fact: Mention<'_>) -> bool {
        match fact.class.row().evidence {
            // A method with its path has no such form.
            Evidence::Address if fact.value.contains("://") => self.tokens.contains(fact.value),
            Evidence::Word | Evidence::Address => {
                self.tokens.contains(fact.value) || self.words.hold(fact.value)
            }
            Evidence::Pair => {
                let values = self.values.get(&*lower_case(fact.key));
                values.is_some_and(|values| values.contains(&fact.value))
            }
            Evidence::Beside => self.names_operation(fact.key, fact.value),
            Evidence::Sentence => self.words.hold(&flat(fact.value)),
        }
    }

    /// Whether the operation is the word next to its path.
    fn names_operation(&self, path: &str, operation: &str) -> bool {
        // The ledger spells a drive's paths with slashes; a summary as the log does.
        let is_on_drive = path.as_bytes().get(1) == Some(&b':');
        (is_on_drive && self.names_operation_so(&path.replace('/', "\\"), operation))
            || self.names_operation_so(path, operation)
    }

    fn names_operation_so(&self, path: &str, operation: &str) -> bool {
        let lines = self.lines.get(path).map_or(&[][..], Vec::as_slice);
        lines.iter().any(|line| places(line, path).any(|at| is_beside(line, at, path, operation)))
            // A name without a slash is no path by its form.
            || self.words.hold(&flat(&format!("{operation} {path}")))
    }
}

fn is_beside(line: &str, at: usize, path: &str, operation: &str) -> bool {
    // A comma or a full stop parts the path from what is said of the next one.
    let is_gap = |c: char| !c.is_alphanumeric() && !matches!(c, ',' | ';' | '.');
    let is_edge = |c: char| !c.is_alphanumeric();
    let before = line[..at].trim_end_matches(is_gap).rsplit(is_edge).next();
    let after = line[at + path.len()..].trim_start_matches(is_gap).split(is_edge).next();
    [before, after].into_iter().flatten().any(|word| word.eq_ignore_ascii_case(operation))
}

/// Entries that pointers in the text lead to.
pub(super) fn pointers(shown: &str, resolvable: &[EntryId]) -> HashSet<EntryId> {
    let bytes = shown.as_bytes();
    let is_in_word = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let starts = shown.match_indices('m').map(|(at, _)| at);
    let starts = starts.filter(|&at| !is_in_word(at.checked_sub(1).map(|before| &bytes[before])));
    // By the letter they begin with: all that is in view is gone through.
    let words = starts.map(|at| {
        let length = bytes[at..].iter().take_while(|byte| is_in_word(Some(byte))).count();
        &shown[at..at + length]
    });
    words.filter_map(EntryId::of_pointer).filter(|id| resolvable.binary_search(id).is_ok()).collect()
}

/// The text with every run of white space one space.
pub(super) fn flat(text: &str) -> String {
    let mut flat = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !flat.is_empty() {
            flat.push(' ');
        }
        flat.push_str(word);
    }
    flat
}
