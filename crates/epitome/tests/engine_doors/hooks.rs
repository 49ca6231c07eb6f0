//! Hooks that are commands, as real processes: what they are told, what their answers do, and what becomes of those
//! that fail.

use crate::sandbox::{Sandbox, talk};
use serde_json::{Value, json};
use std::process::Command;

/// A sandbox whose operator has this Python script as the hook `watch`; more of its table behind it.
fn hooked(script: &str, table: &str) -> Sandbox {
    let sandbox = Sandbox::with(talk("gpt-5", 20));
    sandbox.put("hook.py", format!("import json, os, sys\nasked = json.load(sys.stdin)\n{script}\n"));
    sandbox.settings(&hook_table(&sandbox, "watch", table));
    sandbox
}

fn hook_table(sandbox: &Sandbox, name: &str, table: &str) -> String {
    let (python, script) = (python(), sandbox.path("hook.py"));
    format!("[hook.{name}]\ncommand = [{python:?}, {script:?}]\n{table}\n")
}

/// Python itself, where `python3` is something that finds it.
fn python() -> String {
    let found = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output();
    String::from_utf8(found.expect("python3 runs").stdout).expect("a plain name").trim().to_owned()
}

/// A script that answers before a compaction, and says nothing at other times.
fn answering(answer: &Value) -> String {
    format!("if asked['hook'] == 'pre_compact': print({:?})", answer.to_string())
}

const COMPACT: [&str; 8] = ["compact", "session", "--to", "native", "-o", "out", "--window", "16000"];

fn compact(sandbox: &Sandbox, more: &[&str]) -> Value {
    sandbox.json(&[&COMPACT[..], &["--json"], more].concat())
}

/// What the record keeps of its hooks: names, and what came of each.
fn told(record: &Value) -> Vec<(String, String)> {
    let runs = record["hooks"].as_array().expect("hooks were asked");
    let word = |value: &Value| value.as_str().expect("a word").to_owned();
    runs.iter().map(|run| (word(&run["name"]), word(&run["told"]))).collect()
}

fn watch(told: &str) -> Vec<(String, String)> {
    vec![("watch".to_owned(), told.to_owned())]
}

#[test]
fn a_veto_leaves_the_file_as_it_is() {
    let sandbox = hooked(&answering(&json!({"verdict": "veto", "why": "the release is open"})), "");
    let record = compact(&sandbox, &[]);
    assert_eq!(
        (&record["outcome"], &record["by"], &record["why"]),
        (&json!("vetoed"), &json!("watch"), &json!("the release is open"))
    );
    assert_eq!(told(&record), watch("veto: the release is open"));
    assert_eq!(sandbox.text("out"), sandbox.text("session"));
    let page = sandbox.run(&COMPACT).err;
    assert!(page.contains("left as it is (watch said no: the release is open)"), "{page}");
}

// door: compact
#[test]
fn k21_a_hook_is_told_of_the_plan_with_its_messages_and_of_the_end() {
    let script = "open('asked', 'a').write(json.dumps(asked) + '\\n')";
    let sandbox = hooked(script, "");
    let record = compact(&sandbox, &[]);
    let asked: Vec<Value> =
        sandbox.text("asked").lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(asked.iter().map(|one| &one["hook"]).collect::<Vec<_>>(), ["pre_compact", "post_compact"]);
    let event = &asked[0]["event"];
    assert_eq!(
        (&event["trigger"], &event["window"], &event["ordinal"]),
        (&json!("manual"), &json!(16_000), &json!(1))
    );
    let messages = asked[0]["messages"].as_array().expect("a list");
    let counted = ["leaving", "staying"].map(|list| event[list].as_array().expect("a list").len());
    assert_eq!(messages.len(), counted[0] + counted[1]);
    let first = format!("point 0 of the plan: {}", "something that matters a little ".repeat(60));
    assert_eq!(messages[0], json!({"id": "m0000", "role": "user", "author": "person", "text": first}));
    assert_eq!(asked[1]["record"]["tokens_after"], record["tokens_after"]);
}

// door: compact
#[test]
fn k9_what_a_hook_retains_stays_in_view() {
    let sandbox = hooked(&answering(&json!({"verdict": "proceed", "retain": ["m0009"]})), "");
    let record = compact(&sandbox, &[]);
    assert_eq!(told(&record), watch("retains 1"));
    assert!(record["kept"].as_array().expect("a list").contains(&json!("m0009")), "{}", record["kept"]);
}

