//! Where each agent keeps its sessions, and what its files tell of them.

use crate::home::{self, CLAUDE, CODEX, COPILOT, GEMINI, Home, PI, QWEN};
use serde_json::{Value, json};

/// A home with a session of each agent.
fn full_home() -> Home {
    let home = Home::new();
    let project = home.project();
    home.write(&home::claude_name(&project, CLAUDE), 0, &home::claude(&project, CLAUDE, 2));
    home.write(&home::codex_name(CODEX), 1, &home::codex(&project, CODEX, 1));
    home.write(&home::pi_name(&project, PI), 2, &home::pi(&project, PI, 2));
    home.write(&home::qwen_name(&project, QWEN), 3, &home::qwen(&project, QWEN, 1));
    home.write(".gemini/tmp/slug/chats/session-2026-01-31T09-30-55555555.jsonl", 4, &home::gemini(GEMINI));
    let root = project.to_string_lossy().into_owned();
    home.write_bytes(".gemini/tmp/slug/.project_root", 4, root.as_bytes());
    home.write(
        &format!(".copilot/session-state/{COPILOT}/events.jsonl"),
        5,
        &home::copilot(&project, COPILOT),
    );
    home::opencode(&home, 1_700_000_000_000);
    home
}

/// What is told of a session, but for its times, its place and what was asked first.
fn told(session: &Value) -> Value {
    let mut told = session.clone();
    let fields = told.as_object_mut().expect("a session is an object");
    for field in ["path", "modified", "bytes", "prompt", "project", "replies"] {
        fields.remove(field).expect("each session has it");
    }
    told
}

fn view(tokens: u64) -> Value {
    json!({"tokens": tokens, "is_estimate": false})
}

#[test]
fn the_sessions_of_every_agent_are_found_with_what_their_files_tell() {
    let home = full_home();
    let table = home.parsed(&["sessions", "--json"]);
    assert_eq!(table["found"], 7);
    let sessions = table["sessions"].as_array().expect("a table has sessions");
    let project = json!(home.project());
    for session in sessions {
        assert_eq!(session["project"], project, "{session}");
    }
    let window = |tokens: u64, source: &str| json!({"tokens": tokens, "source": source});
    let expected = [
        // Two calls of 1,000 fresh, 100,000 read from the cache, 9,000 written to it and 500 out.
        json!({"number": 1, "tool": "claude-code", "id": CLAUDE, "title": "the parser", "model": "claude-sonnet-4-5",
            "in_view": view(110_500), "window": window(200_000, "catalog"),
            "spent_dollars": 2.0 * (1_000.0 * 3.0 + 100_000.0 * 0.3 + 9_000.0 * 3.75 + 500.0 * 15.0) / 1e6, "compactions": 0}),
        json!({"number": 2, "tool": "codex", "id": CODEX, "title": null, "model": "gpt-5", "in_view": view(21_000),
            "window": window(258_400, "recorded"), "spent_dollars": (10_000.0 * 1.25 + 10_000.0 * 0.125 + 1_000.0 * 10.0) / 1e6,
            "compactions": 0}),
        json!({"number": 3, "tool": "pi", "id": PI, "title": null, "model": "gpt-5", "in_view": view(5_100),
            "window": window(400_000, "catalog"), "spent_dollars": 0.5, "compactions": 0}),
        json!({"number": 4, "tool": "qwen-code", "id": QWEN, "title": null, "model": "gpt-5", "in_view": view(30_200),
            "window": window(131_072, "recorded"), "spent_dollars": (30_000.0 * 1.25 + 200.0 * 10.0) / 1e6, "compactions": 0}),
        json!({"number": 5, "tool": "gemini-cli", "id": GEMINI, "title": null, "model": "gemini-2.5-pro", "in_view": view(7_050),
            "window": window(1_048_576, "catalog"), "spent_dollars": (7_000.0 * 1.25 + 50.0 * 10.0) / 1e6, "compactions": 0}),
        json!({"number": 6, "tool": "copilot-cli", "id": COPILOT, "title": null, "model": "claude-opus-4.5",
            "in_view": view(5_000), "window": window(128_000, "recorded"), "spent_dollars": null, "compactions": 1}),
        json!({"number": 7, "tool": "opencode", "id": "ses_one", "title": "a title", "model": "claude-sonnet-4-5",
            "in_view": view(1_000), "window": window(200_000, "catalog"), "spent_dollars": 0.5, "compactions": 0}),
    ];
    for (session, expected) in sessions.iter().zip(&expected) {
        assert_eq!(told(session), *expected);
    }
    assert_eq!(sessions.len(), expected.len());
}

