//! The program as one process: run, and its one JSON document or its lines read.

use crate::stage::Stage;
use serde_json::{Value, json};

/// An alias of the operator's that leads to the stage's provider.
pub(crate) fn alias(stage: &Stage, name: &str, model: &str) -> String {
    let url = stage.upstream_url();
    format!(
        "[alias.{name}]\nprovider = \"compatible\"\nprotocol = \"anthropic\"\nbase_url = \"{url}\"\nmodel = \"{model}\"\nkey_env = \"STAGE_KEY\"\n"
    )
}

/// A hook of the operator's: this Python script, which has what it is asked in `asked`.
pub(crate) fn hook(stage: &Stage, script: &str) -> String {
    stage.put("hook.py", &format!("import json, sys\nasked = json.load(sys.stdin)\n{script}\n"));
    format!("[hook.watch]\ncommand = [\"python3\", {:?}]\n", stage.path("hook.py"))
}

/// What a run prints; it must succeed.
fn printed(stage: &Stage, args: &[&str]) -> String {
    let output = stage.command(args).env("STAGE_KEY", "a-key").output().expect("the program runs");
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("the program writes UTF-8")
}

/// Compacts the file `session` into `out`; the record.
pub(crate) fn compact(stage: &Stage, args: &[&str]) -> Value {
    let out = printed(stage, &[&["compact", "session", "-o", "out", "--json"], args].concat());
    serde_json::from_str(&out).unwrap_or_else(|error| panic!("{args:?}: {error}: {out}"))
}

/// Replays the file `session`: its calls.
pub(crate) fn replay(stage: &Stage, args: &[&str]) -> Vec<Value> {
    let out = printed(stage, &[&["replay", "session", "--json"], args].concat());
    out.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect()
}

/// What the last call of a replay came to, where anything did.
pub(crate) fn last_outcome(stage: &Stage, args: &[&str]) -> Value {
    let mut calls = replay(stage, args);
    let last = calls.pop().expect("there are calls");
    assert!(calls.iter().all(|call| call["compaction"] == Value::Null), "only the last one is that long");
    last["compaction"]["outcome"].clone()
}

pub(crate) fn written(stage: &Stage, name: &str) -> String {
    std::fs::read_to_string(stage.path(name)).expect("it was written")
}

/// Pointers from one number up to another.
pub(crate) fn ids(numbers: std::ops::Range<usize>) -> Value {
    json!(numbers.map(|number| format!("m{number:04}")).collect::<Vec<_>>())
}
