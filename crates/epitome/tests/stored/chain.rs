//! A chain of ten compactions on a real session: whatever is undone, used again or gone back to, the model sees what it saw
//! before, byte for byte.

use crate::desk::{CLAUDE_CODE, Desk, corpus};
use serde_json::json;

/// Places along the session at which it is compacted, one after the other.
const PLACES: [&str; 10] =
    ["m0035", "m0070", "m0105", "m0140", "m0175", "m0210", "m0245", "m0280", "m0315", "m0351"];

/// A session compacted ten times, and what the model saw before and after each of them.
struct Chain {
    desk: Desk,
    session: String,
    steps: Vec<Step>,
}

struct Step {
    place: &'static str,
    entry: String,
    before: String,
    after: String,
}

fn chain(desk: Desk) -> Chain {
    let session = desk.import("session.jsonl", corpus(CLAUDE_CODE));
    let mut steps = Vec::new();
    for place in PLACES {
        desk.printed(&["rollback", &session, place]);
        let before = desk.context(&session);
        let record = desk.json(&["compact", "--session", &session, "--window", "64000", "--json"]);
        assert_eq!(record["outcome"], "compacted", "{place}: {}", record["why"]);
        let entry = record["entry"].as_str().expect("a mark").to_owned();
        steps.push(Step { place, entry, before, after: desk.context(&session) });
    }
    Chain { desk, session, steps }
}

#[test]
fn contexts_come_back_byte_for_byte_along_a_chain_of_ten_compactions() {
    for Chain { desk, session, steps } in Desk::of_each_kind().map(chain) {
        let same = |expected: &str, what: &str| assert!(desk.context(&session) == expected, "{what} differs");
        // Back and forward again: nested compactions come and go by themselves.
        for step in steps.iter().rev().chain(&steps) {
            let moved = desk.json(&["rollback", &session, step.place, "--json"]);
            assert!(["moved", "noop"].contains(&moved["outcome"].as_str().expect("a word")), "{moved}");
            same(&step.after, step.place);
        }
        // A place is as large on the way there as on the way back.
        let there = desk.json(&["rollback", &session, steps[4].place, "--json"]);
        let back = desk.json(&["rollback", &session, steps[9].place, "--json"]);
        assert_eq!(
            (&there["tokens_before"], &there["tokens_after"]),
            (&back["tokens_after"], &back["tokens_before"])
        );
        // Undone one after the other, at the end, and used again.
        for step in steps.iter().rev().take(1) {
            desk.printed(&["undo", "--session", &session]);
            same(&step.before, "what was before the last");
            let line = desk.json(&["redo", "--session", &session, "--json"]);
            assert_eq!((&line["outcome"], &line["entry"]), (&json!("redone"), &json!(step.entry)));
            assert_ne!(line["tokens_before"], line["tokens_after"], "nothing covers it");
            same(&step.after, "what was after the last");
        }
        // One in the middle is taken back, what came after it stays, and it can be used again.
        let (fourth, last) = (&steps[3], &steps[9]);
        desk.printed(&["undo", "--session", &session, &fourth.entry]);
        let told = desk.printed(&["redo", "--session", &session, &fourth.entry]);
        let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.contains("the context is as it was: a later compaction covers"), "{told}");
        same(&last.after, "the end");
        // All taken back: the session as it was imported.
        for step in steps.iter().rev() {
            let line = desk.json(&["undo", "--session", &session, "--json"]);
            assert_eq!((&line["outcome"], &line["entry"]), (&json!("undone"), &json!(step.entry)));
        }
        let whole = desk.printed(&["context", "session.jsonl", "--to", "anthropic", "--max-tokens", "1000"]);
        same(&whole, "the session without compactions");
        assert_eq!(
            desk.json(&["undo", "--session", &session, "--json"]),
            json!({"outcome": "noop", "session": session})
        );
        for step in &steps {
            desk.printed(&["redo", "--session", &session, &step.entry]);
        }
        same(&last.after, "all used again");
        assert_eq!(desk.json(&["doctor", "--json"])["problems"], json!([]));
    }
}

#[test]
fn a_chain_is_written_as_its_own_tool_would_have_appended_it() {
    for Chain { desk, session, steps } in Desk::of_each_kind().map(chain) {
        let line = desk.json(&["export", &session, "-o", "back.jsonl", "--json"]);
        assert_eq!((&line["format"], &line["is_original"]), (&json!("claude-code"), &json!(false)));
        let written = desk.bytes("back.jsonl");
        assert!(written.starts_with(&corpus(CLAUDE_CODE)), "what was there stays");
        let seen = desk.printed(&["context", "back.jsonl", "--to", "anthropic", "--max-tokens", "1000"]);
        assert!(seen == steps[9].after, "its tool would send something else");
        // Gone back, the file has no place for it.
        desk.printed(&["rollback", &session, "m0100"]);
        assert_eq!(
            desk.refusal(&["export", &session, "--to", "claude-code", "-o", "back.jsonl"]),
            format!("epitome: {session} was moved from where its claude-code file ends; use --to native\n")
        );
        assert_eq!(desk.json(&["export", &session, "-o", "s.epitome", "--json"])["format"], "native");
    }
}
