//! Small files with one oddity each, read, compacted and taken back.

mod lines;
mod reading;

use epitome_core::{Archive, Context, Entry, EntryId, Expressible, Tail};
use epitome_wire::{
    Boundary, BoundaryUndo, Conversation, Format, ReadError, Transcript, WriteError, append, can_express, pi,
    undo,
};
use lines::{boundary, file};
use reading::{ByteMeasure, originals};
use std::sync::Arc;

fn read(format: Format, lines: &[String]) -> Transcript {
    read_bytes(format, file(lines)).expect("it is of this format")
}

fn read_bytes(format: Format, bytes: Vec<u8>) -> Result<Transcript, ReadError> {
    let transcript = epitome_wire::read(Arc::new(bytes), Some(format), &ByteMeasure)?;
    for conversation in &transcript.conversations {
        originals(conversation);
    }
    Ok(transcript)
}

/// The entries of the live branch in order, each in a word or two.
fn branch(transcript: &Transcript) -> String {
    let conversation = &transcript.conversations[0];
    let ids = conversation.log.path_of(conversation.leaf);
    ids.into_iter().map(|id| told(conversation, id)).collect::<Vec<_>>().join(", ")
}

fn told(conversation: &Conversation, id: EntryId) -> String {
    match conversation.log.get(id) {
        Some(Entry::Message(item)) => {
            let message = conversation.originals.message(id).expect("it can be read again");
            let calls = item.calls.iter().map(|call| format!("call {call}"));
            let answers = item.answers.iter().map(|call| format!("result {call}"));
            let said = Some(message.said()).filter(|said| !said.is_empty());
            said.into_iter().chain(calls).chain(answers).collect::<Vec<_>>().join("+")
        }
        Some(Entry::Recorded(_)) => "compaction".into(),
        Some(Entry::Note { kind }) => format!("({kind})"),
        Some(Entry::Mark(_)) | None => "?".into(),
    }
}

/// What the model sees, in the same words.
fn seen(transcript: &Transcript) -> String {
    let conversation = &transcript.conversations[0];
    assert!(conversation.leaf.is_some(), "something was said");
    let reader = conversation.reader(&ByteMeasure);
    let context = Context::of(conversation.leaf, reader).expect("it can be read");
    let shown = context.shown(reader).expect("it can be read");
    let words = shown.into_iter().map(|shown| match shown.id {
        Some(id) => told(conversation, id),
        None => format!("<{}>", shown.message.said()),
    });
    words.collect::<Vec<_>>().join(", ")
}

fn problems(transcript: &Transcript) -> Vec<String> {
    transcript.problems.iter().map(|problem| problem.what.clone()).collect()
}

// Claude Code.

fn claude(kind: &str, uuid: &str, parent: &str, rest: &str) -> String {
    let parent = if parent.is_empty() { "null".into() } else { format!("\"{parent}\"") };
    format!(
        r#"{{"type":"{kind}","uuid":"{uuid}","parentUuid":{parent},"isSidechain":false,"sessionId":"s",{rest}}}"#
    )
}