#[test]
fn guidance_and_text_of_a_hook_are_taken_up() {
    let answer =
        json!({"verdict": "proceed", "guidance": "dwell on gardens", "inject": "The garden is open."});
    let record = compact(&hooked(&answering(&answer), ""), &[]);
    assert_eq!(told(&record), watch("injects text; guides the summariser"));
    let summary = record["summary"].as_str().expect("a text");
    assert!(summary.contains("The garden is open.") && !summary.contains("dwell on gardens"), "{summary}");
}

#[test]
fn a_summary_that_a_hook_supplies_stands() {
    let answer =
        json!({"verdict": "proceed", "summary": {"text": "We agreed on blue, for the whole garden."}});
    let record = compact(&hooked(&answering(&answer), ""), &[]);
    assert_eq!((told(&record), &record["summarizer"]), (watch("supplies the summary"), &json!("watch")));
    let summary = record["summary"].as_str().expect("a text");
    assert!(summary.contains("We agreed on blue, for the whole garden."), "{summary}");
}

// door: compact
#[test]
fn k16_the_list_of_a_compactor_takes_the_place_of_the_context() {
    let script = "if asked['hook'] == 'transform':
    ids = [one['id'] for one in asked['messages']]
    print(json.dumps({'list': [{'keep': ids[0]}, {'write': 'the middle, in short'}] + [{'keep': id} for id in ids[-3:]]}))";
    let record = compact(&hooked(script, "role = \"compactor\""), &["--strategy", "delegate"]);
    assert_eq!((&record["strategy"], &record["fallbacks"]), (&json!("delegate"), &json!([])));
    assert_eq!(record["kept"], json!(["m0000", "m0038", "m0039", "m0040"]));
    assert!(record["summary"].as_str().expect("a text").contains("the middle, in short"));
}

// door: compact
#[test]
fn k16_a_compactor_that_forgets_a_message_is_passed_over() {
    let script = |last: usize| {
        format!(
            "if asked['hook'] == 'transform':
    ids = [one['id'] for one in asked['messages']]
    print(json.dumps({{'list': [{{'keep': ids[0]}}, {{'write': 'the middle, in short'}}] + [{{'keep': id}} for id in ids[-3:]], 'superseded': ids[1:-{last}]}}))"
        )
    };
    let compacted =
        |last| compact(&hooked(&script(last), "role = \"compactor\""), &["--strategy", "delegate"]);
    let whole = compacted(3);
    assert_eq!((&whole["strategy"], &whole["fallbacks"]), (&json!("delegate"), &json!([])));
    assert_eq!(whole["superseded"].as_array().map(Vec::len), Some(37));
    let forgetful = compacted(4);
    let why = "the compactor failed: it neither keeps nor supersedes m0037";
    assert_eq!(forgetful["fallbacks"], json!([{"strategy": "delegate", "why": why}]));
    assert_eq!(forgetful["strategy"], "summarize");
}

// door: compact
#[test]
fn k17_a_list_that_breaks_a_rule_is_passed_over() {
    let script = "if asked['hook'] == 'transform': print(json.dumps({'list': [{'write': 'nothing stays'}]}))";
    let record = compact(&hooked(script, "role = \"compactor\""), &["--strategy", "delegate"]);
    assert_eq!(
        (&record["strategy"], &record["fallbacks"][0]["strategy"]),
        (&json!("summarize"), &json!("delegate"))
    );
}

/// What is recorded of a hook that goes by this script, and that the compaction was made all the same.
fn failure(script: &str, more: &[&str]) -> String {
    let record = compact(&hooked(script, ""), more);
    assert_eq!(record["outcome"], "compacted", "{record}");
    told(&record).remove(0).1
}

#[test]
fn a_hook_that_crashes_speaks_nonsense_or_too_much_is_recorded_and_passed_over() {
    assert_eq!(
        [
            failure("print('boom', file=sys.stderr); sys.exit(3)", &[]),
            failure("print('hello')", &[]),
            failure("print(json.dumps({'verdict': 'perhaps'}))", &[]),
            failure("print('x' * 2_000_000)", &[]),
        ],
        [
            "failed: it ended with exit status: 3: boom",
            "failed: its answer is not understood: expected value at line 1 column 1",
            "failed: its answer is not understood: unknown variant `perhaps`, expected `proceed` or `veto` at line 1 column 21",
            "failed: its answer is longer than 1048576 bytes",
        ]
    );
}

#[test]
fn a_program_that_is_not_there_is_recorded_and_passed_over() {
    let sandbox = Sandbox::with(talk("gpt-5", 20));
    sandbox.settings("[hook.watch]\ncommand = [\"no-such-program\"]\n");
    let record = compact(&sandbox, &[]);
    let why = told(&record).remove(0).1;
    assert!(why.starts_with("failed: `no-such-program` cannot be started: "), "{why}");
}

