//! Tool calls as one line each: what was done, to what, and how it ended.

use super::answer::asks_person;
use crate::digest::CallEnding;
use crate::facts::{Secrets, scan_commands, unfold};
use crate::pattern::compile;
use crate::{Call, CallId, EntryId, ToolResult};
use regex::Regex;
use serde_json::Value;
use std::sync::LazyLock;

/// A tool call in one line.
pub(super) struct ActionLine {
    /// The entry that made it.
    pub id: EntryId,
    /// The call, until its result has come.
    call: CallId,
    /// The tool.
    pub tool: String,
    /// Its main arguments.
    pub argument: String,
    /// The commands in it, word for word, where it is a script of one line.
    pub commands: Vec<String>,
    /// Whether it failed.
    pub failed: bool,
    /// Its exit code, where the result shows one.
    pub exit: Option<i32>,
}

/// Arguments are cut to this many characters: a path or the start of a command says enough.
const ARGUMENT_CHARS_MAX: usize = 160;
/// How many calls back a result is looked for; parallel calls are few.
const OPEN_CALLS_MAX: usize = 64;

/// The call in one line with its main arguments, without its result.
pub(super) fn of(id: EntryId, call: &Call, argument: &str, secrets: &Secrets) -> ActionLine {
    let argument = secrets.screen(argument);
    let flat = argument.split_whitespace().collect::<Vec<_>>().join(" ");
    let cut = flat.char_indices().nth(ARGUMENT_CHARS_MAX).map_or(flat.len(), |(at, _)| at);
    let mut commands = Vec::new();
    scan_commands(&flat[..cut], &mut |mention| commands.push(mention.value.to_owned()));
    ActionLine {
        id,
        call: call.id.clone(),
        tool: call.name.to_string(),
        argument: flat[..cut].to_owned(),
        commands,
        failed: false,
        exit: None,
    }
}

/// Notes how the call behind `result` ended; gives the call.
pub(super) fn finish<'a>(
    actions: &'a mut [ActionLine],
    result: &ToolResult,
    ending: &CallEnding,
) -> Option<&'a ActionLine> {
    let mut open = actions.iter_mut().rev().take(OPEN_CALLS_MAX);
    let action = open.find(|action| action.call == result.call)?;
    (action.failed, action.exit) = (ending.is_failure, ending.exit);
    Some(action)
}

/// Names of tools that have another agent work and report.
static DELEGATES: LazyLock<Regex> =
    LazyLock::new(|| compile(r"(?i)^(?:task|agent|explore)$|sub_?agent|dispatch_agent|delegate"));

/// Whether a tool of this name has another agent work and report.
pub(super) fn delegates(tool: &str) -> bool {
    DELEGATES.is_match(tool)
}

impl ActionLine {
    /// Whether it only kept the todo list or asked a person, which is told elsewhere.
    pub(super) fn is_bookkeeping(&self) -> bool {
        keeps_todos(&self.tool) || asks_person(&self.tool)
    }

    /// The action as the summary shows it, with its pointer.
    pub(super) fn line(&self) -> String {
        match (self.exit, self.failed) {
            (Some(code), _) => format!("{} {} {} → exit {code}", self.id, self.tool, self.argument),
            (None, true) => format!("{} {} {} → failed", self.id, self.tool, self.argument),
            (None, false) => format!("{} {} {}", self.id, self.tool, self.argument),
        }
    }
}

/// Whether a tool of this name keeps a todo list.
pub(super) fn keeps_todos(tool: &str) -> bool {
    let tool = tool.to_lowercase();
    tool.contains("todo") || tool.starts_with("task") || tool == "update_plan"
}

/// The argument that says most: a path, a command, a pattern; else all of them.
pub(crate) fn main_argument(call: &Call) -> String {
    const NAMES: [&str; 14] = [
        "file_path",
        "filePath",
        "path",
        "command",
        "cmd",
        "pattern",
        "query",
        "url",
        "subject",
        "taskId",
        "description",
        "filename",
        "notebook_path",
        "skill",
    ];
    let fields = serde_json::from_str::<Value>(&call.input).ok();
    let picked = fields.as_ref().and_then(Value::as_object).map(|fields| {
        let named = NAMES.iter().filter_map(|name| fields.get(*name)?.as_str()).take(2);
        named.collect::<Vec<_>>().join(" ")
    });
    match picked {
        Some(text) if !text.is_empty() => text,
        Some(_) | None => unfold(call).into_owned(),
    }
}