#[test]
fn each_agents_own_variable_moves_where_it_is_looked_for() {
    for (variable, agent, id) in [
        ("CLAUDE_CONFIG_DIR", ".claude", CLAUDE),
        ("CODEX_HOME", ".codex", CODEX),
        ("PI_CODING_AGENT_DIR", ".pi/agent", PI),
        ("QWEN_HOME", ".qwen", QWEN),
        ("QWEN_RUNTIME_DIR", ".qwen", QWEN),
        ("COPILOT_HOME", ".copilot", COPILOT),
        ("XDG_DATA_HOME", ".local/share", "ses_one"),
    ] {
        let mut home = full_home();
        let (from, to) = (home.path().join(agent), home.path().join("moved"));
        std::fs::rename(from, &to).expect("it is there");
        assert!(!home.ids(&[]).contains(&id.to_owned()), "{variable}");
        home.set(variable, to);
        assert!(home.ids(&[]).contains(&id.to_owned()), "{variable}");
    }
}

#[test]
fn archived_and_packed_rollouts_are_found() {
    let home = Home::new();
    let lines: String =
        home::codex(&home.project(), CODEX, 1).iter().map(|line| format!("{line}\n")).collect();
    let packed = zstd::encode_all(lines.as_bytes(), 0).expect("it can be packed");
    let name = format!(".codex/archived_sessions/rollout-2026-01-31T09-30-00-{CODEX}.jsonl.zst");
    home.write_bytes(&name, 0, &packed);
    let table = home.parsed(&["sessions", "--json"]);
    let session = &table["sessions"][0];
    assert_eq!((&session["id"], &session["in_view"]), (&json!(CODEX), &view(21_000)));
    assert_eq!(home.parsed(&["inspect", CODEX, "--json"])["format"], "codex");
}

#[test]
fn sub_agents_and_files_in_which_nobody_said_a_word_are_no_sessions() {
    let home = Home::new();
    let project = home.project();
    let name = home::claude_name(&project, CLAUDE);
    home.write(&name, 0, &home::claude(&project, CLAUDE, 1));
    home.write(&name.replace(CLAUDE, "agent-1"), 1, &home::claude(&project, "agent", 1));
    let empty = json!({"type": "file-history-snapshot", "messageId": "x"});
    home.write(&name.replace(CLAUDE, "77777777-empty"), 2, &[empty]);
    assert_eq!(home.ids(&[]), [CLAUDE]);
    // Of files that were not read nobody knows.
    let found = |args: &[&str]| home.parsed(&[&["sessions", "--json"], args].concat())["found"].clone();
    assert_eq!((found(&["--all"]), found(&["--limit", "1"])), (json!(1), json!(2)));
    assert!(home.printed(&["sessions", "--all"]).contains("\n1 session; open one"));
}

#[test]
fn a_session_of_opencodes_database_is_opened_by_its_id() {
    let home = Home::new();
    home::opencode(&home, 1_700_000_000_000);
    let survey = home.parsed(&["inspect", "ses_one", "--json"]);
    assert_eq!((&survey["format"], &survey["conversation"]), (&json!("opencode"), &json!(0)));
    let path = home.path().join(".local/share/opencode/opencode.db/ses_none");
    let refused = home.refusal(&["inspect", path.to_str().expect("UTF-8")]);
    assert!(
        refused.ends_with(
            "no session `ses_none` with messages is in it; `epitome sessions --tool opencode` lists them"
        ),
        "{refused}"
    );
}

