//! Transcripts whose lines hold a provider's own messages, written out in that provider's protocol: what is kept is
//! what stands in the line, and what is not kept is listed.

mod corpus;

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// A transcript in a folder of its own.
struct TranscriptCase {
    folder: TempDir,
}

impl TranscriptCase {
    fn of(text: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder can be made");
        std::fs::write(folder.path().join("t"), text).expect("it can be written");
        Self { folder }
    }

    fn lines(lines: &[String]) -> Self {
        Self::of(&(lines.join("\n") + "\n"))
    }

    fn path(&self, name: &str) -> PathBuf {
        Path::new(self.folder.path()).join(name)
    }

    /// What the program prints, and what it says beside it.
    fn run(&self, args: &[&str]) -> (String, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_epitome"));
        command.current_dir(self.folder.path()).env_remove("EPITOME_MODEL").args(args);
        let ran = command.output().expect("the program runs");
        let [said, told] = [ran.stdout, ran.stderr].map(|bytes| String::from_utf8(bytes).expect("UTF-8"));
        assert!(ran.status.success(), "{args:?}: {told}");
        (said.trim_end().to_owned(), told)
    }

    /// The body in a protocol, and the kinds of what it lists.
    fn context(&self, to: &str) -> (Value, Vec<String>) {
        let (body, told) = self.run(&["context", "t", "--to", to, "--json"]);
        let told: Value =
            told.lines().next().map_or(Value::Null, |line| serde_json::from_str(line).expect("a list"));
        let kinds = told["substitutes"].as_array().into_iter().flatten();
        let kinds = kinds.map(|one| one["kind"].as_str().expect("a kind").to_owned()).collect();
        (serde_json::from_str(&body).expect("a body"), kinds)
    }
}

/// The messages of a Claude Code session, as its lines hold them: a role, the content, and more of the envelope.
fn claude_messages() -> Vec<(&'static str, Value, Value)> {
    vec![
        ("user", json!("look it up"), json!({})),
        (
            "assistant",
            json!([
                {"type": "thinking", "thinking": "first", "signature": "c2lnbmVk", "x_note": 1},
                {"type": "text", "text": "It ends in May.", "citations": [{"type": "char_location", "cited_text": "May"}]},
                {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"b": 1, "a": 1.50}, "caller": {"type": "direct"}},
            ]),
            json!({"x_envelope": {"a": 1}}),
        ),
        (
            "user",
            json!([{"type": "tool_result", "tool_use_id": "toolu_1", "x_inner": true,
                    "content": [{"type": "text", "text": "rows", "x_part": 2}, {"type": "holograph", "id": "beam-1"}]}]),
            json!({}),
        ),
        (
            "assistant",
            json!([
                {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}},
                {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
                {"type": "holograph_reply", "id": "beam-2"},
                {"type": "text", "text": "Done."},
            ]),
            json!({}),
        ),
        ("user", json!([{"type": "holograph", "id": "beam-3"}, {"type": "text", "text": "see?"}]), json!({})),
    ]
}

fn claude_line(at: usize, role: &str, content: &Value, more: &Value) -> String {
    let mut message = json!({"id": format!("msg_{at}"), "type": "message", "role": role, "model": "claude-sonnet-4-5", "content": content});
    let fields = more.as_object().expect("fields").clone();
    message.as_object_mut().expect("an object").extend(fields);
    let parent = at.checked_sub(1).map(|before| format!("u{before}"));
    json!({"type": role, "uuid": format!("u{at}"), "parentUuid": parent, "sessionId": "s", "isSidechain": false, "message": message})
        .to_string()
}

fn claude_session() -> TranscriptCase {
    let messages = claude_messages();
    let lines: Vec<String> = messages
        .iter()
        .enumerate()
        .map(|(at, (role, content, more))| claude_line(at, role, content, more))
        .collect();
    TranscriptCase::lines(&lines)
}

#[test]
fn a_claude_code_message_is_in_an_anthropic_body_what_it_is_in_its_line() {
    let (body, listed) = claude_session().context("anthropic");
    let expected: Vec<Value> = claude_messages()
        .into_iter()
        .map(|(role, content, _)| json!({"role": role, "content": content}))
        .collect();
    assert_eq!(body["messages"], Value::Array(expected));
    assert_eq!(listed, ["field x_envelope"]);
}

