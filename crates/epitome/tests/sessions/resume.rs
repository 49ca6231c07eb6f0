//! `compact --resume`: the copy's shape for each tool, and what is refused.

use crate::home::{self, CLAUDE, CODEX, COPILOT, GEMINI, Home, PI, QWEN, TURNS};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A window in which the sessions are too long.
const TIGHT: [&str; 4] = ["--window", "16000", "--target", "2000"];

/// Compacts a session for its tool; what was written.
fn resumed(home: &Home, name: &str, more: &[&str]) -> Value {
    let record = home.parsed(&[&["compact", name, "--resume", "--json"], &TIGHT[..], more].concat());
    assert_eq!(record["outcome"], "compacted", "{record}");
    record["written"].clone()
}

fn path_of(written: &Value) -> PathBuf {
    written["path"].as_str().expect("it was written somewhere").into()
}

fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).expect("it is there");
    text.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect()
}

/// Every file below a folder.
fn files(folder: &Path) -> BTreeSet<PathBuf> {
    let entries =
        std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok).map(|entry| entry.path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { BTreeSet::from([path]) }).collect()
}

/// Without its compaction the copy is the original under another id, byte for byte.
fn check_copy(home: &Home, original: &Path, written: &Value, old_id: &str) {
    let (path, id) = (path_of(written), written["id"].as_str().expect("it has an id"));
    assert_ne!(path, original);
    assert_eq!((id.len(), &id[14..15]), (36, "4"), "{id}");
    let back = home.path().join("back.jsonl");
    home.printed(&["undo", path.to_str().expect("UTF-8"), "-o", back.to_str().expect("UTF-8")]);
    let [back, original] = [&*back, original].map(|path| std::fs::read_to_string(path).expect("it is there"));
    // The ids of the records begin with the session's in these files, and stay.
    let marked = original.replace(&format!("\"{old_id}\""), &format!("\"{id}\""));
    assert!(back == marked, "the copy is another session");
}

#[test]
fn claude_codes_copy_is_beside_the_session_under_a_new_id_in_every_record() {
    let home = Home::new();
    let project = home.project();
    let original =
        home.write(&home::claude_name(&project, CLAUDE), 0, &home::claude(&project, CLAUDE, TURNS));
    let before = std::fs::read(&original).expect("it is there");
    let written = resumed(&home, CLAUDE, &[]);
    let (path, id) = (path_of(&written), written["id"].as_str().expect("it has an id"));
    assert_eq!(path, original.with_file_name(format!("{id}.jsonl")));
    assert_eq!(written["command"], format!("cd {} && claude --resume {id}", project.display()));
    let lines = lines(&path);
    assert!(lines.iter().all(|line| line["sessionId"] == id));
    assert_eq!(lines[lines.len() - 2]["subtype"], "compact_boundary");
    assert_eq!(lines[lines.len() - 1]["isCompactSummary"], true);
    assert!(std::fs::read(&original).expect("it is there") == before, "the session itself was changed");
    check_copy(&home, &original, &written, CLAUDE);
}

#[test]
fn a_session_from_elsewhere_goes_to_the_folder_its_tool_would_look_in() {
    let mut home = Home::new();
    let project = home.project();
    home.set("CLAUDE_CONFIG_DIR", home.path().join("config"));
    home.write("a copy.jsonl", 0, &home::claude(&project, CLAUDE, TURNS));
    let copy = home.path().join("a copy.jsonl");
    let written = resumed(&home, copy.to_str().expect("UTF-8"), &[]);
    let name = home::claude_name(&project, written["id"].as_str().expect("it has an id"));
    assert_eq!(path_of(&written), home.path().join(name.replace(".claude", "config")));
    // Another folder, by name.
    let other = home.path().join("other place");
    std::fs::create_dir(&other).expect("it is new");
    let written =
        resumed(&home, copy.to_str().expect("UTF-8"), &["--project", other.to_str().expect("UTF-8")]);
    let id = written["id"].as_str().expect("it has an id");
    assert_eq!(
        path_of(&written),
        home.path().join(home::claude_name(&other, id).replace(".claude", "config"))
    );
    assert_eq!(written["command"], format!("cd '{}' && claude --resume {id}", other.display()));
}

