//! What a call means, by the tool's name and, where the name is strange, by the shape of its arguments.

use super::effect::{self, FileEffect, looks_like_file};
use super::patch;
use super::path::{is_absolute, join};
use super::todo::{self, TodoChange};
use crate::Call;
use serde_json::{Map, Value};

/// What a call would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// Reads or changes files.
    Files(Vec<FileEffect>),
    /// Runs a script.
    Shell {
        /// As the model wrote it.
        script: String,
        /// What it does to files.
        effects: Vec<FileEffect>,
        /// The folders it works in, as far as it tells them from their root.
        folders: Vec<String>,
    },
    /// Changes the todo list.
    Todos(TodoChange),
    /// Nothing the ledger keeps.
    Other,
}

/// What `call` would do, if it succeeds.
pub(super) fn action(call: &Call) -> Action {
    if call.freeform || call.input.trim_start().starts_with("*** Begin Patch") {
        return Action::Files(patch::effects(&call.input, ""));
    }
    let Ok(Value::Object(fields)) = serde_json::from_str(&call.input) else { return Action::Other };
    let name = plain_name(&call.name);
    if let Some(plan) = todo::plan(&name, &fields) {
        return Action::Todos(plan);
    }
    if let Some(script) = script(&name, &fields) {
        return shell(script, text(&fields, &FOLDERS).unwrap_or_default());
    }
    match patch_text(&fields) {
        Some(patch) => Action::Files(patch::effects(patch, "")),
        None => Action::Files(file_effects(&name, &fields)),
    }
}

/// The tool's name without its server's, in lower case, without joints: `mcp__fs__read_file` is `readfile`.
fn plain_name(name: &str) -> String {
    let name = name.rsplit("__").next().unwrap_or(name);
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

fn text<'v>(fields: &'v Map<String, Value>, names: &[&str]) -> Option<&'v str> {
    names.iter().find_map(|name| fields.get(*name)?.as_str())
}