#[test]
fn its_bytes_are_those_of_the_line() {
    let case = claude_session();
    let (body, _) = case.run(&["context", "t", "--to", "anthropic"]);
    let content = claude_messages()[1].1.to_string();
    // As written: keys in their order, numbers with their zeros.
    let content = content.replace("1.5}", "1.50}");
    let line = std::fs::read_to_string(case.path("t")).expect("it is there").replace("1.5}", "1.50}");
    std::fs::write(case.path("t"), &line).expect("it can be written");
    assert!(line.contains(&content) && !body.contains(&content), "the numbers differ");
    assert!(case.run(&["context", "t", "--to", "anthropic"]).0.contains(&content));
}

#[test]
fn what_another_protocol_has_no_field_for_is_listed() {
    let (_, listed) = claude_session().context("openai-chat");
    let fields: Vec<&str> = listed.iter().filter_map(|kind| kind.strip_prefix("field ")).collect();
    assert_eq!(fields, ["x_envelope", "x_note", "citations", "caller", "x_inner", "x_part"]);
    let others: Vec<&String> = listed.iter().filter(|kind| !kind.starts_with("field ")).collect();
    assert_eq!(
        others,
        [
            "thinking",
            "holograph",
            "server_tool_use",
            "web_search_tool_result",
            "holograph_reply",
            "holograph"
        ]
    );
}

#[test]
fn lines_of_one_reply_are_one_message() {
    let content = claude_messages()[1].1.as_array().expect("blocks").clone();
    let mut lines = vec![claude_line(0, "user", &json!("look it up"), &json!({}))];
    for (at, block) in content.iter().enumerate() {
        let line = claude_line(at + 1, "assistant", &json!([block]), &json!({"id": "msg_one"}));
        lines.push(line);
    }
    let (body, listed) = TranscriptCase::lines(&lines).context("anthropic");
    assert_eq!(body["messages"][1], json!({"role": "assistant", "content": content}));
    assert_eq!(listed, [""; 0]);
}

#[test]
fn what_is_cut_or_refused_is_written_anew_and_its_fields_are_listed() {
    let odd = json!([{"type": "tool_use", "id": "not an id", "name": "read", "input": {}, "caller": {"type": "direct"}}]);
    let marked = json!([{"type": "text", "text": "marked", "cache_control": {"type": "ephemeral"}}]);
    let lines = [
        claude_line(0, "user", &marked, &json!({})),
        claude_line(1, "assistant", &odd, &json!({})),
        claude_line(
            2,
            "user",
            &json!([{"type": "tool_result", "tool_use_id": "not an id", "content": "x", "x_inner": 1}]),
            &json!({}),
        ),
    ];
    let (body, listed) = TranscriptCase::lines(&lines).context("anthropic");
    assert_eq!(body["messages"][0]["content"], json!([{"type": "text", "text": "marked"}]));
    assert_eq!(body["messages"][1]["content"][0]["id"], "not_an_id");
    assert_eq!(listed, ["field cache_control", "field caller", "field x_inner"]);
}

#[test]
fn what_a_compaction_keeps_is_what_it_was() {
    let said = "something that was said at some length and matters a little ".repeat(40);
    let mut lines = Vec::new();
    for at in (0..60).step_by(2) {
        lines.push(claude_line(at, "user", &json!(format!("point {at}: {said}")), &json!({})));
        let answer = json!([{"type": "text", "text": format!("seen {at}"), "citations": [{"n": at}]}]);
        lines.push(claude_line(at + 1, "assistant", &answer, &json!({})));
    }
    lines.push(claude_line(60, "user", &json!("and now?"), &json!({})));
    let case = TranscriptCase::lines(&lines);
    let args = ["compact", "t", "--to", "anthropic", "--window", "12000", "-o", "out", "--json"];
    let record: Value = serde_json::from_str(&case.run(&args).0).expect("a record");
    assert_eq!((&record["outcome"], &record["substitutes"]), (&json!("compacted"), &Value::Null));
    let written: Value =
        serde_json::from_slice(&std::fs::read(case.path("out")).expect("it is there")).expect("a body");
    let messages = written["messages"].as_array().expect("messages");
    let kept: Vec<u64> =
        messages.iter().filter_map(|one| one["content"][0]["citations"][0]["n"].as_u64()).collect();
    assert!(kept.len() > 1 && kept.last() == Some(&58), "{kept:?}");
    assert_eq!(messages.last(), Some(&json!({"role": "user", "content": "and now?"})));
}