#[test]
fn codexs_copy_has_its_id_in_its_name_and_in_its_first_line() {
    let home = Home::new();
    let original = home.write(&home::codex_name(CODEX), 0, &home::codex(&home.project(), CODEX, TURNS));
    let written = resumed(&home, CODEX, &[]);
    let (path, id) = (path_of(&written), written["id"].as_str().expect("it has an id"));
    let below = path.strip_prefix(home.path().join(".codex/sessions")).expect("it is among the sessions");
    let parts: Vec<&str> = below.iter().map(|part| part.to_str().expect("UTF-8")).collect();
    let [year, month, day, name] = parts[..] else { panic!("{parts:?}") };
    let begin = format!("rollout-{year}-{month}-{day}T");
    assert!(name.starts_with(&begin) && name.ends_with(&format!("-{id}.jsonl")), "{name}");
    let lines = lines(&path);
    assert_eq!(
        (&lines[0]["payload"]["id"], &lines[0]["payload"]["session_id"]),
        (&written["id"], &written["id"])
    );
    let last = &lines[lines.len() - 1];
    assert_eq!((&last["type"], last["timestamp"].is_string()), (&"compacted".into(), true));
    assert_eq!(written["command"], format!("cd {} && codex resume {id}", home.project().display()));
    check_copy(&home, &original, &written, CODEX);
}

#[test]
fn pis_copy_has_its_id_in_its_header_and_is_opened_by_its_path() {
    let home = Home::new();
    let project = home.project();
    let original = home.write(&home::pi_name(&project, PI), 0, &home::pi(&project, PI, TURNS));
    let written = resumed(&home, PI, &[]);
    let (path, id) = (path_of(&written), written["id"].as_str().expect("it has an id"));
    assert_eq!(path.parent(), original.parent());
    assert!(path.to_str().expect("UTF-8").ends_with(&format!("Z_{id}.jsonl")));
    let lines = lines(&path);
    assert_eq!((&lines[0]["type"], &lines[0]["id"]), (&"session".into(), &written["id"]));
    assert_eq!(lines[lines.len() - 1]["type"], "compaction");
    assert_eq!(written["command"], format!("cd {} && pi --session {}", project.display(), path.display()));
    check_copy(&home, &original, &written, PI);
}

#[test]
fn qwen_codes_copy_ends_in_a_compression_with_the_new_history_in_full() {
    let home = Home::new();
    let project = home.project();
    let original = home.write(&home::qwen_name(&project, QWEN), 0, &home::qwen(&project, QWEN, TURNS));
    let written = resumed(&home, QWEN, &[]);
    let (path, id) = (path_of(&written), written["id"].as_str().expect("it has an id"));
    assert_eq!(path, original.with_file_name(format!("{id}.jsonl")));
    assert_eq!(written["command"], format!("cd {} && qwen --resume {id}", project.display()));
    let lines = lines(&path);
    assert!(lines.iter().all(|line| line["sessionId"] == id));
    let (last, parent) = (&lines[lines.len() - 1], &lines[lines.len() - 2]);
    assert_eq!((&last["type"], &last["subtype"]), (&"system".into(), &"chat_compression".into()));
    assert_eq!(last["parentUuid"], parent["uuid"]);
    let history = last["systemPayload"]["compressedHistory"].as_array().expect("a history is a list");
    let texts: Vec<&str> =
        history.iter().filter_map(|content| content["parts"][0]["text"].as_str()).collect();
    let at = texts.iter().position(|text| text.starts_with("<state_snapshot>\n<epitome-summary"));
    assert!(at.is_some_and(|at| at < 2), "{texts:?}");
    let survey = home.parsed(&["inspect", path.to_str().expect("UTF-8"), "--json"]);
    assert_eq!(
        (&survey["problems"], survey["compactions"].as_array().map(Vec::len)),
        (&Value::Array(Vec::new()), Some(1))
    );
    check_copy(&home, &original, &written, QWEN);
}

#[test]
fn a_last_line_that_is_being_written_is_left_out_of_the_copy() {
    let home = Home::new();
    let project = home.project();
    let lines: String = home::pi(&project, PI, TURNS).iter().map(|line| format!("{line}\n")).collect();
    home.write_bytes(&home::pi_name(&project, PI), 0, format!("{lines}{{\"type\":\"mess").as_bytes());
    let written = resumed(&home, PI, &[]);
    let survey = home.parsed(&["inspect", path_of(&written).to_str().expect("UTF-8"), "--json"]);
    assert_eq!(survey["problems"], Value::Array(Vec::new()));
}

#[test]
fn tools_that_take_nothing_from_others_are_told_with_what_works() {
    let home = Home::new();
    home.write(".gemini/tmp/slug/chats/session-2026-01-31T09-30-55555555.jsonl", 0, &home::gemini(GEMINI));
    home.write(
        &format!(".copilot/session-state/{COPILOT}/events.jsonl"),
        1,
        &home::copilot(&home.project(), COPILOT),
    );
    home::opencode(&home, 1_700_000_000_000);
    home.printed(&["sessions"]);
    let before = files(&home.path());
    for (id, why) in [
        (
            GEMINI,
            "Gemini CLI's sessions have no record for a summary that stands for what was said. Nothing was written. ",
        ),
        (
            COPILOT,
            "Copilot CLI keeps a session in several files, and a compaction in checkpoints that only it writes. Nothing was written. ",
        ),
        (
            "ses_one",
            "opencode keeps its sessions in a database that only it may write. Nothing was written. ",
        ),
    ] {
        let refused = home.refusal(&["compact", id, "--resume"]);
        let said = refused.lines().last().expect("something is said").trim_start_matches("epitome: ");
        assert!(said.starts_with(why), "{refused}");
        assert!(said.contains("jq -r .summary") && said.contains("epitome serve"), "{refused}");
    }
    assert_eq!(files(&home.path()), before);
}

