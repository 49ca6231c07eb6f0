//! pi: entries edited later, and compactions that write out what they keep.

use super::{compacted, problems, read, seen};
use epitome_core::EntryId;
use epitome_wire::Format::Pi;
use epitome_wire::pi::shown_summary;

fn entry(kind: &str, id: &str, parent: &str, rest: &str) -> String {
    let parent = if parent.is_empty() { "null".into() } else { format!("\"{parent}\"") };
    format!(r#"{{"type":"{kind}","id":"{id}","parentId":{parent},{rest}}}"#)
}

fn said(id: &str, parent: &str, role: &str, text: &str) -> String {
    entry("message", id, parent, &format!(r#""message":{{"role":"{role}","content":"{text}"}}"#))
}

fn edit(id: &str, parent: &str, target: &str, replacement: &str) -> String {
    let rest = format!(r#""targetId":"{target}","replacement":{replacement}"#);
    entry("context_edit", id, parent, &rest)
}

fn session() -> Vec<String> {
    let call = r#"{"type":"toolCall","id":"c1","name":"bash","arguments":{}}"#;
    let result = r#"{"role":"toolResult","toolCallId":"c1","content":[{"type":"text","text":"long"}]}"#;
    vec![
        r#"{"type":"session","version":3,"id":"s","cwd":"/"}"#.into(),
        said("1", "", "user", "go"),
        said("2", "1", "assistant", "half an ans"),
        entry("message", "3", "2", &format!(r#""message":{{"role":"assistant","content":[{call}]}}"#)),
        entry("message", "4", "3", &format!(r#""message":{result}"#)),
    ]
}

#[test]
fn an_entry_edited_later_is_shown_as_the_edit_says() {
    let omitted = [session(), vec![edit("5", "4", "2", "null"), said("6", "5", "user", "on")]].concat();
    assert_eq!(seen(&read(Pi, &omitted)), ["go", "call c1 {}", "result c1 long", "on"]);
    let short = edit("5", "4", "4", r#"{"content":"short"}"#);
    let asked = edit("6", "5", "1", r#"{"content":[{"type":"text","text":"stay"}]}"#);
    let replaced = [session(), vec![short, asked]].concat();
    assert_eq!(seen(&read(Pi, &replaced)), ["stay", "half an ans", "call c1 {}", "result c1 short"]);
}

#[test]
fn the_newest_edit_of_a_branch_counts_and_other_branches_are_untouched() {
    let omit = edit("5", "4", "2", "null");
    let replace = edit("6", "5", "2", r#"{"content":"whole"}"#);
    let lines = [session(), vec![omit.clone(), replace]].concat();
    assert_eq!(seen(&read(Pi, &lines))[..2], ["go", "whole"]);
    let elsewhere = [session(), vec![omit, said("7", "4", "user", "else")]].concat();
    assert_eq!(seen(&read(Pi, &elsewhere))[..2], ["go", "half an ans"]);
    let lost = [session(), vec![edit("5", "4", "x", "null")]].concat();
    let transcript = read(Pi, &lost);
    assert_eq!(problems(&transcript), ["6: edits an entry that is no message before it; passed over"]);
    assert_eq!(seen(&transcript).len(), 4);
}

#[test]
fn what_a_compaction_wrote_out_is_all_that_stands_behind_its_summary() {
    let call = r#"{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"bash","arguments":{}},{"type":"new","x":1}]}"#;
    let result = r#"{"role":"toolResult","toolCallId":"c1","content":"long"}"#;
    let tail = format!(r#""summary":"S","retainedTail":[{call},{result}]"#);
    let lines =
        [session(), vec![entry("compaction", "5", "4", &tail), said("6", "5", "user", "on")]].concat();
    let transcript = read(Pi, &lines);
    let summary = shown_summary("S");
    let called = r#"call c1 {}+opaque new {"type":"new","x":1}"#;
    assert_eq!(seen(&transcript), [&summary, called, "result c1 long", "on"]);
    assert_eq!(problems(&transcript), [""; 0]);
    // A message that was written out has no id to name, so what is kept is written out again.
    let retained = EntryId(5);
    let (after, added) = compacted(Pi, &lines, retained);
    assert_eq!(seen(&after), [&shown_summary("SUMMARY"), called, "result c1 long", "on"]);
    assert!(added.contains("retainedTail") && added.contains("firstKeptEntryId"), "{added}");
    let (after, added) = compacted(Pi, &lines, EntryId(7));
    assert_eq!(seen(&after), [&shown_summary("SUMMARY"), "on"]);
    assert!(!added.contains("retainedTail"), "{added}");
}
