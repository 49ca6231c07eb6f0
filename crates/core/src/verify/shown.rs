//! The text of the new context, indexed so that a fact is looked up in it quickly.

use super::Fate;
use crate::EntryId;
use crate::facts::{Class, Fact, Mention, scan_line, scan_pairs};
use std::collections::{HashMap, HashSet};

/// What the model will see.
pub(super) struct Shown {
    /// All of it, every run of white space one space.
    text: String,
    /// Facts by their form.
    tokens: HashSet<Box<str>>,
    /// Values by key, where the newest wins.
    values: HashMap<Box<str>, Vec<Box<str>>>,
    /// Lines by each path in them.
    lines: HashMap<Box<str>, Vec<Box<str>>>,
    /// Entries that pointers in it lead to.
    pointers: HashSet<EntryId>,
}

impl Shown {
    pub(super) fn of(shown: &str, resolvable: &HashSet<EntryId>) -> Self {
        let mut index = Self {
            text: flat(shown),
            tokens: HashSet::new(),
            values: HashMap::new(),
            lines: HashMap::new(),
            pointers: HashSet::new(),
        };
        for line in shown.lines().map(str::trim).filter(|line| !line.is_empty()) {
            index.take(line);
        }
        let words = shown.split(|c: char| !c.is_ascii_alphanumeric());
        index.pointers =
            words.filter_map(|word| word.parse().ok()).filter(|id| resolvable.contains(id)).collect();
        index
    }

    fn take(&mut self, line: &str) {
        let mut look = |mention: Mention<'_>| {
            if mention.class.latest_wins() {
                self.values.entry(mention.key.to_lowercase().into()).or_default().push(mention.value.into());
            }
            if mention.class == Class::Path {
                self.lines.entry(mention.value.into()).or_default().push(line.into());
            }
            self.tokens.insert(mention.value.into());
        };
        scan_line(line, &mut look);
        scan_pairs(line, &mut look);
    }

    /// What became of the fact.
    pub(super) fn fate(&self, fact: &Fact) -> Fate {
        if self.holds(fact) {
            return Fate::Kept;
        }
        if self.pointers.contains(&fact.source) {
            return Fate::Recoverable;
        }
        let is_contradicted = fact.class.latest_wins() && self.values.contains_key(&*fact.key.to_lowercase());
        if is_contradicted { Fate::Wrong } else { Fate::Lost }
    }

    fn holds(&self, fact: &Fact) -> bool {
        match fact.class {
            Class::Path | Class::Identifier | Class::Url | Class::Id => {
                self.tokens.contains(&*fact.value) || self.text.contains(&*fact.value)
            }
            Class::Number | Class::Version | Class::State => {
                let values = self.values.get(&*fact.key.to_lowercase());
                values.is_some_and(|values| values.iter().any(|value| **value == *fact.value))
            }
            Class::Operation => self.names_operation(&fact.key, &fact.value),
            Class::Command
            | Class::Error
            | Class::Requirement
            | Class::Prohibition
            | Class::Decision
            | Class::Todo
            | Class::UserMessage
            | Class::Question
            | Class::LiveWork => self.text.contains(flat(&fact.value).as_str()),
        }
    }

    fn names_operation(&self, path: &str, operation: &str) -> bool {
        match self.lines.get(path) {
            Some(lines) => lines.iter().any(|line| line.contains(operation)),
            // A name without a slash is no path by its form.
            None => self.text.contains(&format!("{operation} {path}")),
        }
    }
}

fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
