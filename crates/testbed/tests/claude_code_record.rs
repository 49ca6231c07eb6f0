//! Claude Code, for the record: what a compaction adds to the log and to a transcript.

use epitome_core::policy::TranscriptEntry;
use epitome_core::{Entry, EntryId, Mark, Record, Tail, Trigger};
use epitome_testbed::{Bed, Quarter};
use epitome_wire::{Boundary, Format, append, read};
use std::sync::Arc;

/// A session of so many turns of two messages of 500 tokens.
fn turns(preset: &str, count: usize) -> Bed {
    let mut bed = Bed::new(preset, 200_000);
    bed.talk(count * 2, 500);
    bed
}

fn entries(bed: &Bed) -> Vec<Entry> {
    let ids = (0..bed.session.log().len() as u32).map(EntryId);
    ids.filter_map(|id| bed.session.log().get(id).cloned()).collect()
}

fn summary(record: &Record) -> Option<Arc<str>> {
    record.change().and_then(|change| change.summary.clone())
}

#[test]
fn c19_one_entry_is_appended_and_nothing_else_changes() {
    let mut bed = turns("claude-code", 47);
    let before = entries(&bed);
    let newest = bed.session.leaf().expect("something was said");
    let record = bed.compact(Trigger::Manual);
    let after = entries(&bed);
    assert_eq!(after[..before.len()], before);
    let [Entry::Mark(Mark::Compaction { compaction, record: kept })] = &after[before.len()..] else {
        panic!("one compaction was appended")
    };
    assert_eq!((&compaction.summary, kept), (&summary(&record), &record));
    assert_eq!(compaction.tail, Tail::After { anchor: newest, kept: vec![] });
}

#[test]
fn c19_claude_code_2_1_writes_a_boundary_and_a_flagged_message() {
    let lines = [
        r#"{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"s","message":{"role":"user","content":"port it"}}"#,
        r#"{"type":"assistant","uuid":"a1","parentUuid":"u1","sessionId":"s","message":{"id":"m1","role":"assistant","content":[{"type":"text","text":"done"}]}}"#,
    ];
    let source: Arc<Vec<u8>> = Arc::new(format!("{}\n", lines.join("\n")).into_bytes());
    let transcript = read(source.clone(), Some(Format::ClaudeCode), &Quarter).expect("it is a session");
    let mut bed = turns("claude-code@2.1", 20);
    let record = bed.compact(Trigger::Manual);
    let boundary = Boundary {
        summary: summary(&record).expect("there is one"),
        front: Vec::new(),
        tail: Tail::Nothing,
        tokens_before: record.tokens_before,
        tokens_after: record.tokens_after,
        trigger: record.trigger,
        timestamp: "2026-01-31T09:30:00.000Z".into(),
        read_files: Vec::new(),
        modified_files: Vec::new(),
        duration_ms: record.duration_ms,
        turns: 0,
        is_by_hook: false,
        entry: TranscriptEntry::Boundary,
        record: None,
    };
    let added = append(&transcript, 0, &*source, &boundary).expect("it can be written");
    let added = String::from_utf8(added).expect("it is JSON");
    let values: Vec<serde_json::Value> =
        added.lines().map(|line| serde_json::from_str(line).expect("it is JSON")).collect();
    let [mark, said] = &values[..] else { panic!("two lines, not {added}") };
    assert_eq!((&mark["type"], &mark["subtype"]), (&"system".into(), &"compact_boundary".into()));
    assert_eq!((&mark["parentUuid"], &mark["logicalParentUuid"]), (&serde_json::Value::Null, &"a1".into()));
    assert_eq!((&said["type"], &said["isCompactSummary"]), (&"user".into(), &true.into()));
    assert_eq!(
        (&said["parentUuid"], said["message"]["content"].as_str()),
        (&mark["uuid"], Some(&*boundary.summary))
    );
    assert_eq!(transcript.format, Format::ClaudeCode);
}

#[test]
fn c20_the_record_counts_the_turns_it_covers_and_what_it_saved() {
    let mut bed = turns("claude-code", 47);
    let before = bed.session.context().tokens();
    let record = bed.compact(Trigger::Manual);
    let turns = record.change().map(|change| change.turns);
    assert_eq!((turns, record.tokens_before), (Some(47), before));
    assert_eq!(record.tokens_after, bed.session.context().tokens());
    assert!(record.tokens_before.less(record.tokens_after) > before.share(9, 10));
}