fn user(uuid: &str, parent: &str, text: &str) -> String {
    claude("user", uuid, parent, &format!(r#""message":{{"role":"user","content":"{text}"}}"#))
}

fn call(uuid: &str, parent: &str, message: &str, call: &str) -> String {
    let block = format!(r#"{{"type":"tool_use","id":"{call}","name":"Bash","input":{{}}}}"#);
    claude(
        "assistant",
        uuid,
        parent,
        &format!(r#""message":{{"id":"{message}","model":"m","content":[{block}]}}"#),
    )
}

fn reply(uuid: &str, parent: &str, message: &str, text: &str) -> String {
    let block = format!(r#"{{"type":"text","text":"{text}"}}"#);
    claude(
        "assistant",
        uuid,
        parent,
        &format!(r#""message":{{"id":"{message}","model":"m","content":[{block}]}}"#),
    )
}

fn result(uuid: &str, parent: &str, call: &str) -> String {
    let block = format!(r#"{{"type":"tool_result","tool_use_id":"{call}","content":"out"}}"#);
    claude("user", uuid, parent, &format!(r#""message":{{"role":"user","content":[{block}]}}"#))
}

#[test]
fn what_comes_between_a_call_and_its_result_stands_behind_the_result() {
    let lines = [
        user("u1", "", "go"),
        call("a1", "u1", "msg1", "c1"),
        user("u2", "a1", "and hurry"),
        result("r1", "u2", "c1"),
        reply("a2", "r1", "msg2", "done"),
    ];
    assert_eq!(branch(&read(Format::ClaudeCode, &lines)), "go, call c1, result c1, and hurry, done");
    // Before the result has come, what stands behind it has the id it will keep.
    let shorter = read(Format::ClaudeCode, &lines[..3]);
    assert_eq!(branch(&shorter), "go, call c1, (unanswered call), and hurry");
}

#[test]
fn parallel_results_hang_off_their_calls_and_none_is_lost() {
    let lines = [
        user("u1", "", "go"),
        call("a1", "u1", "msg1", "c1"),
        call("a2", "a1", "msg1", "c2"),
        result("r2", "a2", "c2"),
        result("r1", "a1", "c1"),
        reply("a3", "r2", "msg2", "done"),
    ];
    assert_eq!(branch(&read(Format::ClaudeCode, &lines)), "go, call c1+call c2, result c1, result c2, done");
}

#[test]
fn a_rewind_leaves_its_branch_in_the_log_and_out_of_the_history() {
    let lines = [
        user("u1", "", "go"),
        reply("a1", "u1", "msg1", "which way"),
        user("u2", "a1", "left"),
        reply("a2", "u2", "msg2", "a wall"),
        user("u3", "a1", "right"),
    ];
    let transcript = read(Format::ClaudeCode, &lines);
    assert_eq!(branch(&transcript), "go, which way, right");
    assert_eq!(transcript.conversations[0].log.len(), 5);
}

#[test]
fn subagents_between_are_left_out_and_a_file_of_one_is_a_conversation() {
    let side = |line: String| line.replace(r#""isSidechain":false"#, r#""isSidechain":true"#);
    let agent = [side(user("x1", "", "look")), side(reply("x2", "x1", "msg9", "seen"))];
    assert_eq!(branch(&read(Format::ClaudeCode, &agent)), "look, seen");
    let [prompt, answer] = agent;
    let mixed = read(Format::ClaudeCode, &[prompt, user("u1", "", "go"), answer]);
    assert_eq!(branch(&mixed), "go");
    assert_eq!(problems(&mixed), ["2 records of subagents stand between; left out"]);
}

#[test]
fn repeated_records_unknown_kinds_and_missing_parents_are_told() {
    let lines = [
        user("u1", "", "go"),
        user("u1", "", "go again"),
        claude("telepathy", "t1", "u1", r#""n":1"#),
        claude("telepathy", "t2", "t1", r#""n":2"#),
        reply("a1", "t2", "msg1", "gone"),
        user("u2", "nowhere", "on"),
    ];
    let transcript = read(Format::ClaudeCode, &lines);
    assert_eq!(branch(&transcript), "go, gone, on");
    assert_eq!(
        problems(&transcript),
        [
            "repeats the record u1; the first one counts",
            "hangs off nowhere, which is not in the file; taken to follow the message before",
            "`telepathy` is no known kind of record; 2 of them passed over, this the first",
        ]
    );
}

#[test]
fn a_result_that_comes_after_a_compaction_is_read_as_text() {
    let compacted = r#""subtype":"compact_boundary","logicalParentUuid":"a1""#;
    let summary = r#""isCompactSummary":true,"message":{"role":"user","content":"S"}"#;
    let lines = [
        user("u1", "", "go"),
        call("a1", "u1", "msg1", "c1"),
        claude("system", "b", "", compacted),
        claude("user", "s", "b", summary),
        result("r1", "s", "c1"),
    ];
    let transcript = read(Format::ClaudeCode, &lines);
    assert_eq!(seen(&transcript), "<S>, [a tool's result, without its call c1]\nout");
    assert_eq!(problems(&transcript), ["answers c1, which waits for no answer; read as text"]);
}

#[test]
fn a_compaction_of_claude_codes_is_taken_back_and_what_followed_it_stays() {
    let mut lines = vec![user("u1", "", "go"), reply("a1", "u1", "msg1", "gone")];
    let transcript = read(Format::ClaudeCode, &lines);
    let tail = Tail::These(vec![EntryId(1)]);
    let added = append(&transcript, 0, &file(&lines), &boundary(tail)).expect("it can be written");
    let added = String::from_utf8(added).expect("it is JSON");
    lines.extend(added.lines().map(str::to_owned));
    let summary: serde_json::Value = serde_json::from_str(&lines[3]).expect("it is JSON");
    let uuid = summary["uuid"].as_str().expect("it has an id");
    lines.push(user("u2", uuid, "on"));
    assert_eq!(seen(&read(Format::ClaudeCode, &lines)), "<SUMMARY>, gone, on");
    let Ok(BoundaryUndo::Rewrite { bytes, is_ours: true }) = undo(Format::ClaudeCode, &file(&lines)) else {
        panic!("something follows it")
    };
    let expected = [user("u1", "", "go"), reply("a1", "u1", "msg1", "gone"), user("u2", "a1", "on")];
    assert_eq!(String::from_utf8_lossy(&bytes), String::from_utf8_lossy(&file(&expected)));
}

#[test]
fn claude_code_and_pi_have_no_place_before_a_summary() {
    assert_eq!(can_express(Format::Codex), Expressible { front: true, forms: false });
    let lines = [user("u1", "", "go"), reply("a1", "u1", "msg1", "gone")];
    let transcript = read(Format::ClaudeCode, &lines);
    let boundary = Boundary { front: vec![EntryId(0)], ..boundary(Tail::Nothing) };
    let refused = append(&transcript, 0, &file(&lines), &boundary);
    assert!(matches!(refused, Err(WriteError::NoPlaceBefore { id: EntryId(0), .. })), "{refused:?}");
}

// pi.

fn header() -> String {
    r#"{"type":"session","version":3,"id":"s"}"#.into()
}

fn said(id: &str, parent: &str, role: &str, text: &str) -> String {
    let parent = if parent.is_empty() { "null".into() } else { format!("\"{parent}\"") };
    let content = format!(r#"[{{"type":"text","text":"{text}"}}]"#);
    format!(
        r#"{{"type":"message","id":"{id}","parentId":{parent},"message":{{"role":"{role}","content":{content}}}}}"#
    )
}

fn compaction(id: &str, parent: &str, first: &str) -> String {
    format!(
        r#"{{"type":"compaction","id":"{id}","parentId":"{parent}","summary":"S","firstKeptEntryId":"{first}"}}"#
    )
}

fn framed(summary: &str) -> String {
    format!("<{}>", pi::shown_summary(summary))
}

#[test]
fn a_later_compaction_of_pis_may_show_what_an_earlier_one_hid() {
    let lines = [
        header(),
        said("1", "", "user", "one"),
        said("2", "1", "assistant", "two"),
        said("3", "2", "user", "three"),
        compaction("4", "3", "3"),
        said("5", "4", "assistant", "five"),
        compaction("6", "5", "2"),
    ];
    assert_eq!(seen(&read(Format::Pi, &lines[..6])), format!("{}, three, five", framed("S")));
    assert_eq!(seen(&read(Format::Pi, &lines)), format!("{}, two, three, five", framed("S")));
}

#[test]
fn a_compaction_of_pis_that_names_what_is_not_there_keeps_nothing() {
    let lines =
        [header(), said("1", "", "user", "one"), compaction("2", "1", "x"), said("3", "2", "user", "on")];
    assert_eq!(seen(&read(Format::Pi, &lines)), format!("{}, on", framed("S")));
}

#[test]
fn a_compaction_of_pis_is_taken_back_and_what_followed_it_stays() {
    let lines =
        [header(), said("1", "", "user", "one"), compaction("2", "1", "1"), said("3", "2", "user", "on")];
    let Ok(BoundaryUndo::Rewrite { bytes, is_ours: false }) = undo(Format::Pi, &file(&lines)) else {
        panic!("something follows it")
    };
    let expected = [header(), said("1", "", "user", "one"), said("3", "1", "user", "on")];
    assert_eq!(String::from_utf8_lossy(&bytes), String::from_utf8_lossy(&file(&expected)));
    assert_eq!(undo(Format::Pi, &bytes).expect("memory can be read"), BoundaryUndo::Nothing);
}

#[test]
fn a_tail_with_gaps_is_refused_by_pi() {
    let lines = [header(), said("1", "", "user", "one"), said("2", "1", "assistant", "two")];
    let transcript = read(Format::Pi, &lines);
    let refused = append(&transcript, 0, &file(&lines), &boundary(Tail::These(vec![EntryId(0)])));
    assert!(matches!(refused, Err(WriteError::TailHasGaps { id: EntryId(1), .. })), "{refused:?}");
}

// Codex.

fn item(payload: &str) -> String {
    format!(r#"{{"timestamp":"t","type":"response_item","payload":{payload}}}"#)
}

fn message(role: &str, text: &str) -> String {
    format!(r#"{{"type":"message","role":"{role}","content":[{{"type":"input_text","text":"{text}"}}]}}"#)
}

#[test]
fn the_summary_in_a_new_history_of_codexs_stands_where_it_stood() {
    let history = [message("user", "one"), message("user", "S"), message("user", "three")].join(",");
    let compacted =
        format!(r#"{{"type":"compacted","payload":{{"message":"S","replacement_history":[{history}]}}}}"#);
    let lines = [item(&message("user", "one")), item(&message("assistant", "two")), compacted];
    assert_eq!(seen(&read(Format::Codex, &lines)), "one, <S>, three");
}

#[test]
fn a_new_history_that_is_not_all_text_is_read_and_told() {
    let history = message("user", "one");
    let compacted =
        format!(r#"{{"type":"compacted","payload":{{"message":"S","replacement_history":[{history}]}}}}"#);
    let mut bytes = file(&[item(&message("user", "zero")), compacted]);
    let at = bytes.windows(3).rposition(|run| run == b"one").expect("it is in the history");
    bytes[at] = 0xff;
    let transcript = read_bytes(Format::Codex, bytes).expect("it is of this format");
    let what = "is not UTF-8 throughout; what cannot be read is shown as \u{fffd}".to_owned();
    assert_eq!((seen(&transcript), problems(&transcript)), ("<S>, \u{fffd}ne".to_owned(), vec![what]));
}

#[test]
fn a_reply_of_codexs_is_all_its_items_up_to_the_token_count() {
    let call = r#"{"type":"function_call","name":"shell","arguments":"{}","call_id":"c1"}"#;
    let output = r#"{"type":"function_call_output","call_id":"c1","output":"out"}"#;
    let count = r#"{"type":"event_msg","payload":{"type":"token_count","info":{"last_token_usage":{"input_tokens":7}}}}"#;
    let lines = [
        item(&message("user", "go")),
        item(&message("assistant", "well")),
        item(call),
        item(output),
        count.into(),
        item(&message("assistant", "done")),
    ];
    let transcript = read(Format::Codex, &lines);
    assert_eq!(branch(&transcript), "go, well+call c1, result c1, done");
    let usage = transcript.conversations[0].replies[0].usage.expect("it was counted");
    assert_eq!((transcript.conversations[0].replies.len(), usage.prompt), (2, 7));
}

#[test]
fn a_file_of_another_format_is_not_taken_for_this_one() {
    let lines = file(&[r#"{"role":"user","content":"hello"}"#.into()]);
    for format in [Format::ClaudeCode, Format::Codex, Format::CopilotCli, Format::Pi] {
        assert!(matches!(read_bytes(format, lines.clone()), Err(ReadError::NotThis { .. })));
        assert!(matches!(read_bytes(format, Vec::new()), Err(ReadError::Empty)));
    }
}

#[test]
fn a_file_cut_off_anywhere_is_read_up_to_there() {
    let claude: &[String] = &[user("u1", "", "go"), call("a1", "u1", "msg1", "c1"), result("r1", "a1", "c1")];
    let codex: &[String] = &[item(&message("user", "one")), item(&message("assistant", "two"))];
    let pi: &[String] = &[header(), said("1", "", "user", "one"), compaction("2", "1", "1")];
    for (format, lines) in [(Format::ClaudeCode, claude), (Format::Codex, codex), (Format::Pi, pi)] {
        let (bytes, whole) = (file(lines), branch(&read(format, lines)));
        for end in 0..bytes.len() {
            if let Ok(part) = read_bytes(format, bytes[..end].to_vec()) {
                let part = branch(&part).replace("(unanswered call)", "result c1");
                assert!(whole.starts_with(&part), "{part} is no beginning of {whole}");
            }
        }
    }
}