#[test]
fn a_session_whose_folder_is_gone_is_refused_and_nothing_written() {
    let home = Home::new();
    let gone = home.path().join("gone");
    let session = home.write(&home::claude_name(&gone, CLAUDE), 0, &home::claude(&gone, CLAUDE, TURNS));
    let before = files(&home.path());
    let refused = home.refusal(&[&["compact", CLAUDE, "--resume"], &TIGHT[..]].concat());
    let expected = format!(
        "the folder it was held in, {}, is gone, and claude-code is resumed where it was begun; name another: epitome compact {} --resume --project FOLDER",
        gone.display(),
        session.display()
    );
    assert!(refused.ends_with(&expected), "{refused}");
    assert_eq!(files(&home.path()), before);
}

#[test]
fn nothing_to_compact_writes_nothing() {
    let home = Home::new();
    let project = home.project();
    home.write(&home::claude_name(&project, CLAUDE), 0, &home::claude(&project, CLAUDE, 1));
    let before = files(&home.path());
    let record = home.parsed(&["compact", CLAUDE, "--resume", "--json"]);
    assert_eq!(
        (&record["outcome"], &record["written"], &record["output"]),
        (&"noop".into(), &Value::Null, &Value::Null)
    );
    assert_eq!(files(&home.path()), before);
}

#[test]
fn what_was_written_is_told_and_the_command_printed() {
    let home = Home::new();
    let project = home.project();
    home.write(&home::claude_name(&project, CLAUDE), 0, &home::claude(&project, CLAUDE, TURNS));
    let output = home.run(&[&["compact", CLAUDE, "--resume"], &TIGHT[..]].concat());
    let [printed, told] =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).expect("UTF-8"));
    assert!(printed.starts_with(&format!("cd {} && claude --resume ", project.display())), "{printed}");
    assert_eq!(printed.lines().count(), 1);
    let wrote = told.lines().find(|line| line.starts_with("wrote ")).expect("it says what it wrote");
    assert!(
        wrote.contains("(claude-code): file ")
            && wrote.contains("(originals stay inside, so that undo works), context "),
        "{wrote}"
    );
    let small = home.path().join("small.jsonl");
    let output = home.run(&[&["compact", CLAUDE, "-o", small.to_str().expect("UTF-8")], &TIGHT[..]].concat());
    let told = String::from_utf8(output.stderr).expect("UTF-8");
    let hint = "claude-code does not look there; `epitome compact ";
    assert!(
        told.lines()
            .last()
            .is_some_and(|line| line.trim_start().starts_with(hint)
                && line.ends_with("--resume` writes where it does")),
        "{told}"
    );
}

#[cfg(unix)]
#[test]
fn a_copy_is_for_the_same_eyes_and_its_tool_can_go_on_with_it() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = Home::new();
    let project = home.project();
    let original =
        home.write(&home::claude_name(&project, CLAUDE), 0, &home::claude(&project, CLAUDE, TURNS));
    for (mode, expected) in [(0o600, 0o600), (0o440, 0o640)] {
        std::fs::set_permissions(&original, std::fs::Permissions::from_mode(mode)).expect("it is ours");
        let copy = path_of(&resumed(&home, CLAUDE, &[]));
        let mode = std::fs::metadata(&copy).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, expected);
        std::fs::remove_file(copy).expect("it is there");
    }
}

/// The row of a session in the table of all.
fn row(home: &Home, id: &str) -> Value {
    let table = home.parsed(&["sessions", "--json", "--all"]);
    let rows = table["sessions"].as_array().expect("a table has sessions");
    rows.iter().find(|row| row["id"] == id).unwrap_or_else(|| panic!("{id} is in {table}")).clone()
}

fn append(path: &Path, line: &Value) {
    use std::io::Write as _;
    let mut file = std::fs::File::options().append(true).open(path).expect("it is there");
    writeln!(file, "{line}").expect("there is room");
}

