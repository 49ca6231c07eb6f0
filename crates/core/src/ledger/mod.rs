//! The ledger: files read and changed, commands run with their exit codes, and todos.
//!
//! It is computed from tool calls and their results, never written by a model, and grows by one
//! message at a time. A call counts when its result came and was no failure.

mod effect;
mod outcome;
mod patch;
mod path;
mod reads;
mod script;
pub mod shell;
mod todo;
mod tool;
mod word;

pub use reads::{FileTouch, ReadTracker};
pub use todo::{Todo, TodoState, checklist};

use crate::{Block, Call, CallId, EntryId, Message, ToolResult};
use effect::FileEffect;
pub(crate) use outcome::{Ending, ending};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::Arc;
use todo::TodoChange;
use tool::Action;

/// Something done to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Operation {
    /// Its content was shown.
    Read,
    /// It came to be.
    Created,
    /// Its content changed.
    Modified,
    /// It went away.
    Deleted,
}

impl Operation {
    /// The word for it, as summaries and reports show it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Created => "created",
            Self::Modified => "modified",
            Self::Deleted => "deleted",
        }
    }
}

/// What was done to one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRecord {
    /// Its path as the calls wrote it, in one spelling.
    pub path: Arc<str>,
    /// Whether it was ever read.
    pub read: bool,
    /// Whether it was ever created.
    pub created: bool,
    /// Whether it was ever modified.
    pub modified: bool,
    /// Whether it was ever deleted.
    pub deleted: bool,
    /// The last of these.
    pub last: Operation,
    /// The entry that made the last call.
    pub entry: EntryId,
    /// The entry that last changed it, where one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed: Option<EntryId>,
}

/// A command that was run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandRecord {
    /// As the model wrote it.
    pub command: Arc<str>,
    /// Its exit code, where the result shows one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
    /// Whether it failed, by its code or by the tool's word.
    pub failed: bool,
    /// The entry that made the call.
    pub entry: EntryId,
}

/// Files, commands and todos of a history.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    /// In the order they were first touched.
    pub files: Vec<FileRecord>,
    /// In the order they were run.
    pub commands: Vec<CommandRecord>,
    /// In the order they were written down.
    pub todos: Vec<Todo>,
    /// Calls whose results have not come.
    #[serde(skip)]
    pending: HashMap<CallId, (EntryId, Call)>,
    /// Where each path stands in `files`.
    #[serde(skip)]
    places: HashMap<Arc<str>, usize>,
}