/// A fork of opencode 2 has copies of its parent's rows, as old as they are, and then its own.
#[test]
fn a_fork_of_opencode_2_has_its_parents_messages_and_spent_what_its_own_calls_cost() {
    let home = Home::new();
    let folder = home.path().join(".local/share/opencode");
    std::fs::create_dir_all(&folder).expect("there is room");
    let database = rusqlite::Connection::open(folder.join("opencode.db")).expect("it can be made");
    let tables = "CREATE TABLE session_v2 (id TEXT PRIMARY KEY, parent_id TEXT, fork_session_id TEXT, fork_boundary TEXT,
            directory TEXT, title TEXT, version TEXT, revert TEXT, time_created INTEGER, time_updated INTEGER);
        CREATE TABLE session_message (id TEXT PRIMARY KEY, session_id TEXT, type TEXT, seq INTEGER, time_created INTEGER,
            time_updated INTEGER, data TEXT);";
    database.execute_batch(tables).expect("the tables are new");
    let boundary = json!({"type": "through", "messageID": "ses_one-1"}).to_string();
    for (id, fork_of, at) in
        [("ses_one", None, 10), ("ses_fork", Some("ses_one"), 20), ("ses_new", Some("ses_one"), 30)]
    {
        let insert = "INSERT INTO session_v2 VALUES (?1, NULL, ?2, ?3, '/p', 't', '2.0.3', NULL, ?4, ?4)";
        database.execute(insert, (id, fork_of, fork_of.map(|_| &boundary), at)).expect("it is new");
    }
    let model = json!({"id": "claude-sonnet-4-5", "providerID": "anthropic"});
    let tokens = json!({"input": 1_000, "output": 100, "reasoning": 0, "cache": {"read": 0, "write": 0}});
    let said = |text: &str| ("user", json!({"text": text}));
    let reply = |text: &str| {
        let content = json!([{"type": "text", "text": text}]);
        ("assistant", json!({"model": model, "tokens": tokens, "content": content}))
    };
    let shared = [(said("where is main?"), 11), (reply("in src"), 12)];
    let rows = |more: &[((&'static str, Value), i64)]| [&shared[..], more].concat();
    let own = [(said("and lib?"), 21), (reply("beside it"), 22)];
    for (id, rows) in [("ses_one", rows(&[])), ("ses_fork", rows(&own)), ("ses_new", rows(&[]))] {
        for (seq, ((kind, data), time)) in rows.into_iter().enumerate() {
            let insert = "INSERT INTO session_message VALUES (?1, ?2, ?3, ?4, ?5, ?5, ?6)";
            let row = (format!("{id}-{seq}"), id, kind, seq as i64, time, data.to_string());
            database.execute(insert, row).expect("it is new");
        }
    }
    drop(database);
    let call = 1_000.0 * 3e-6 + 100.0 * 15e-6;
    let table = home.parsed(&["sessions", "--json"]);
    let spent = |id: &str| {
        let rows = table["sessions"].as_array().expect("a table has sessions");
        let row = rows.iter().find(|row| row["id"] == id).unwrap_or_else(|| panic!("{id} is in {table}"));
        row["spent_dollars"].as_f64().expect("the model has a price")
    };
    for (id, expected) in [("ses_one", call), ("ses_fork", call), ("ses_new", 0.0)] {
        assert!((spent(id) - expected).abs() < 1e-9, "{id}: {}", spent(id));
    }
    let survey = home.parsed(&["inspect", "ses_fork", "--json"]);
    assert_eq!((&survey["context"]["messages"], &survey["problems"]), (&json!(4), &json!([])));
}

#[test]
fn opencodes_older_tree_is_read_as_an_export() {
    let home = Home::new();
    let storage = ".local/share/opencode/storage";
    let project = home.project();
    let session = json!({"id": "ses_old", "projectID": "p", "directory": project, "title": "a title", "time": {"created": 1, "updated": 2}});
    home.write(&format!("{storage}/session/p/ses_old.json"), 0, &[session]);
    let sub = json!({"id": "ses_sub", "parentID": "ses_old", "directory": project, "title": "a task"});
    home.write(&format!("{storage}/session/p/ses_sub.json"), 0, &[sub]);
    let tokens = json!({"input": 900, "output": 50, "reasoning": 0, "cache": {"read": 50, "write": 0}});
    let reply = json!({"id": "msg_2", "sessionID": "ses_old", "role": "assistant", "modelID": "claude-sonnet-4-5", "tokens": tokens, "cost": 0.5});
    let asked = json!({"id": "msg_1", "sessionID": "ses_old", "role": "user"});
    for (id, info, text) in [("msg_1", asked, "where is main?"), ("msg_2", reply, "in src")] {
        home.write(&format!("{storage}/message/ses_old/{id}.json"), 0, &[info]);
        let part = json!({"id": format!("prt_{id}"), "messageID": id, "type": "text", "text": text});
        home.write(&format!("{storage}/part/{id}/prt_{id}.json"), 0, &[part]);
    }
    std::fs::create_dir_all(home.path().join(format!("{storage}/message/ses_sub"))).expect("there is room");
    let table = home.parsed(&["sessions", "--json"]);
    let expected = json!({"number": 1, "tool": "opencode", "id": "ses_old", "title": "a title", "model": "claude-sonnet-4-5",
        "in_view": view(1_000), "window": {"tokens": 200_000, "source": "catalog"}, "spent_dollars": 0.5, "compactions": 0});
    let sessions = table["sessions"].as_array().expect("a table has sessions");
    assert_eq!(sessions.iter().map(told).collect::<Vec<_>>(), [expected]);
    let body = home.parsed(&["context", "ses_old", "--to", "openai-chat"]);
    assert_eq!(
        (&body["messages"][0]["content"], &body["messages"][1]["content"]),
        (&json!("where is main?"), &json!("in src"))
    );
}

/// The only session of a home.
fn only(home: &Home) -> Value {
    let table = home.parsed(&["sessions", "--json"]);
    assert_eq!(table["found"], 1, "{table}");
    table["sessions"][0].clone()
}

#[test]
fn a_fork_of_codex_is_not_its_parent() {
    let home = Home::new();
    let project = home.project();
    let mut lines = home::codex(&project, CODEX, 1);
    let parent = home::codex(&home.path().join("elsewhere"), "22222222-aaaa-7bbb-8ccc-000000000009", 1);
    lines.insert(1, parent[0].clone());
    home.write(&home::codex_name(CODEX), 0, &lines);
    let session = only(&home);
    assert_eq!((&session["id"], &session["project"]), (&json!(CODEX), &json!(project)));
}

#[test]
fn every_call_of_codex_is_a_reply_and_a_count_said_again_is_none() {
    let home = Home::new();
    let mut lines = home::codex(&home.project(), CODEX, 2);
    lines.push(lines[4].clone());
    let total = &mut lines.last_mut().expect("there are some")["payload"]["info"]["total_token_usage"];
    total["output_tokens"] = json!(2_000);
    home.write(&home::codex_name(CODEX), 0, &lines);
    assert_eq!(only(&home)["replies"], 2);
}

#[test]
fn the_model_of_a_sub_agent_is_not_the_sessions() {
    let home = Home::new();
    let project = home.project();
    let mut lines = home::claude(&project, CLAUDE, 2);
    let last = lines.last_mut().expect("there are some");
    last["isSidechain"] = json!(true);
    last["message"]["model"] = json!("claude-haiku-4-5");
    home.write(&home::claude_name(&project, CLAUDE), 0, &lines);
    assert_eq!(only(&home)["model"], "claude-sonnet-4-5");
    let home = Home::new();
    let mut lines = home::qwen(&project, QWEN, 2);
    let last = lines.last_mut().expect("there are some");
    last["agentId"] = json!("explorer");
    last["model"] = json!("qwen3-coder-plus");
    home.write(&home::qwen_name(&project, QWEN), 0, &lines);
    assert_eq!(only(&home)["model"], "gpt-5");
}
