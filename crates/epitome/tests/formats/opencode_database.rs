//! opencode's database: read while it is in use, written never.

use crate::{context, parsed, printed, refusal, said, text};
use rusqlite::Connection;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The tables as opencode makes them, as far as we read them and a little further.
const TABLES: &str = "
    CREATE TABLE session (id TEXT PRIMARY KEY, project_id TEXT NOT NULL, parent_id TEXT, slug TEXT NOT NULL,
        directory TEXT NOT NULL, title TEXT NOT NULL, version TEXT NOT NULL, revert TEXT,
        time_created INTEGER NOT NULL, time_updated INTEGER NOT NULL, time_compacting INTEGER);
    CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, time_created INTEGER NOT NULL,
        time_updated INTEGER NOT NULL, data TEXT NOT NULL);
    CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT NOT NULL, session_id TEXT NOT NULL,
        time_created INTEGER NOT NULL, time_updated INTEGER NOT NULL, data TEXT NOT NULL);";

/// A database with one session and its subagent's, open as opencode has it.
fn database(path: &Path) -> Connection {
    let database = Connection::open(path).expect("it can be made");
    database.pragma_update(None, "journal_mode", "WAL").expect("SQLite has a log");
    database.execute_batch(TABLES).expect("the tables are new");
    for (id, parent, revert, at) in [
        ("ses_1", None, Some(r#"{"messageID":"msg_4"}"#), 1),
        ("ses_2", Some("ses_1"), None, 2),
        ("ses_3", None, None, 3),
    ] {
        let session = "INSERT INTO session VALUES (?1, 'p', ?2, 's', '/p', 't', '1.2.10', ?3, ?4, ?4, NULL)";
        database.execute(session, (id, parent, revert, at)).expect("it is new");
    }
    say(&database, "ses_1", "msg_1", json!({"role": "user"}), &[json!({"type": "text", "text": "read a"})]);
    let state = json!({"status": "completed", "input": {}, "output": "long text", "time": {"start": 1, "compacted": 3}});
    let tool = json!({"type": "tool", "tool": "read", "callID": "c1", "state": state});
    let reply = json!({"role": "assistant", "modelID": "claude-sonnet-4-5"});
    say(&database, "ses_1", "msg_2", reply, &[json!({"type": "step-start"}), tool]);
    say(&database, "ses_1", "msg_3", json!({"role": "user"}), &[json!({"type": "text", "text": "and b"})]);
    say(
        &database,
        "ses_1",
        "msg_4",
        json!({"role": "user"}),
        &[json!({"type": "text", "text": "taken back"})],
    );
    say(&database, "ses_2", "msg_5", json!({"role": "user"}), &[json!({"type": "text", "text": "the task"})]);
    database
}

fn say(database: &Connection, session: &str, id: &str, info: Value, parts: &[Value]) {
    let message = "INSERT INTO message VALUES (?1, ?2, 1, 1, ?3)";
    database.execute(message, (id, session, info.to_string())).expect("it is new");
    for (at, part) in parts.iter().enumerate() {
        let insert = "INSERT INTO part VALUES (?1, ?2, ?3, 1, 1, ?4)";
        database
            .execute(insert, (format!("prt_{id}_{at}"), id, session, part.to_string()))
            .expect("it is new");
    }
}

/// Every file of a folder, with its bytes.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries =
        std::fs::read_dir(folder).expect("it can be listed").map(|entry| entry.expect("it is there").path());
    entries.map(|path| (path.clone(), std::fs::read(path).expect("it can be read"))).collect()
}

const SHOWN: [(&str, &str); 4] = [
    ("user", "read a"),
    ("assistant", "null"),
    ("tool", "[Old tool result content cleared]"),
    ("user", "and b"),
];

#[test]
fn a_database_in_use_is_read_with_its_log_and_nothing_beside_it_changes() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let path = folder.path().join("opencode.db");
    let open = database(&path);
    let before = files(folder.path());
    assert!(before.keys().any(|file| text(file).ends_with("-wal")), "what was written is in the log");
    let surveys = parsed(&["inspect", text(&path), "--json"]);
    let surveys = surveys.as_array().expect("a session with messages is a conversation");
    let told: Vec<_> = surveys.iter().map(|one| (&one["format"], &one["context"]["messages"])).collect();
    assert_eq!(told, [(&json!("opencode"), &json!(4)), (&json!("opencode"), &json!(1))]);
    assert_eq!(said(&context(&path)), SHOWN);
    assert!(files(folder.path()) == before, "a reader changed something");
    drop(open);
}

