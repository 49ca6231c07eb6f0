//! Todo lists, as the tools that keep them write them down.

use crate::EntryId;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::sync::Arc;

/// How far an item has got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TodoState {
    /// Not begun.
    Open,
    /// Begun.
    InProgress,
    /// Done.
    Done,
    /// Given up.
    Dropped,
}

impl TodoState {
    /// Whether there is still something to do.
    pub fn is_open(self) -> bool {
        match self {
            Self::Open | Self::InProgress => true,
            Self::Done | Self::Dropped => false,
        }
    }

    /// The state by the words tools use for it.
    fn named(word: &str) -> Option<Self> {
        match word {
            "pending" | "open" | "todo" | "not_started" | "not-started" => Some(Self::Open),
            "in_progress" | "in-progress" | "active" | "running" => Some(Self::InProgress),
            "completed" | "complete" | "done" | "finished" => Some(Self::Done),
            "cancelled" | "canceled" | "deleted" | "dropped" => Some(Self::Dropped),
            _ => None,
        }
    }
}

/// An item of the todo list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Todo {
    /// What is to be done.
    pub text: Arc<str>,
    /// How far it has got.
    pub state: TodoState,
    /// The number the tool gave it, where it gives numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<Arc<str>>,
    /// The entry that last changed it.
    pub entry: EntryId,
}

/// What a call does to the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum TodoChange {
    /// The whole list is written anew.
    Replace(Vec<(String, TodoState)>),
    /// One item is added; its number comes with the result.
    Add(String),
    /// One item changes.
    Change {
        /// The item's number.
        number: String,
        /// Its new state, where that changes.
        state: Option<TodoState>,
        /// Its new text, where that changes.
        text: Option<String>,
    },
}

/// What the call of a todo tool does; none for any other tool.
pub(super) fn plan(name: &str, fields: &Map<String, Value>) -> Option<TodoChange> {
    let is_todo_tool = name.contains("todo") || name.contains("plan") || name.starts_with("task");
    if !is_todo_tool {
        return None;
    }
    let word = |field: &str| fields.get(field).and_then(Value::as_str);
    match name {
        "taskcreate" => Some(TodoChange::Add(word("subject").or_else(|| word("title"))?.to_owned())),
        "taskupdate" => Some(TodoChange::Change {
            number: number(fields.get("taskId").or_else(|| fields.get("id"))?)?,
            state: word("status").and_then(TodoState::named),
            text: word("subject").map(str::to_owned),
        }),
        _ => {
            let list = ["todos", "plan", "todoList", "items", "tasks"]
                .iter()
                .find_map(|field| fields.get(*field))?;
            items(list).map(TodoChange::Replace)
        }
    }
}

fn number(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn items(list: &Value) -> Option<Vec<(String, TodoState)>> {
    match list {
        Value::Array(items) => Some(items.iter().filter_map(item).collect()),
        Value::String(text) => Some(checklist(text).map(|(text, state)| (text.to_owned(), state)).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

fn item(value: &Value) -> Option<(String, TodoState)> {
    let word = |fields: &[&str]| fields.iter().find_map(|field| value.get(*field)?.as_str());
    let text = value
        .as_str()
        .or_else(|| word(&["content", "step", "title", "description", "text", "task", "subject"]))?;
    let state = word(&["status", "state"]).and_then(TodoState::named).unwrap_or(TodoState::Open);
    Some((text.to_owned(), state))
}

/// The boxes of a checklist: `- [ ] open`, `- [x] done`.
pub fn checklist(text: &str) -> impl Iterator<Item = (&str, TodoState)> {
    text.lines().filter_map(|line| {
        let line = line.trim_start().trim_start_matches(['-', '*', '+']).trim_start();
        let (mark, rest) = line.strip_prefix('[')?.split_once(']')?;
        let state = match mark {
            " " | "" => TodoState::Open,
            "x" | "X" | "✓" => TodoState::Done,
            "~" | "-" | "/" | ">" => TodoState::InProgress,
            _ => return None,
        };
        Some((rest.trim(), state)).filter(|(text, _)| !text.is_empty())
    })
}
