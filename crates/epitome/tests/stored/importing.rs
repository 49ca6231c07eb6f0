//! Transcripts into the store and out of it again: every byte comes back, and the model sees the same.

use crate::desk::{CLAUDE_CODE, Desk, PI, corpus, talk};
use serde_json::json;

/// One of each kind: lines, a document, several conversations in one, what only its reader understands.
const CORPUS: [&str; 7] = [
    PI,
    CLAUDE_CODE,
    "codex/session-bridge-64b5e5.jsonl.zst",
    "copilot-cli/agentv-d88be7.jsonl.zst",
    "gemini-cli/session-bridge-e94f17.json.zst",
    "opencode/session-bridge-13dddd.json.zst",
    "mini-swe-agent/django-13265.traj.json.zst",
];

#[test]
fn a_transcript_comes_back_byte_for_byte_and_the_model_sees_the_same() {
    for desk in Desk::of_each_kind() {
        for name in CORPUS {
            let bytes = corpus(name);
            let session = desk.import("session", &bytes);
            desk.printed(&["export", &session, "-o", "back"]);
            assert!(desk.bytes("back") == bytes, "{name} came back otherwise");
            let of_file = desk.printed(&["context", "session", "--to", "anthropic", "--max-tokens", "1000"]);
            assert!(desk.context(&session) == of_file, "{name} is seen otherwise");
        }
        assert_eq!(desk.json(&["doctor", "--json"])["problems"], json!([]));
    }
}

#[test]
fn an_import_says_what_is_in_the_store_now() {
    for desk in Desk::of_each_kind() {
        desk.put("talk.json", talk(3));
        let line = desk.json(&["import", "talk.json", "--json"]);
        let title = format!("point 0 of the plan: {}", "something that matters a little ".repeat(60));
        let title = format!("{}…", title.chars().take(119).collect::<String>().trim_end());
        let expected = json!({
            "session": "s0001", "outcome": "imported", "file": "talk.json", "conversation": 0,
            "format": "openai-chat", "entries": 7, "messages": 7, "bytes": talk(3).len(),
            "title": title, "model": "gpt-5", "problems": 0
        });
        assert_eq!(line, expected);
    }
}

#[test]
fn the_same_file_is_known_again() {
    for desk in Desk::of_each_kind() {
        let session = desk.import("one.json", talk(3));
        desk.put("other-name.json", talk(3));
        let known = desk.json(&["import", "other-name.json", "--json"]);
        assert_eq!((&known["session"], &known["outcome"]), (&json!(session), &json!("known")));
        let told = desk.printed(&["import", "one.json"]);
        assert_eq!(
            told,
            "s0001: one.json was imported already, and is as it was; --again imports it as another session\n"
        );
        let again = desk.json(&["import", "one.json", "--again", "--json"]);
        assert_eq!((&again["session"], &again["outcome"]), (&json!("s0002"), &json!("imported")));
    }
}

#[test]
fn each_conversation_of_a_file_is_a_session_and_the_file_is_kept_once() {
    for desk in Desk::of_each_kind() {
        let file = format!("[{},{}]", talk(2), talk(3));
        desk.put("both.json", &file);
        let lines = desk.json(&["import", "both.json", "--json"]);
        let sessions: Vec<_> =
            lines.as_array().expect("a list").iter().map(|line| line["session"].clone()).collect();
        assert_eq!(sessions, [json!("s0001"), json!("s0002")]);
        for session in ["s0001", "s0002"] {
            desk.printed(&["export", session, "-o", "back"]);
            assert_eq!(desk.bytes("back"), file.as_bytes());
        }
        let second = desk.printed(&["context", "both.json", "--conversation", "1", "--to", "openai-chat"]);
        assert_eq!(desk.printed(&["context", "--session", "s0002", "--to", "openai-chat"]), second);
        // What keeps the file goes; the other has it then.
        desk.printed(&["rollback", "s0002", "m0003"]);
        desk.printed(&["rollback", "s0002", "m0006"]);
        let sizes = desk.json(&["expire", "--larger-than", "1B", "--dry-run", "--json"]);
        let rest = sizes["sessions"][1]["bytes"].as_u64().expect("a size");
        let gone = desk.json(&["expire", "--larger-than", &format!("{rest}B"), "--yes", "--json"]);
        assert_eq!(gone["sessions"][0]["session"], "s0001", "{gone}");
        desk.printed(&["export", "s0002", "-o", "back"]);
        assert_eq!(desk.bytes("back"), file.as_bytes());
    }
}