impl Ledger {
    /// The ledger of these messages, oldest first.
    pub fn of<'m>(messages: impl IntoIterator<Item = (EntryId, &'m Message)>) -> Self {
        let mut ledger = Self::default();
        messages.into_iter().for_each(|(id, message)| ledger.update(id, message));
        ledger
    }

    /// Takes up one more message. What a harness shows in the model's place, such as a demonstration, was not done.
    pub fn update(&mut self, id: EntryId, message: &Message) {
        if message.is_staged() {
            return;
        }
        for block in &message.blocks {
            match block {
                Block::Call(call) => {
                    self.pending.insert(call.id.clone(), (id, call.clone()));
                }
                Block::Result(result) => self.answer(result),
                Block::Text { .. } | Block::Thinking { .. } | Block::Image(_) | Block::Opaque(_) => {}
            }
        }
    }

    /// Items of the todo list that are not done.
    pub fn open_todos(&self) -> impl Iterator<Item = &Todo> {
        self.todos.iter().filter(|todo| todo.state.is_open())
    }

    /// What was done to the file of this path.
    pub fn file(&self, path: &str) -> Option<&FileRecord> {
        self.files.iter().find(|file| &*file.path == path)
    }

    fn answer(&mut self, result: &ToolResult) {
        let Some((id, call)) = self.pending.remove(&result.call) else { return };
        let ending = ending(result);
        match tool::action(&call) {
            Action::Files(effects) => self.apply_all(id, effects, &ending),
            Action::Shell { script, effects } => {
                self.commands.push(CommandRecord {
                    command: script.trim().into(),
                    exit: ending.exit,
                    failed: ending.is_failure,
                    entry: id,
                });
                self.apply_all(id, effects, &ending);
            }
            Action::Todos(plan) if !ending.is_failure => self.plan(id, plan, &ending),
            Action::Todos(_) | Action::Other => {}
        }
    }

    fn apply_all(&mut self, id: EntryId, effects: Vec<FileEffect>, ending: &Ending) {
        if ending.is_failure || effects.is_empty() {
            return;
        }
        for effect in effects {
            let is_folder = matches!(effect, FileEffect::Read(_)) && ending.shows_folder();
            if !is_folder && !ending.denies(effect.path()) {
                self.apply(id, effect, ending);
            }
        }
    }

    fn apply(&mut self, id: EntryId, effect: FileEffect, ending: &Ending) {
        match effect {
            FileEffect::Read(path) => self.mark(id, &path, Operation::Read),
            FileEffect::Modify(path) => self.mark(id, &path, Operation::Modified),
            FileEffect::Delete(path) => self.delete(id, &path),
            FileEffect::Create(path) => self.mark(id, &path, self.written(&path, Some(false))),
            FileEffect::Write(path) => self.mark(id, &path, self.written(&path, ending.says_existed())),
            FileEffect::Move { from, to } => self.rename(id, &from, &to),
        }
    }

    /// What writing a whole file amounts to, by what is known of the file.
    fn written(&self, path: &str, existed: Option<bool>) -> Operation {
        let known = self.places.get(path).map(|&place| &self.files[place]);
        let is_there = known.is_some_and(|file| file.last != Operation::Deleted);
        match (is_there, existed) {
            (true, _) | (false, Some(true)) => Operation::Modified,
            (false, Some(false) | None) => Operation::Created,
        }
    }

    fn delete(&mut self, id: EntryId, path: &str) {
        let below = self.known_below(path);
        if below.is_empty() || self.places.contains_key(path) {
            return self.mark(id, path, Operation::Deleted);
        }
        below.iter().for_each(|path| self.mark(id, path, Operation::Deleted));
    }

    /// A renamed folder renames each file known to be in it.
    fn rename(&mut self, id: EntryId, from: &str, to: &str) {
        let below = if self.places.contains_key(from) { Vec::new() } else { self.known_below(from) };
        if below.is_empty() {
            self.mark(id, from, Operation::Deleted);
            return self.mark(id, to, Operation::Created);
        }
        for old in below {
            let new = format!("{to}{}", &old[from.len()..]);
            self.mark(id, &old, Operation::Deleted);
            self.mark(id, &new, Operation::Created);
        }
    }

    fn known_below(&self, folder: &str) -> Vec<Arc<str>> {
        let is_below = |path: &str| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
        let live = self.files.iter().filter(|file| file.last != Operation::Deleted && is_below(&file.path));
        live.map(|file| file.path.clone()).collect()
    }

    fn mark(&mut self, id: EntryId, path: &str, operation: Operation) {
        if self.places.len() != self.files.len() {
            // Read back from where it was stored, it has files and no index yet.
            self.places =
                self.files.iter().enumerate().map(|(place, file)| (file.path.clone(), place)).collect();
        }
        let place = match self.places.get(path) {
            Some(&place) => place,
            None => self.enter(id, path, operation),
        };
        let file = &mut self.files[place];
        (file.last, file.entry) = (operation, id);
        match operation {
            Operation::Read => file.read = true,
            Operation::Created => file.created = true,
            Operation::Modified => file.modified = true,
            Operation::Deleted => file.deleted = true,
        }
        if operation != Operation::Read {
            file.changed = Some(id);
        }
    }

    fn enter(&mut self, id: EntryId, path: &str, operation: Operation) -> usize {
        let path: Arc<str> = path.into();
        let blank = FileRecord {
            path: path.clone(),
            read: false,
            created: false,
            modified: false,
            deleted: false,
            last: operation,
            entry: id,
            changed: None,
        };
        self.files.push(blank);
        self.places.insert(path, self.files.len() - 1);
        self.files.len() - 1
    }

    fn plan(&mut self, id: EntryId, plan: TodoChange, ending: &Ending) {
        match plan {
            TodoChange::Replace(items) => {
                let todo = |(text, state): (String, TodoState)| Todo {
                    text: text.into(),
                    state,
                    number: None,
                    entry: id,
                };
                self.todos = items.into_iter().map(todo).collect();
            }
            TodoChange::Add(text) => {
                let number = number_in(&ending.text).unwrap_or_else(|| (self.todos.len() + 1).to_string());
                let number = Some(number.into());
                self.todos.push(Todo { text: text.into(), state: TodoState::Open, number, entry: id });
            }
            TodoChange::Change { number, state, text } => {
                let is_it = |todo: &&mut Todo| todo.number.as_deref() == Some(&number);
                let Some(todo) = self.todos.iter_mut().find(is_it) else { return };
                todo.entry = id;
                todo.state = state.unwrap_or(todo.state);
                if let Some(text) = text {
                    todo.text = text.into();
                }
            }
        }
    }
}

/// The number in "Task #3 created".
fn number_in(text: &str) -> Option<String> {
    let (_, after) = text.split_once('#')?;
    let end = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
    (end > 0).then(|| after[..end].to_owned())
}

#[cfg(test)]
mod tests;