#[test]
fn a_file_of_ours_gives_what_it_wraps() {
    let case = claude_session();
    case.run(&["compact", "t", "--to", "native", "--window", "200000", "-o", "wrapped"]);
    std::fs::rename(case.path("wrapped"), case.path("t")).expect("it was written");
    let (body, _) = case.context("anthropic");
    let newest = claude_messages().pop().expect("there is one").1;
    let written = body["messages"].as_array().and_then(|messages| messages.last()).expect("there is one");
    assert!(written["content"].to_string().contains(&newest[0].to_string()), "{written}");
}

/// Items of a rollout as Responses has them.
fn codex_items() -> Vec<Value> {
    let passthrough = json!({"turn_id": "t1"});
    vec![
        json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "look"}], "x_meta": passthrough}),
        json!({"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "why"}], "content": null, "encrypted_content": "gAAAAABsealed1"}),
        json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Looking."}], "phase": "commentary"}),
        json!({"type": "function_call", "id": "fc_1", "name": "shell", "arguments": "{\"a\": 1.50}", "call_id": "call_1", "x_meta": passthrough}),
        json!({"type": "function_call_output", "call_id": "call_1", "output": [{"type": "input_text", "text": "rows"}], "x_meta": 1}),
        json!({"type": "reasoning", "id": "rs_2", "summary": [], "encrypted_content": "gAAAAABsealed2"}),
        json!({"type": "custom_tool_call", "status": "completed", "call_id": "call_2", "name": "apply_patch", "input": "*** Begin"}),
        json!({"type": "custom_tool_call_output", "call_id": "call_2", "output": "done"}),
        json!({"type": "tool_search_call", "call_id": "call_3", "execution": "client", "arguments": {"query": "q"}}),
        json!({"type": "tool_search_output", "call_id": "call_3", "execution": "client", "tools": [{"type": "function", "name": "f"}]}),
        json!({"type": "web_search_call", "status": "completed", "action": {"type": "search", "query": "q"}}),
        json!({"type": "hologram_call", "id": "beam-1"}),
        json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}], "phase": "final"}),
        json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "and that?"}, {"type": "input_image", "image_url": "https://example.com/a.png", "detail": "high"}]}),
    ]
}

fn codex_line(kind: &str, payload: &Value) -> String {
    json!({"timestamp": "2026-01-31T09:30:00.000Z", "type": kind, "payload": payload}).to_string()
}

fn codex_session(items: &[Value]) -> TranscriptCase {
    let meta = codex_line("session_meta", &json!({"id": "s"}));
    let lines: Vec<String> =
        std::iter::once(meta).chain(items.iter().map(|item| codex_line("response_item", item))).collect();
    TranscriptCase::lines(&lines)
}

#[test]
fn a_codex_item_is_in_a_responses_body_what_it_is_in_its_line() {
    let (body, listed) = codex_session(&codex_items()).context("openai-responses");
    assert_eq!(body["input"], Value::Array(codex_items()));
    assert_eq!(listed, [""; 0]);
}

#[test]
fn codex_items_in_another_protocol_are_there_or_listed() {
    let (body, listed) = codex_session(&codex_items()).context("anthropic");
    let body = body.to_string();
    for said in ["look", "Looking.", "rows", "*** Begin", "Done.", "and that?", "[hologram_call"] {
        assert!(body.contains(said), "{said} is not in {body}");
    }
    for kind in
        ["thinking", "field x_meta", "field phase", "field execution", "field detail", "hologram_call"]
    {
        assert!(listed.iter().any(|one| one == kind), "{kind} is not in {listed:?}");
    }
}

