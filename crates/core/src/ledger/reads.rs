//! Which results show a file or a part of one, which calls make such a result stale, and the one file that a call is about.

use super::effect::FileEffect;
use super::outcome::ending;
use super::tool::{Action, action};
use crate::{Block, Call, CallId, EntryId, Message};
use serde_json::Value;
use std::collections::HashMap;

/// Something that happened to a file's content in view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileTouch {
    /// A result shows the file.
    Read {
        /// The file.
        path: String,
        /// Which part of it, in the call's own words; none where it shows all.
        part: Option<String>,
        /// The entry that holds the result.
        result: EntryId,
    },
    /// The file is no longer what earlier results show.
    Written {
        /// The file.
        path: String,
    },
}

/// Follows reads and writes through a history, one message at a time.
#[derive(Clone, Debug, Default)]
pub struct ReadTracker {
    pending: HashMap<CallId, Call>,
}

impl ReadTracker {
    /// What one more message shows or makes stale.
    pub fn take(&mut self, id: EntryId, message: &Message) -> Vec<FileTouch> {
        let mut all = Vec::new();
        for block in &message.blocks {
            match block {
                Block::Call(call) => {
                    self.pending.insert(call.id.clone(), call.clone());
                }
                Block::Result(result) => {
                    let call = self.pending.remove(&result.call);
                    let touches = call.map(|call| touched(id, &call)).unwrap_or_default();
                    // How a call ended is looked for in all that it put out: only where that matters.
                    if !touches.is_empty() && !ending(result).is_failure {
                        all.extend(touches);
                    }
                }
                Block::Text { .. } | Block::Thinking { .. } | Block::Image(_) | Block::Opaque(_) => {}
            }
        }
        all
    }
}

/// What a call does to the one file it is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileUse {
    /// Its result shows it.
    Read,
    /// It makes, changes, moves or deletes it.
    Change,
}

/// The file that a call is about and what it does to it; none where it is about several, or none. A shell's output counts
/// where its script names one file, whatever else it may hold.
pub fn file_of(call: &Call) -> Option<(String, FileUse)> {
    let (Action::Files(effects) | Action::Shell { effects, .. }) = action(call) else { return None };
    let [effect] = &effects[..] else { return None };
    let kind = match effect {
        FileEffect::Read(_) => FileUse::Read,
        FileEffect::Write(_)
        | FileEffect::Modify(_)
        | FileEffect::Create(_)
        | FileEffect::Delete(_)
        | FileEffect::Move { .. } => FileUse::Change,
    };
    Some((effect.path().to_owned(), kind))
}

fn touched(result: EntryId, call: &Call) -> Vec<FileTouch> {
    let (effects, is_shell) = match action(call) {
        Action::Files(effects) => (effects, false),
        Action::Shell { effects, .. } => (effects, true),
        Action::Todos(_) | Action::Other => return Vec::new(),
    };
    // A shell's output may hold more than the file: it does not stand for it.
    let is_plain = !is_shell && effects.len() == 1;
    let touch = |effect| match effect {
        FileEffect::Read(path) => is_plain.then(|| FileTouch::Read { path, part: part(call), result }),
        FileEffect::Write(path)
        | FileEffect::Modify(path)
        | FileEffect::Create(path)
        | FileEffect::Delete(path) => Some(FileTouch::Written { path }),
        FileEffect::Move { from, .. } => Some(FileTouch::Written { path: from }),
    };
    effects.into_iter().filter_map(touch).collect()
}

/// The part of a file that a call asks for; none where it asks for all.
fn part(call: &Call) -> Option<String> {
    const RANGES: [&str; 9] = [
        "offset",
        "limit",
        "view_range",
        "start_line",
        "end_line",
        "startLine",
        "endLine",
        "pages",
        "pattern",
    ];
    let fields = serde_json::from_str::<Value>(&call.input).ok()?;
    let value = |range: &&str| fields.get(*range).filter(|value| !value.is_null());
    let told = RANGES.iter().filter_map(|range| value(range).map(|value| format!("{range}={value}")));
    let told: Vec<String> = told.collect();
    (!told.is_empty()).then(|| told.join(" "))
}

#[cfg(test)]
mod tests {
    use super::{FileTouch, ReadTracker};
    use crate::{Author, Block, Call, EntryId, Message, ResultPart, Role, ToolResult};

    fn touched(name: &str, input: &str) -> Vec<FileTouch> {
        let call = Call { id: "1".into(), name: name.into(), input: input.into(), freeform: false };
        let made = Message { role: Role::Assistant, author: Author::Model, blocks: vec![Block::Call(call)] };
        let parts = vec![ResultPart::Text { text: "ok".into() }];
        let result = ToolResult { call: "1".into(), parts, is_error: false };
        let answer = Message { role: Role::Tool, author: Author::Tool, blocks: vec![Block::Result(result)] };
        let mut reads = ReadTracker::default();
        reads.take(EntryId(0), &made);
        reads.take(EntryId(1), &answer)
    }

    #[test]
    fn a_read_says_which_part_of_its_file_it_shows() {
        let read = |part: Option<&str>| {
            let part = part.map(str::to_owned);
            [FileTouch::Read { path: "a.rs".into(), part, result: EntryId(1) }]
        };
        assert_eq!(touched("Read", r#"{"file_path":"a.rs"}"#), read(None));
        let ranged = r#"{"file_path":"a.rs","limit":50,"offset":10}"#;
        assert_eq!(touched("Read", ranged), read(Some("offset=10 limit=50")));
        assert_eq!(touched("Bash", r#"{"command":"rm a.rs"}"#), [FileTouch::Written { path: "a.rs".into() }]);
    }
}