/// Of a file alone: a database is there before anybody looks.
#[test]
fn who_only_looks_makes_no_store() {
    let desk = Desk::new();
    let looks: [&[&str]; 6] = [
        &["history", "s0001"],
        &["tree", "s0001"],
        &["export", "s0001", "-o", "out"],
        &["search", "word"],
        &["audit"],
        &["context", "--session", "s0001"],
    ];
    let place = desk.store().display().to_string();
    for args in looks {
        assert_eq!(
            desk.refusal(args),
            format!(
                "epitome: there is no store at sqlite:{place} yet; `epitome import FILE` or `epitome serve` makes one, and --store names another\n"
            )
        );
    }
    assert_eq!(desk.json(&["doctor", "--json"])["exists"], json!(false));
    assert_eq!(
        desk.json(&["sessions", "--json"])["stored"],
        json!({"store": null, "found": 0, "sessions": []})
    );
    assert!(!desk.store().exists());
    assert!(
        desk.refusal(&["history", "s0001", "--store", "mine.db"]).contains("no store at sqlite:mine.db yet")
    );
}

#[test]
fn a_session_that_is_not_there_is_named() {
    for desk in Desk::of_each_kind() {
        desk.import("talk.json", talk(2));
        let place = desk.address();
        assert_eq!(
            desk.refusal(&["history", "s0009"]),
            format!(
                "epitome: there is no session s0009 in {place}; `epitome sessions` lists those there are\n"
            )
        );
    }
}

#[test]
fn what_was_imported_has_the_times_of_its_file_and_is_found_by_them() {
    for desk in Desk::of_each_kind() {
        let said = |at: usize, kind: &str, time: &str| {
            let parent = at.checked_sub(1).map(|before| format!("u{before}"));
            let text = json!([{"type": "text", "text": format!("the parser, word {at}")}]);
            let usage = json!({"input_tokens": 1_000, "output_tokens": 10});
            let message = json!({"id": format!("msg_{at}"), "role": kind, "model": "claude-sonnet-4-5", "content": text, "usage": usage});
            json!({"type": kind, "uuid": format!("u{at}"), "parentUuid": parent, "sessionId": "s", "timestamp": time, "message": message})
        };
        let lines = [
            said(0, "user", "2026-01-31T09:29:00.000Z"),
            said(1, "assistant", "2026-01-31T09:30:00.000Z"),
            said(2, "user", "2026-02-03T08:00:00.000Z"),
            said(3, "assistant", "2026-02-03T08:00:10.000Z"),
        ];
        let file: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let session = desk.import("s.jsonl", file);
        let (first, second) = (1_769_851_800_000_u64, 1_770_105_610_000_u64);
        let times = |rows: &serde_json::Value| -> Vec<serde_json::Value> {
            rows["entries"].as_array().expect("a list").iter().map(|row| row["time_ms"].clone()).collect()
        };
        let history = desk.json(&["history", &session, "--json"]);
        assert_eq!(times(&history), [json!(null), json!(first), json!(null), json!(second)]);
        let found = |args: &[&str]| -> Vec<serde_json::Value> {
            let hits = desk.json(&[&["search", "parser", "--json"], args].concat());
            let mut ids: Vec<_> =
                hits["hits"].as_array().expect("a list").iter().map(|hit| hit["entry"].clone()).collect();
            ids.sort_by_key(ToString::to_string);
            ids
        };
        assert_eq!(
            found(&["--since", "2026-02-01"]),
            ["m0003"],
            "what is said has the time of the reply before it"
        );
        assert_eq!(found(&["--since", "2026-01-31"]), ["m0000", "m0001", "m0002", "m0003"]);
        assert_eq!(found(&["--since", "2026-02-04"]), [json!(null); 0]);
    }
}

#[test]
fn replies_of_copilot_cli_have_the_times_of_their_events() {
    let desk = Desk::new();
    let event = |kind: &str, time: &str, data: serde_json::Value| json!({"type": kind, "data": data, "id": time, "timestamp": time});
    let lines = [
        event(
            "session.start",
            "2026-01-31T09:28:00.000Z",
            json!({"sessionId": "s", "selectedModel": "gpt-5"}),
        ),
        event("user.message", "2026-01-31T09:29:00.000Z", json!({"content": "where is the parser?"})),
        event("assistant.message", "2026-01-31T09:30:00.000Z", json!({"content": "in parser.rs"})),
    ];
    let file: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let session = desk.import("events.jsonl", file);
    let history = desk.json(&["history", &session, "--json"]);
    let rows = history["entries"].as_array().expect("a list").iter();
    let told: Vec<_> = rows.map(|row| json!([row["kind"], row["time_ms"]])).collect();
    assert_eq!(told, [json!(["user", null]), json!(["reply", 1_769_851_800_000_u64])]);
}