#[test]
fn what_was_spent_before_a_copy_was_made_is_not_spent_by_it() {
    let home = Home::new();
    let project = home.project();
    let sessions = [
        (CLAUDE, home::claude_name(&project, CLAUDE), home::claude(&project, CLAUDE, TURNS)),
        (CODEX, home::codex_name(CODEX), home::codex(&project, CODEX, TURNS)),
        (PI, home::pi_name(&project, PI), home::pi(&project, PI, TURNS)),
        (QWEN, home::qwen_name(&project, QWEN), home::qwen(&project, QWEN, TURNS)),
    ];
    for (id, name, lines) in sessions {
        let original = home.write(&name, 0, &lines);
        let written = resumed(&home, original.to_str().expect("UTF-8"), &[]);
        let copy = written["id"].as_str().expect("it has an id");
        let spent = row(&home, id)["spent_dollars"].as_f64().expect("its model has a price");
        assert!(spent > 0.0, "{id}");
        assert_eq!(row(&home, copy)["spent_dollars"], 0.0, "{id}");
        assert_eq!(calls_told(&home, &path_of(&written)), [0, 0], "{id}");
        assert_ne!(calls_told(&home, &original), [0, 0], "{id}");
        // The tool goes on with it: one more call, as its last one was.
        let mut call = lines.last().expect("a reply is the last").clone();
        for (field, value) in [("uuid", "new"), ("id", "0000beef")] {
            if call.get(field).is_some() {
                call[field] = value.into();
            }
        }
        if call["message"]["id"].is_string() {
            call["message"]["id"] = "msg_new".into();
        }
        let calls = if id == CODEX { doubled(&mut call) } else { TURNS as f64 };
        append(&path_of(&written), &call);
        let gone_on = row(&home, copy)["spent_dollars"].as_f64().expect("its model has a price");
        assert!((gone_on - spent / calls).abs() < 1e-9, "{id}: {gone_on} of {spent}");
        let told = if id == CODEX { [0, 0] } else { [1, 1] };
        assert_eq!(calls_told(&home, &path_of(&written)), told, "{id}");
    }
}

/// How many calls `inspect` tells the cost of, and `cost` once the file is in the store.
fn calls_told(home: &Home, path: &Path) -> [u64; 2] {
    let path = path.to_str().expect("UTF-8");
    let survey = home.parsed(&["inspect", path, "--json"]);
    let session = home.parsed(&["import", path, "--json"])["session"].clone();
    let cost = home.parsed(&["cost", "--session", session.as_str().expect("it has a name"), "--json"]);
    [&survey["cost"]["total"]["calls"], &cost["total"]["primary"]["calls"]]
        .map(|calls| calls.as_u64().unwrap_or(99))
}

/// Codex keeps a sum, which goes on: with the new call it is twice what it was. Gives how many calls it was of.
fn doubled(count: &mut Value) -> f64 {
    let info = &mut count["payload"]["info"];
    let last = info["last_token_usage"].as_object().expect("a count has figures").clone();
    let twice = last.into_iter().map(|(name, tokens)| (name, (2 * tokens.as_u64().unwrap_or(0)).into()));
    info["total_token_usage"] = Value::Object(twice.collect());
    1.0
}

#[test]
fn a_copy_for_another_folder_is_found_there_also_when_its_tool_has_gone_on_for_long() {
    // As long as what is read of a file's beginning, so that the compaction stands in its middle.
    const LONG: usize = 5 * TURNS;
    let home = Home::new();
    let (project, other) = (home.project(), home.path().join("other place"));
    std::fs::create_dir(&other).expect("it is new");
    let folder = other.to_str().expect("UTF-8");
    let sessions = [
        (home::claude_name(&project, CLAUDE), home::claude(&project, CLAUDE, LONG)),
        (home::codex_name(CODEX), home::codex(&project, CODEX, LONG)),
        (home::pi_name(&project, PI), home::pi(&project, PI, LONG)),
        (home::qwen_name(&project, QWEN), home::qwen(&project, QWEN, LONG)),
    ];
    let mut copies = BTreeSet::new();
    for (name, lines) in sessions {
        let original = home.write(&name, 0, &lines);
        let written = resumed(&home, original.to_str().expect("UTF-8"), &["--project", folder]);
        copies.insert(written["id"].as_str().expect("it has an id").to_owned());
        let mut call = lines.last().expect("a reply is the last").clone();
        if call["cwd"].is_string() {
            (call["cwd"], call["more"]) = (folder.into(), "x".repeat(4_000).into());
            // A figure that was not told before, so that no more is read of the file's end.
            for place in ["/message/usage/input_tokens", "/usageMetadata/promptTokenCount"] {
                call.pointer_mut(place).into_iter().for_each(|tokens| *tokens = 2_000.into());
            }
            (0..60).for_each(|_| append(&path_of(&written), &call));
        }
    }
    let here: BTreeSet<String> = home.ids(&[folder]).into_iter().collect();
    assert_eq!((here.clone(), copies.len()), (copies, 4));
    for id in here {
        assert_eq!(row(&home, &id)["project"], folder, "{id}");
    }
}
