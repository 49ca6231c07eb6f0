//! Session files that are odd or damaged, through the program: what the model is shown of them, what is told,
//! and what is written.

use epitome_core::ZeroMeasure;
use epitome_wire::Format;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A session file in a folder of its own.
struct Session(TempDir);

impl Session {
    fn with(lines: &[String]) -> Self {
        let session = Self(TempDir::new().expect("there is room for a folder"));
        std::fs::write(session.path("s.jsonl"), lines.join("\n") + "\n").expect("files can be written");
        session
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        Path::new(self.0.path()).join(name)
    }

    fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).expect("the file is there")
    }

    /// What a command prints, and what it says beside it.
    fn run(&self, args: &[&str]) -> (Value, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_epitome"));
        command.current_dir(self.0.path()).env_remove("EPITOME_MODEL").env("NO_COLOR", "1").args(args);
        let ran = command.output().expect("the program runs");
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert!(ran.status.success(), "{args:?}: {said}");
        (serde_json::from_slice(&ran.stdout).unwrap_or_default(), said)
    }
}

fn claude(kind: &str, uuid: &str, parent: &str, content: &Value) -> String {
    let parent = Some(parent).filter(|parent| !parent.is_empty());
    json!({
        "type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": "s", "isSidechain": false,
        "message": { "id": uuid, "role": kind, "model": "claude-sonnet-4-5", "content": content },
    })
    .to_string()
}

/// A session whose tool result ends in half an emoji and a part of a shape that a strict reader refuses.
fn half_an_emoji() -> Vec<String> {
    let found =
        json!({ "type": "search_result", "source": "https://example.org", "title": "T", "content": [] });
    let parts = json!([{ "type": "text", "text": "out HALF" }, found]);
    vec![
        claude("user", "u1", "", &json!("go")),
        claude(
            "assistant",
            "a1",
            "u1",
            &json!([{ "type": "tool_use", "id": "c1", "name": "Bash", "input": {} }]),
        ),
        claude(
            "user",
            "r1",
            "a1",
            &json!([{ "type": "tool_result", "tool_use_id": "c1", "content": parts }]),
        )
        .replace("HALF", r"\ud83d"),
        claude("assistant", "a2", "r1", &json!([{ "type": "text", "text": "done" }])),
    ]
}

#[test]
fn a_result_with_half_an_emoji_and_an_unknown_part_is_in_the_context_and_told() {
    let session = Session::with(&half_an_emoji());
    let (body, said) = session.run(&["context", "s.jsonl"]);
    let result = &body["messages"][2]["content"][0];
    assert_eq!(
        (&result["tool_use_id"], &result["content"][0]["text"]),
        (&json!("c1"), &json!("out \u{fffd}"))
    );
    let what = "holds half a character, as a text cut inside an emoji does; shown as \u{fffd}";
    let note = "note: oddities of s.jsonl survived: 1, the first: line 3";
    let told = format!("{note} {what}; `epitome inspect` lists them\n");
    assert!(said.contains(&told), "{said}");
    let (survey, _) = session.run(&["inspect", "s.jsonl", "--json"]);
    assert_eq!(survey["problems"], json!([{ "line": 3, "what": what }]));
}

#[test]
fn a_compaction_leaves_the_bytes_of_damaged_lines_as_they_are() {
    let mut lines = half_an_emoji();
    for at in 0..40 {
        let (kind, parent) = if at % 2 == 0 { ("user", "assistant") } else { ("assistant", "user") };
        let parent = if at == 0 { "a2".to_owned() } else { format!("{parent}{}", at - 1) };
        let text = format!("point {at}: {}", "something that matters a little ".repeat(40));
        lines.push(claude(kind, &format!("{kind}{at}"), &parent, &json!(text)));
    }
    let session = Session::with(&lines);
    let (record, _) = session.run(&["compact", "s.jsonl", "-o", "out.jsonl", "--window", "12000", "--json"]);
    assert_eq!(record["outcome"], "compacted");
    assert!(session.bytes("out.jsonl").starts_with(&session.bytes("s.jsonl")));
    session.run(&["undo", "out.jsonl", "-o", "back.jsonl"]);
    assert_eq!(session.bytes("back.jsonl"), session.bytes("s.jsonl"));
}