#[test]
fn reasoning_whose_seal_is_broken_or_that_led_to_nothing_is_left_out_and_listed() {
    let said = |role: &str, kind: &str, text: &str| json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]});
    let reasoning = |id: &str, seal: &str| json!({"type": "reasoning", "id": id, "summary": [], "encrypted_content": seal});
    let items = [
        said("user", "input_text", "a"),
        reasoning("rs_1", "REDACTED!"),
        said("assistant", "output_text", "b"),
        said("user", "input_text", "c"),
        reasoning("rs_2", "gAAAAABsealed2"),
        said("user", "input_text", "d"),
    ];
    let (body, listed) = codex_session(&items).context("openai-responses");
    let kinds: Vec<&Value> =
        body["input"].as_array().expect("items").iter().map(|item| &item["type"]).collect();
    assert!(!kinds.contains(&&json!("reasoning")), "{body}");
    assert_eq!(
        listed.iter().filter(|kind| *kind == "thinking" || *kind == "reasoning").count(),
        2,
        "{listed:?}"
    );
}

#[test]
fn a_shell_call_that_codex_answers_as_a_function_is_one() {
    let items = [
        json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "list"}]}),
        json!({"type": "local_shell_call", "call_id": "call_1", "status": "completed", "action": {"type": "exec", "command": ["ls"]}}),
        json!({"type": "function_call_output", "call_id": "call_1", "output": "a b"}),
    ];
    let (body, _) = codex_session(&items).context("openai-responses");
    let call = json!({"type": "function_call", "call_id": "call_1", "name": "local_shell", "arguments": r#"{"command":["ls"],"type":"exec"}"#});
    assert_eq!(body["input"][1]["type"], call["type"]);
    assert_eq!(body["input"][2], items[2]);
}

/// A trajectory of chat messages with what its tool notes in each, and the same without.
fn chat_messages(notes: &Value) -> (Vec<Value>, Vec<Value>) {
    let sent = vec![
        json!({"role": "user", "content": [{"type": "text", "text": "fix it"}], "name": "alice"}),
        json!({"role": "assistant", "content": "I look.", "reasoning_content": "why", "x_vendor": {"a": 1},
               "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "bash", "arguments": "{\"command\": \"ls\"}"}, "index": 0}]}),
        json!({"role": "tool", "tool_call_id": "call_1", "content": "a b"}),
        json!({"role": "assistant", "content": "Done.", "thinking_blocks": [{"type": "thinking", "signature": "s"}]}),
        json!({"role": "user", "content": "go on"}),
    ];
    let noted = sent.iter().map(|message| {
        let mut noted = message.as_object().expect("an object").clone();
        noted.extend(notes.as_object().expect("fields").clone());
        Value::Object(noted)
    });
    (noted.collect(), sent)
}

#[test]
fn a_trajectory_in_chat_form_is_what_its_tool_sent() {
    let (mini, sent) = chat_messages(&json!({"extra": {"response": {"usage": {}}}, "function_call": null}));
    let system = json!({"role": "system", "content": "You fix things."});
    let expected: Vec<Value> = std::iter::once(system.clone()).chain(sent).collect();
    let all: Vec<Value> = std::iter::once(system.clone()).chain(mini).collect();
    let mini =
        json!({"info": {"mini_version": "2"}, "messages": all, "trajectory_format": "mini-swe-agent-1"});
    let (body, listed) = TranscriptCase::of(&mini.to_string()).context("openai-chat");
    assert_eq!((&body["messages"], listed), (&Value::Array(expected.clone()), Vec::new()));

    let (mut swe, _) = chat_messages(&json!({"agent": "main", "message_type": "action", "thought": "t"}));
    let answer = swe[2].as_object_mut().expect("an object");
    answer.remove("tool_call_id");
    answer.insert("tool_call_ids".into(), json!(["call_1"]));
    let all: Vec<Value> = std::iter::once(system).chain(swe).collect();
    let swe = json!({"history": all, "trajectory": []});
    let (body, listed) = TranscriptCase::of(&swe.to_string()).context("openai-chat");
    assert_eq!((&body["messages"], listed), (&Value::Array(expected), Vec::new()));
}