#[cfg(unix)]
#[test]
fn a_hook_that_hangs_is_killed_at_its_deadline() {
    let sandbox = hooked("import signal\nopen('pid', 'w').write(str(os.getpid()))\nsignal.pause()", "");
    let record = compact(&sandbox, &["--set", "guard.hook_seconds_max=1"]);
    assert_eq!(record["outcome"], "compacted");
    let late = ["failed: no answer within 1 s", "failed after it: no answer within 1 s"];
    assert_eq!(told(&record).into_iter().map(|(_, told)| told).collect::<Vec<_>>(), late);
    let pid = sandbox.text("pid");
    let state = Command::new("ps").args(["-o", "stat=", "-p", &pid]).output().expect("ps runs");
    let state = String::from_utf8(state.stdout).expect("it is text");
    assert!(state.trim().is_empty() || state.trim().starts_with('Z'), "it lives on: {state}");
}

#[test]
fn a_hook_sees_of_the_environment_what_its_table_names() {
    let script = "open('environment', 'w').write(json.dumps(dict(os.environ)))";
    let sandbox = hooked(script, "env = [\"GARDEN\", \"NOT_SET\"]");
    let mut command = sandbox.command(&[&COMPACT[..], &["--json"]].concat());
    let ran = command.env("GARDEN", "open").env("SECRET_KEY", "a-key").output().expect("the program runs");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let seen: Value = serde_json::from_str(&sandbox.text("environment")).expect("JSON");
    let mut names: Vec<&str> = seen.as_object().expect("names").keys().map(String::as_str).collect();
    // Python sets this one for itself where the locale says nothing.
    names.retain(|name| *name != "LC_CTYPE");
    names.sort();
    assert_eq!((names, &seen["GARDEN"]), (vec!["GARDEN", "PATH"], &json!("open")));
}

// door: compact
#[test]
fn k18_hooks_that_cannot_be_used_are_refused_before_anything_is_read() {
    let sandbox = Sandbox::new();
    let refused = |toml: &str| {
        sandbox.settings(toml);
        let ran = sandbox.run(&["compact", "no-such-file"]);
        (ran.code, ran.err)
    };
    let (code, empty) = refused("[hook.watch]\ncommand = []\n");
    let named =
        "epitome.toml cannot be used: `command` names no program; write it as [\"program\", \"argument\"]\n";
    assert!(
        code == Some(1) && empty.starts_with("epitome: [hook.watch] of ") && empty.ends_with(named),
        "{empty}"
    );
    let two = "[hook.a]\ncommand = [\"a\"]\nrole = \"compactor\"\n[hook.b]\ncommand = [\"b\"]\nrole = \"compactor\"\n";
    let one_too_many =
        "epitome: `b` cannot be a compactor of this session: `a` is one already; remove one of them\n";
    assert_eq!(refused(two), (Some(1), one_too_many.to_owned()));
}

#[test]
fn a_replay_asks_the_same_hooks() {
    let sandbox = hooked(&answering(&json!({"verdict": "veto", "why": "not yet"})), "");
    let calls = sandbox.calls(&["--window", "8000"]);
    let vetoed: Vec<&Value> =
        calls.iter().map(|call| &call["compaction"]).filter(|record| record["outcome"] == "vetoed").collect();
    assert!(!vetoed.is_empty() && vetoed.iter().all(|record| record["why"] == "not yet"), "{vetoed:?}");
}

#[test]
fn a_dry_run_starts_no_process() {
    let sandbox = hooked("open('asked', 'w')", "");
    let record = compact(&sandbox, &["--dry-run"]);
    assert_eq!((&record["outcome"], record.get("hooks")), (&json!("compacted"), None));
    assert!(!sandbox.path("asked").exists(), "the hook was started");
}

#[test]
fn what_a_hook_did_after_a_compaction_is_kept_with_it() {
    let sandbox = hooked("if asked['hook'] == 'post_compact': sys.exit('no room for notes')", "");
    let record = compact(&sandbox, &[]);
    let mark =
        sandbox.text("out").lines().find(|line| line.contains("\"mark\":\"compaction\"")).map(str::to_owned);
    let mut mark: Value = serde_json::from_str(&mark.expect("it was compacted")).expect("JSON");
    let stored = mark["mark"]["record"].take();
    assert!(told(&stored).iter().any(|(_, told)| told.starts_with("failed after it: ")), "{stored}");
    assert_eq!(told(&stored), told(&record));
    let names: Vec<&Value> =
        record["events"].as_array().expect("a list").iter().map(|one| &one["event"]).collect();
    assert_eq!(names, ["compaction.triggered", "compaction.completed", "compaction.hook-failed"]);
}