#[test]
fn a_database_at_rest_is_read_in_place_and_compacts_into_its_exports() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    // What a name may hold and an address may not.
    let path = folder.path().join("open?code#100%.db");
    drop(database(&path));
    let before = files(folder.path());
    assert_eq!(before.len(), 1, "nothing is left in the log");
    assert_eq!(said(&context(&path)), SHOWN);
    let elsewhere = tempfile::tempdir().expect("a folder can be made");
    let [out, undone] = ["out", "undone"].map(|name| elsewhere.path().join(name));
    parsed(&["compact", text(&path), "--window", "20000", "--json", "-o", text(&out)]);
    printed(&["undo", text(&out), "-o", text(&undone)]);
    let exported = std::fs::read_to_string(&undone).expect("it was written");
    let sessions: Vec<Value> =
        exported.lines().map(|line| serde_json::from_str(line).expect("a line is an export")).collect();
    assert_eq!(sessions.len(), 2);
    assert_eq!(
        sessions[0]["info"],
        json!({"id": "ses_1", "directory": "/p", "title": "t", "version": "1.2.10", "revert": {"messageID": "msg_4"}})
    );
    assert_eq!(
        sessions[1]["messages"][0],
        json!({"info": {"id": "msg_5", "sessionID": "ses_2", "role": "user"}, "parts": [{"id": "prt_msg_5_0", "sessionID": "ses_2", "messageID": "msg_5", "type": "text", "text": "the task"}]})
    );
    assert!(files(folder.path()) == before, "a reader changed something");
}

#[test]
fn a_database_is_never_written_and_another_ones_is_refused() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let path = folder.path().join("opencode.db");
    drop(database(&path));
    let before = files(folder.path());
    for command in ["compact", "undo"] {
        let said = refusal(&[command, text(&path), "-o", text(&path)]);
        assert!(
            said.contains("it is a database, and a transcript would take its place; write elsewhere"),
            "{said}"
        );
    }
    assert!(files(folder.path()) == before, "it was written");
    let other = folder.path().join("other.db");
    Connection::open(&other)
        .and_then(|other| other.execute_batch("CREATE TABLE session (id TEXT)"))
        .expect("it is new");
    let said = refusal(&["inspect", text(&other)]);
    assert!(
        said.ends_with("it is a SQLite database without a table `message`, so none of opencode's that we know; name an export (`opencode export ID`)"),
        "{said}"
    );
}

#[test]
fn what_is_no_json_is_carried_or_said() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let path = folder.path().join("opencode.db");
    let open = database(&path);
    open.execute("UPDATE part SET data = 'torn {' WHERE message_id = 'msg_3'", []).expect("it is there");
    open.execute("UPDATE message SET data = '{\"role\"' WHERE id = 'msg_1'", []).expect("it is there");
    drop(open);
    let survey = &parsed(&["inspect", text(&path), "--json"])[0];
    let problems: Vec<&str> = survey["problems"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|told| told["what"].as_str())
        .collect();
    assert!(
        problems.iter().any(|what| what.contains("message 1: it has no `role`; it is left out")),
        "{problems:?}"
    );
    assert_eq!(survey["context"]["messages"], json!(3));
}

/// What opencode 2 keeps beside the tables of opencode 1, as far as we read it.
const SECOND_TABLES: &str = "
    CREATE TABLE session_v2 (id TEXT PRIMARY KEY, project_id TEXT NOT NULL, parent_id TEXT, fork_session_id TEXT,
        fork_boundary TEXT, slug TEXT NOT NULL, directory TEXT NOT NULL, title TEXT, version TEXT NOT NULL, revert TEXT,
        model TEXT, time_created INTEGER NOT NULL, time_updated INTEGER NOT NULL);
    CREATE TABLE session_message (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, type TEXT NOT NULL, seq INTEGER NOT NULL,
        time_created INTEGER NOT NULL, time_updated INTEGER NOT NULL, data TEXT NOT NULL);";

