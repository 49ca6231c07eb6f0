//! What is seen of a run, without what the clock says and without the numbers that entries happen to have, and what of it
//! differs between two runs.

use serde_json::Value;
use std::collections::HashMap;

/// Everything that a run shows to somebody.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Observed {
    /// Request bodies, as the session's model would get them or got them.
    pub(crate) contexts: Vec<String>,
    /// Requests that reached the summariser, in no particular order.
    pub(crate) requests: Vec<String>,
    /// Records of compactions.
    pub(crate) records: Vec<String>,
    /// What the operator and the hooks were told.
    pub(crate) events: Vec<String>,
    /// What the program ended with, where it failed.
    pub(crate) failure: Option<String>,
}

/// A kind of thing in which two runs differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Difference {
    Context,
    Request,
    Record,
    Event,
}

impl Difference {
    /// Its name in the table.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Context => "context",
            Self::Request => "request",
            Self::Record => "record",
            Self::Event => "event",
        }
    }
}

impl Observed {
    /// In what this run differs from another.
    pub(crate) fn differences(&self, other: &Self) -> Vec<Difference> {
        let told = (&self.events, &self.failure) != (&other.events, &other.failure);
        let all = [
            (self.contexts != other.contexts, Difference::Context),
            (self.requests != other.requests, Difference::Request),
            (self.records != other.records, Difference::Record),
            (told, Difference::Event),
        ];
        all.into_iter().filter(|(differs, _)| *differs).map(|(_, kind)| kind).collect()
    }

    fn records(&self) -> impl Iterator<Item = Value> {
        self.records.iter().map(|text| serde_json::from_str(text).expect("it was written from a record"))
    }

    /// What it came to, in a line, for whoever must find out why it changes nothing.
    pub(crate) fn outline(&self) -> String {
        let told = |record: Value| {
            let [outcome, before, after, fallbacks] =
                ["outcome", "tokens_before", "tokens_after", "fallbacks"]
                    .map(|name| record[name].to_string());
            format!("{outcome} {before} → {after} {fallbacks}")
        };
        let counts = [&self.contexts, &self.requests, &self.events].map(Vec::len);
        format!("{counts:?} contexts, requests, events; {:?}", self.records().map(told).collect::<Vec<_>>())
    }

    /// How much the first compaction freed, in tokens.
    pub(crate) fn freed(&self) -> u64 {
        let tokens = |record: &Value, name: &str| record[name].as_u64().unwrap_or_default();
        let freed = |record: Value| tokens(&record, "tokens_before") - tokens(&record, "tokens_after");
        self.records().next().map_or(0, freed)
    }
}

/// Fields that the clock writes.
const TIMES: [&str; 4] = ["duration_ms", "time_ms", "timestamp", "durationMs"];
/// Names made of the text of a summary, in which the path stands that originals are read at.
const NAMES: [&str; 3] = ["uuid", "parentUuid", "anchorUuid"];

/// A value as text, without what the clock wrote into it, its entries by the order in which they are named.
pub(crate) fn normal(mut value: Value) -> String {
    forget(&mut value);
    renumbered(&value.to_string())
}

fn forget(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| !TIMES.contains(&name.as_str()) && !NAMES.contains(&name.as_str()));
            fields.values_mut().for_each(forget);
        }
        Value::Array(all) => all.iter_mut().for_each(forget),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Entries are numbered as they are appended, marks among them: one mark more, and all later ones have other names.
/// Here the first that is named is `m#0`.
pub(crate) fn renumbered(text: &str) -> String {
    let text = &placeless(text);
    let (mut made, mut names) = (String::with_capacity(text.len()), HashMap::new());
    let mut rest = text.as_str();
    while let Some((before, id, after)) = next_id(rest) {
        let count = names.len();
        let number = *names.entry(id).or_insert(count);
        made.push_str(&format!("{before}m#{number}"));
        rest = after;
    }
    made + rest
}

/// A text without the file or the address that originals are read at.
fn placeless(text: &str) -> String {
    const READING: &str = "; to read one: ";
    let mut parts = text.split(READING);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |made, part| made + READING + part.find("m0123").map_or(part, |at| &part[at..]))
}

/// The next pointer such as `m0123` in a text, with what stands before and behind it. A line that ends before it is
/// written as `\n` in JSON.
fn next_id(text: &str) -> Option<(&str, &str, &str)> {
    let mut from = 0;
    while let Some(at) = text[from..].find('m').map(|at| from + at) {
        let end = at + 1 + text[at + 1..].bytes().take_while(u8::is_ascii_digit).count();
        let before = &text[..at];
        let is_word = before.ends_with(|last: char| last.is_alphanumeric()) && !before.ends_with("\\n");
        if end - at > 4 && !is_word {
            return Some((before, &text[at..end], &text[end..]));
        }
        from = end;
    }
    None
}

#[test]
fn entries_are_named_by_the_order_in_which_they_are_named() {
    assert_eq!(renumbered("m0012-m0040, item0001;\\nm0012 m04 m"), "m#0-m#1, item0001;\\nm#0 m04 m");
}