#[test]
fn turns_a_person_took_back_in_codex_are_neither_shown_nor_written() {
    let line = |kind: &str, payload: Value| {
        json!({ "timestamp": "2026-01-31T09:30:00.000Z", "type": kind, "payload": payload }).to_string()
    };
    let said = |role: &str, text: &str| {
        let text = format!("{text} {}", "and something that matters a little ".repeat(60));
        let content = json!([{ "type": "input_text", "text": text }]);
        line("response_item", json!({ "type": "message", "role": role, "content": content }))
    };
    let mut lines = vec![line("session_meta", json!({ "id": "s" }))];
    for at in 0..20 {
        lines.extend([said("user", &format!("ask {at}")), said("assistant", &format!("answer {at}"))]);
    }
    lines.extend([said("user", "REGRET"), said("assistant", "REGRETTABLE")]);
    lines.push(line("event_msg", json!({ "type": "thread_rolled_back", "num_turns": 1 })));
    lines.push(said("user", "rather this"));
    let session = Session::with(&lines);
    let (body, _) = session.run(&["context", "s.jsonl", "--to", "openai-responses"]);
    assert!(body.to_string().contains("rather this") && !body.to_string().contains("REGRET"));
    let (record, _) = session.run(&["compact", "s.jsonl", "-o", "out.jsonl", "--window", "12000", "--json"]);
    assert_eq!(record["outcome"], "compacted");
    let added = session.bytes("out.jsonl").split_off(session.bytes("s.jsonl").len());
    let added: Value = serde_json::from_slice(&added).expect("it is one line");
    let history = added["payload"]["replacement_history"].to_string();
    assert!(history.contains("rather this") && !history.contains("REGRET"), "{history}");
}

/// A line of so many blocks nobody knows.
fn unknown_blocks(format: Format, count: usize) -> String {
    let block = json!({ "type": "holograph", "data": "x".repeat(40) });
    let blocks = vec![block; count];
    match format {
        Format::Pi => {
            let message = json!({ "role": "user", "content": blocks });
            json!({ "type": "message", "id": "1", "parentId": null, "message": message }).to_string()
        }
        Format::Codex => {
            let payload = json!({ "type": "message", "role": "user", "content": blocks });
            json!({ "timestamp": "t", "type": "response_item", "payload": payload }).to_string()
        }
        _ => claude("user", "u1", "", &json!(blocks)),
    }
}

/// How long one reading takes.
fn reading_time(format: Format, bytes: &Arc<Vec<u8>>) -> Duration {
    let begun = Instant::now();
    epitome_wire::read(bytes.clone(), Some(format), &ZeroMeasure).expect("it is of this format");
    begun.elapsed()
}

/// The least of several readings is compared, taken in turns: what else the machine does only adds to it.
/// Time that grew with the square of the length would be sixteen times as long.
#[test]
fn a_line_four_times_as_long_takes_about_four_times_as_long() {
    for format in [Format::ClaudeCode, Format::Pi, Format::Codex] {
        let [short, long] =
            [20_000, 80_000].map(|count| Arc::new(unknown_blocks(format, count).into_bytes()));
        let times: Vec<(Duration, Duration)> =
            (0..4).map(|_| (reading_time(format, &short), reading_time(format, &long))).collect();
        let short = times.iter().map(|(short, _)| *short).min().expect("it was read");
        let long = times.iter().map(|(_, long)| *long).min().expect("it was read");
        assert!(long < short * 10, "{format}: {short:?} for 20000 blocks, {long:?} for 80000");
    }
}

/// So many rounds at most until the times are those of the program: what else the machine does only adds to them.
const ROUNDS_MAX: usize = 12;

/// Time that grew with the square of the length would be four times as long.
#[test]
fn a_line_twice_as_long_goes_through_the_program_in_about_twice_the_time() {
    for format in [Format::ClaudeCode, Format::Pi, Format::Codex] {
        // 720 KB and twice as much.
        let sessions = [9_600, 19_200].map(|count| Session::with(&[unknown_blocks(format, count)]));
        for args in [
            &["context", "s.jsonl", "--to", "anthropic"][..],
            &["context", "s.jsonl", "--to", "openai-responses"],
            &["compact", "s.jsonl", "--window", "4000000", "-o", "out.jsonl"],
        ] {
            let mut least = [Duration::MAX; 2];
            for _ in 0..ROUNDS_MAX {
                for (session, least) in sessions.iter().zip(&mut least) {
                    let begun = Instant::now();
                    session.run(args);
                    *least = begun.elapsed().min(*least);
                }
                if least[1] < least[0] * 3 {
                    break;
                }
            }
            assert!(least[1] < least[0] * 3, "{format}, {args:?}: {least:?}");
        }
    }
}
