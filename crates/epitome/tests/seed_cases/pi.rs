//! pi through the doors: its session files, what it appends to them, and its own figures of usage.

use crate::door::{compact, hook, replay, written};
use crate::stage::Stage;
use crate::transcripts::{pi, text};
use serde_json::{Value, json};

/// A session that read one file and changed another, then went on for so long that something must go.
fn worked() -> Stage {
    let call = |id: &str, name: &str, arguments: Value| {
        let block = json!({"type": "toolCall", "id": id, "name": name, "arguments": arguments});
        json!({"role": "assistant", "content": [block]})
    };
    let result = |id: &str| json!({"role": "toolResult", "toolCallId": id, "content": [{"type": "text", "text": "fn main() {}\n".repeat(100)}]});
    let stage = Stage::new("");
    stage.put(
        "session",
        &pi([
            json!({"role": "user", "content": "fix the parser"}),
            call("c1", "read", json!({"path": "a.rs"})),
            result("c1"),
            call("c2", "edit", json!({"path": "b.rs", "oldText": "x", "newText": "y"})),
            result("c2"),
            json!({"role": "user", "content": text(5, 20_000)}),
        ]),
    );
    stage
}

const COMPACT: [&str; 4] = ["--preset", "pi", "--window", "200000"];

/// The line that a compaction added behind what was there, which is still there.
fn added(stage: &Stage) -> Value {
    let (before, after) = (written(stage, "session"), written(stage, "out"));
    let added = after.strip_prefix(&before).expect("what was there stays, byte for byte");
    assert_eq!(added.lines().count(), 1);
    serde_json::from_str(added).expect("it is JSON")
}

/// How a replay of pi's file goes whose last reply reports this.
fn outcomes(usage: &Value) -> Vec<Value> {
    let reply = |at: usize, usage: Value| json!({"role": "assistant", "content": [{"type": "text", "text": text(at, 5_000)}], "provider": "anthropic", "model": "claude-sonnet-4-5", "stopReason": "stop", "usage": usage});
    let asked = |at: usize| json!({"role": "user", "content": text(at, 5_000)});
    let small = json!({"input": 100, "output": 20, "cacheRead": 0, "cacheWrite": 0});
    let stage = Stage::new("");
    let messages = [
        asked(0),
        reply(1, small.clone()),
        asked(2),
        reply(3, small.clone()),
        asked(4),
        reply(5, usage.clone()),
    ];
    stage.put(
        "session",
        &pi(messages.into_iter().chain([json!({"role": "user", "content": "go on"}), reply(7, small)])),
    );
    // The look before input holds that against the limit as well; here the look after the turn is meant.
    let calls = replay(&stage, &[&COMPACT[..], &["--set", "check.before_input=false"]].concat());
    let records = calls.into_iter().map(|mut call| call["compaction"].take());
    records.filter(|record| !record.is_null()).map(|mut record| record["outcome"].take()).collect()
}

// door: replay
#[test]
fn p1_compaction_begins_when_the_reported_total_passes_the_limit() {
    let of = |total: u64| outcomes(&json!({"input": 10, "output": 20, "totalTokens": total}));
    assert_eq!([of(183_616), of(183_617)], [vec![], vec![json!("compacted")]]);
}

// door: replay
#[test]
fn p2_cached_tokens_count_where_no_total_is_reported() {
    let of = |written: u64| {
        outcomes(&json!({"input": 10, "output": 20, "cacheRead": 183_000, "cacheWrite": written}))
    };
    assert_eq!([of(586), of(600)], [vec![], vec![json!("compacted")]]);
}

// door: compact
#[test]
fn p12_the_entry_has_the_fields_pi_reads() {
    let stage = worked();
    let record = compact(&stage, &COMPACT);
    let entry = added(&stage);
    let names: Vec<&String> = entry.as_object().expect("an entry").keys().collect();
    assert_eq!(
        names,
        [
            "type",
            "id",
            "parentId",
            "timestamp",
            "summary",
            "firstKeptEntryId",
            "tokensBefore",
            "details",
            "fromHook",
            "epitome"
        ]
    );
    assert_eq!((&entry["type"], &entry["parentId"]), (&json!("compaction"), &json!("00000005")));
    assert_eq!((&entry["summary"], &entry["tokensBefore"]), (&record["summary"], &record["tokens_before"]));
    assert_eq!(entry["firstKeptEntryId"], "00000005");
    assert_eq!(entry["details"], json!({"readFiles": ["a.rs"], "modifiedFiles": ["b.rs"]}));
    assert_eq!(entry["fromHook"], false);
}

// door: compact
#[test]
fn p13_what_was_there_stays_byte_for_byte() {
    let stage = worked();
    // A program that was stopped may have left its last line without an end.
    let open_ended = written(&stage, "session").trim_end().to_owned();
    for before in [format!("{open_ended}\n"), open_ended] {
        stage.put("session", &before);
        compact(&stage, &COMPACT);
        let after = written(&stage, "out");
        let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
        assert_eq!((&new[..old.len()], new.len()), (&old[..], old.len() + 1));
    }
}

// door: compact
#[test]
fn p30_a_hook_that_says_no_leaves_the_file_as_it_is() {
    let stage = worked();
    stage.settings(&hook(&stage, "print(json.dumps({'verdict': 'veto', 'why': 'not now'}))"));
    let record = compact(&stage, &COMPACT);
    assert_eq!((&record["outcome"], written(&stage, "out")), (&json!("vetoed"), written(&stage, "session")));
}

// door: compact
#[test]
fn p31_the_entry_says_that_a_hook_wrote_its_summary() {
    let stage = worked();
    let script = "if asked['hook'] == 'pre_compact': print(json.dumps({'verdict': 'proceed', 'summary': {'text': 'We fixed the parser.'}, 'inject': 'The garden is open.'}))";
    stage.settings(&hook(&stage, script));
    let record = compact(&stage, &COMPACT);
    assert_eq!((&record["summarizer"], stage.report().requests), (&json!("watch"), 0));
    let entry = added(&stage);
    assert!(entry["summary"].as_str().expect("a text").contains("We fixed the parser."));
    assert_eq!(entry["fromHook"], true);
}