/// Adds the tables of opencode 2 with one session in them.
fn add_second(database: &Connection, session: &str, at: i64, rows: &[(&str, Value)]) {
    database.execute_batch(SECOND_TABLES).expect("the tables are new");
    let insert = "INSERT INTO session_v2 VALUES (?1, 'p', NULL, NULL, NULL, 's', '/p', 't', '2.0.3', NULL, NULL, ?2, ?2)";
    database.execute(insert, (session, at)).expect("it is new");
    // Written in another order than they were said: `seq` says which.
    for (seq, (kind, data)) in rows.iter().enumerate().rev() {
        let insert = "INSERT INTO session_message VALUES (?1, ?2, ?3, ?4, 1, 1, ?5)";
        let row = (format!("msg_{seq}"), session, kind, seq as i64, data.to_string());
        database.execute(insert, row).expect("it is new");
    }
}

/// A person, a call of a tool and its answer, a shell's word, and what the model says of it.
fn second_rows() -> Vec<(&'static str, Value)> {
    let model = json!({"id": "claude-sonnet-4-5", "providerID": "anthropic"});
    let tokens = json!({"input": 10, "output": 2, "reasoning": 0, "cache": {"read": 90, "write": 0}});
    let state = json!({"status": "completed", "input": {"path": "a"}, "structured": {}, "content": [{"type": "text", "text": "fn a"}]});
    let failed = json!({"status": "error", "input": {}, "structured": {}, "content": [], "error": {"message": "no such file"}});
    vec![
        ("model-switched", json!({"model": model})),
        (
            "user",
            json!({"text": "read a", "files": [{"mime": "text/plain", "name": "b.txt", "data": "Zm4gYg=="}]}),
        ),
        ("system", json!({"text": "the folder has changed"})),
        (
            "assistant",
            json!({"agent": "build", "model": model, "tokens": tokens, "finish": "tool-calls", "content": [
                {"type": "reasoning", "text": "hm"},
                {"type": "text", "text": "reading"},
                {"type": "tool", "id": "c1", "name": "read", "state": state},
                {"type": "tool", "id": "c2", "name": "read", "state": failed},
            ]}),
        ),
        ("shell", json!({"command": "ls", "output": {"output": "a b"}})),
        (
            "assistant",
            json!({"agent": "build", "model": model, "content": [{"type": "text", "text": "so it is"}]}),
        ),
    ]
}

#[test]
fn the_rows_of_opencode_2_are_told_as_they_are_sent() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let path = folder.path().join("opencode.db");
    let open = Connection::open(&path).expect("it can be made");
    add_second(&open, "ses_9", 9, &second_rows());
    drop(open);
    let survey = parsed(&["inspect", text(&path), "--json"]);
    assert_eq!((&survey["format"], &survey["problems"]), (&json!("opencode"), &json!([])));
    let expected = [
        ("user", "read a\n\nAttached file: b.txt\n\nfn b\n\nthe folder has changed"),
        ("assistant", "reading"),
        ("tool", "fn a"),
        ("tool", "no such file"),
        ("user", "Shell command: ls\n\na b"),
        ("assistant", "so it is"),
        ("user", "[no user message was recorded here]"),
    ];
    assert_eq!(said(&context(&path)), expected);
}

#[test]
fn a_compaction_of_opencode_2_stands_for_all_before_it() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let path = folder.path().join("opencode.db");
    let open = Connection::open(&path).expect("it can be made");
    let mut rows = second_rows();
    let compacted =
        json!({"status": "completed", "reason": "auto", "summary": "a was read", "recent": "[User]: read a"});
    rows.push(("compaction", json!({"status": "failed", "reason": "auto", "summary": "", "recent": ""})));
    rows.push(("compaction", compacted));
    rows.push(("user", json!({"text": "and b"})));
    add_second(&open, "ses_9", 9, &rows);
    drop(open);
    let shown = context(&path);
    let told = "a was read\n\n<recent-context>\n[User]: read a\n</recent-context>\n\nand b";
    assert_eq!(said(&shown), [("user", told)]);
}

#[test]
fn a_session_in_both_layouts_is_the_newer_ones() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let path = folder.path().join("opencode.db");
    let open = database(&path);
    add_second(&open, "ses_1", 1, &[("user", json!({"text": "in the new tables"}))]);
    drop(open);
    let surveys = parsed(&["inspect", text(&path), "--json"]);
    let surveys = surveys.as_array().expect("a list").iter();
    let counts: Vec<&Value> = surveys.map(|one| &one["context"]["messages"]).collect();
    assert_eq!(counts, [&json!(1), &json!(1)], "ses_1 anew, and ses_2 as it was");
}
