//! The ledger: files read and changed, commands run with their exit codes, todos, and what a person listed.
//!
//! It is computed from tool calls and their results, never written by a model, and grows by one
//! message at a time. A call counts when its result came and was no failure.

mod blocked;
mod effect;
mod file;
mod outcome;
mod patch;
mod path;
mod path_index;
mod purpose;
mod reads;
mod request;
mod script;
pub mod shell;
mod todo;
mod tool;
mod word;

pub use file::{FileRecord, Operation};
pub use reads::{FileTouch, FileUse, ReadTracker, file_of};
pub use request::RequestItem;
pub use todo::{Todo, TodoState, checklist};

use crate::facts::spoken;
use crate::pattern::compile;
use crate::{Author, Block, Call, CallId, EntryId, Message, ToolResult};
use effect::FileEffect;
pub(crate) use outcome::{Ending, ending};
use path_index::PathIndex;
use regex::Regex;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};
use todo::TodoChange;
use tool::Action;

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
    /// What the person asked for in lists, in the order it was written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<RequestItem>,
    /// Calls whose results have not come.
    #[serde(skip)]
    pending: HashMap<CallId, (EntryId, Call)>,
    /// Where each path stands in `files`.
    #[serde(skip)]
    index: PathIndex,
    /// The newest message by which the person gave the work a new turn.
    #[serde(skip)]
    heard: Option<EntryId>,
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
                Block::Text { text } => self.hear(id, message.author, text),
                Block::Thinking { .. } | Block::Image(_) | Block::Opaque(_) => {}
            }
        }
    }

    fn hear(&mut self, id: EntryId, author: Author, said: &str) {
        match author {
            Author::Person => {
                self.hear_person(id, &spoken(said));
                self.read_folder(said);
            }
            Author::Model => request::tick(&mut self.requests, id, said),
            Author::Harness => self.read_folder(said),
            Author::Tool => {}
        }
    }

    fn hear_person(&mut self, id: EntryId, said: &str) {
        if blocked::opens_turn(said) {
            self.heard = Some(id);
        }
        request::list(&mut self.requests, id, said);
    }

    /// Takes down the working folder, where a harness tells it.
    fn read_folder(&mut self, said: &str) {
        if let Some(folder) = working_folder(said) {
            self.index.tell_folder(folder);
        }
    }

    /// As a record keeps it and a store gives it back: without what finding files and going on need. Each record of a
    /// session would hold a copy of it otherwise.
    pub(crate) fn recorded(self) -> Self {
        Self { pending: HashMap::new(), index: PathIndex::default(), ..self }
    }

    /// Items of the todo list that are not done.
    pub fn open_todos(&self) -> impl Iterator<Item = &Todo> {
        self.todos.iter().filter(|todo| todo.state.is_open())
    }

    /// What was done to the file of this path.
    pub fn file(&self, path: &str) -> Option<&FileRecord> {
        let spelled_so = self.files.iter().find(|file| &*file.path == path);
        spelled_so.or_else(|| self.files.get(self.index.find(path)?))
    }

    fn answer(&mut self, result: &ToolResult) {
        let Some((id, call)) = self.pending.remove(&result.call) else { return };
        let ending = ending(result);
        match tool::action(&call) {
            Action::Files(effects) => {
                self.show_again(&effects, &ending);
                self.apply_all(id, effects, &ending);
            }
            // What the person refused was not run.
            Action::Shell { .. } if ending.is_refused() => {}
            Action::Shell { script, effects, folders } => {
                self.commands.push(CommandRecord {
                    command: script.trim().into(),
                    exit: ending.exit,
                    failed: ending.is_failure,
                    entry: id,
                });
                folders.iter().for_each(|folder| self.index.enter(folder));
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

    /// A reading tool shows nothing of a file that is gone: what it shows has come back, by a way no call tells of.
    fn show_again(&mut self, effects: &[FileEffect], ending: &Ending) {
        for effect in effects.iter().filter(|_| !ending.is_failure) {
            if let FileEffect::Read(path) = effect
                && !ending.denies(path)
                && let Some(file) = self.index.find(path).and_then(|place| self.files.get_mut(place))
            {
                file.last = Operation::Read;
            }
        }
    }

    /// What writing a whole file amounts to, by what is known of the file.
    fn written(&self, path: &str, existed: Option<bool>) -> Operation {
        let known = self.index.find(path).map(|place| &self.files[place]);
        let is_there = known.is_some_and(|file| file.last != Operation::Deleted);
        match (is_there, existed) {
            (true, _) | (false, Some(true)) => Operation::Modified,
            (false, Some(false) | None) => Operation::Created,
        }
    }

    fn delete(&mut self, id: EntryId, path: &str) {
        let below = self.known_below(path);
        if below.is_empty() || self.index.find(path).is_some() {
            return self.mark(id, path, Operation::Deleted);
        }
        below.iter().for_each(|path| self.mark(id, path, Operation::Deleted));
    }

    /// A renamed folder renames each file known to be in it.
    fn rename(&mut self, id: EntryId, from: &str, to: &str) {
        let below = if self.index.find(from).is_some() { Vec::new() } else { self.known_below(from) };
        if below.is_empty() {
            self.mark(id, from, Operation::Deleted);
            return self.mark(id, to, Operation::Created);
        }
        for old in below {
            let inside = old.rfind(from).map_or(&*old, |at| &old[at + from.len()..]);
            let new = format!("{to}{inside}");
            self.mark(id, &old, Operation::Deleted);
            self.mark(id, &new, Operation::Created);
        }
    }

    fn known_below(&self, folder: &str) -> Vec<Arc<str>> {
        let is_live = |file: &&FileRecord| file.last != Operation::Deleted;
        let live = self.files.iter().filter(is_live).filter(|file| self.index.is_below(&file.path, folder));
        live.map(|file| file.path.clone()).collect()
    }

    fn mark(&mut self, id: EntryId, path: &str, operation: Operation) {
        if self.index.is_empty() {
            // Read back from where it was stored, it has files and no index yet.
            self.files.iter().enumerate().for_each(|(place, file)| self.index.link(&file.path, place));
        }
        let place = match self.index.find(path) {
            Some(place) => place,
            None => self.enter(id, path, operation),
        };
        self.index.link(path, place);
        let file = &mut self.files[place];
        if path::is_absolute(path) && !path::is_absolute(&file.path) {
            file.path = path.into();
        }
        file.entry = id;
        // A shell's look at a file that is gone does not bring it back.
        if operation != Operation::Read || file.last != Operation::Deleted {
            file.last = operation;
        }
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
        self.files.push(FileRecord {
            path: path.into(),
            read: false,
            created: false,
            modified: false,
            deleted: false,
            last: operation,
            entry: id,
            changed: None,
        });
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

static WORKING_FOLDER: LazyLock<Regex> = LazyLock::new(|| {
    compile(r#"(?:<cwd>|(?i:working directory):?\s+|"cwd":\s*")((?:/|[A-Za-z]:[\\/])[^\s<"'`]+)"#)
});

/// Harnesses tell the working folder in front of all else they tell.
const FOLDER_TOLD_BYTES: usize = 8_000;

/// The folder that a harness's notice says the session works in.
fn working_folder(said: &str) -> Option<&str> {
    let head = &said[..said.floor_char_boundary(FOLDER_TOLD_BYTES)];
    WORKING_FOLDER.captures(head)?.get(1).map(|folder| folder.as_str())
}

/// The number in "Task #3 created".
fn number_in(text: &str) -> Option<String> {
    let (_, after) = text.split_once('#')?;
    let end = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
    (end > 0).then(|| after[..end].to_owned())
}

#[cfg(test)]
mod tests;