/// The script of a shell tool; a list of words is joined, `bash -lc SCRIPT` gives its script.
fn script(name: &str, fields: &Map<String, Value>) -> Option<String> {
    const NO_SHELL: [&str; 3] = ["strreplaceeditor", "editor", "strreplacebasededittool"];
    if NO_SHELL.contains(&name) || fields.contains_key("path") || fields.contains_key("file_path") {
        return None;
    }
    match fields.get("command").or_else(|| fields.get("cmd")).or_else(|| fields.get("script"))? {
        Value::String(script) => Some(script.clone()),
        Value::Array(words) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            match words.as_slice() {
                [_, flag, script] if flag.starts_with('-') && flag.ends_with('c') => {
                    Some((*script).to_owned())
                }
                words => Some(words.join(" ")),
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

/// Arguments that say where a script runs.
const FOLDERS: [&str; 4] = ["workdir", "cwd", "working_directory", "working_dir"];

/// Relative paths stay as written unless the call says where it runs.
fn shell(script: String, folder: &str) -> Action {
    let folder = if is_absolute(folder) { folder } else { "" };
    // A patch handed to the shell is a patch, whatever is done around it.
    if script.contains("*** Begin Patch") {
        let effects = patch::effects(&script, folder);
        return Action::Shell { script, effects, folders: Vec::new() };
    }
    let run = effect::of_script(&script, folder);
    Action::Shell { script, effects: run.effects, folders: run.folders }
}

fn patch_text(fields: &Map<String, Value>) -> Option<&str> {
    let patch = text(fields, &["patchText", "patch", "input", "patch_text"])?;
    patch.contains("*** Begin Patch").then_some(patch)
}

/// Arguments that name the file a tool works on.
const PATHS: [&str; 9] = [
    "file_path",
    "filePath",
    "path",
    "filename",
    "file",
    "notebook_path",
    "absolute_path",
    "target_file",
    "target",
];
/// Arguments that only an edit has.
const EDITS: [&str; 8] =
    ["old_string", "oldString", "old_str", "oldText", "old_text", "edits", "diff", "new_source"];
/// Arguments that hold a whole file.
const CONTENTS: [&str; 4] = ["content", "contents", "file_text", "text"];

fn file_effects(name: &str, fields: &Map<String, Value>) -> Vec<FileEffect> {
    let Some(path) = text(fields, &PATHS) else { return many_reads(name, fields) };
    let path = join("", path);
    let command = text(fields, &["command", "action", "operation"]).unwrap_or_default();
    let has = |names: &[&str]| names.iter().any(|name| fields.contains_key(*name));
    let is = |words: &[&str]| words.iter().any(|word| name.contains(word) || command == *word);
    let is_edit_command =
        is(&["insert", "undo_edit", "strreplace", "str_replace"]) && !matches!(command, "view" | "create");
    let is_search = name.contains("grep") && looks_like_file(&path);
    if is(&["delete", "remove", "unlink"]) {
        vec![FileEffect::Delete(path)]
    } else if is(&["move", "rename"]) {
        moved(path, fields)
    } else if has(&EDITS) || is_edit_command {
        vec![edited(path, fields)]
    } else if has(&CONTENTS) && !is(&["read", "view"]) {
        vec![FileEffect::Write(path)]
    } else if is_search || is(&["read", "view", "open", "cat"]) {
        vec![FileEffect::Read(path)]
    } else {
        Vec::new()
    }
}

/// An edit that replaces nothing makes the file.
fn edited(path: String, fields: &Map<String, Value>) -> FileEffect {
    match text(fields, &["old_string", "oldString", "old_str", "oldText"]) {
        Some("") => FileEffect::Write(path),
        Some(_) | None => FileEffect::Modify(path),
    }
}

fn moved(from: String, fields: &Map<String, Value>) -> Vec<FileEffect> {
    let to = text(fields, &["new_path", "newPath", "destination", "to"]);
    to.map(|to| FileEffect::Move { from, to: join("", to) }).into_iter().collect()
}

fn many_reads(name: &str, fields: &Map<String, Value>) -> Vec<FileEffect> {
    let listed = ["paths", "files", "file_paths"].iter().find_map(|list| fields.get(*list)?.as_array());
    let paths = listed.filter(|_| name.contains("read")).into_iter().flatten();
    paths.filter_map(Value::as_str).map(|path| FileEffect::Read(join("", path))).collect()
}

#[cfg(test)]
mod tests {
    use super::{Action, FileEffect, action};
    use crate::Call;

    fn of(name: &str, input: &str) -> Action {
        action(&Call { id: "1".into(), name: name.into(), input: input.into(), freeform: false })
    }

    #[test]
    fn known_tools_and_strange_ones_by_shape() {
        let files = |effect| Action::Files(vec![effect]);
        assert_eq!(of("Read", r#"{"file_path":"a.rs"}"#), files(FileEffect::Read("a.rs".into())));
        assert_eq!(of("mcp__fs__view", r#"{"path":"./a.rs"}"#), files(FileEffect::Read("a.rs".into())));
        assert_eq!(
            of("frob", r#"{"path":"a","old_str":"x","new_str":"y"}"#),
            files(FileEffect::Modify("a".into()))
        );
        assert_eq!(of("frob", r#"{"path":"a","content":"x"}"#), files(FileEffect::Write("a".into())));
        assert_eq!(
            of("str_replace_editor", r#"{"command":"create","path":"a","file_text":"x"}"#),
            files(FileEffect::Write("a".into()))
        );
        assert_eq!(of("Glob", r#"{"path":"src","pattern":"*"}"#), Action::Files(vec![]));
    }

    #[test]
    fn a_word_list_is_a_script() {
        let Action::Shell { script, effects, .. } = of("shell", r#"{"command":["bash","-lc","cat a.rs"]}"#)
        else {
            panic!("a shell tool")
        };
        assert_eq!((script.as_str(), effects), ("cat a.rs", vec![FileEffect::Read("a.rs".into())]));
    }
}
