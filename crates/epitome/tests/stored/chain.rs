//! Chains of ten compactions on real sessions of several tools: whatever is undone, used again, gone back to or forked, the model sees
//! what it saw before, byte for byte.

use crate::desk::{CLAUDE_CODE, Desk, GEMINI_CLI, OPENCODE, corpus};
use serde_json::{Value, json};

/// So often a session is compacted, at places as far from each other.
const COMPACTIONS: usize = 10;

/// Those along Claude Code's, up to the end of its file.
const PLACES: [&str; COMPACTIONS] =
    ["m0035", "m0070", "m0105", "m0140", "m0175", "m0210", "m0245", "m0280", "m0315", "m0351"];

/// A session compacted ten times, and what the model saw before and after each of them.
struct Chain {
    desk: Desk,
    session: String,
    steps: Vec<Step>,
}

struct Step {
    place: String,
    entry: String,
    before: String,
    after: String,
}

/// Such places along another session.
fn places(desk: &Desk, session: &str) -> Vec<String> {
    let history = desk.json(&["history", session, "--json"]);
    let rows = history["entries"].as_array().expect("a list").iter();
    let is_message =
        |row: &&Value| ["user", "reply", "result"].contains(&row["kind"].as_str().expect("a kind"));
    let ids: Vec<&str> = rows.filter(is_message).map(|row| row["id"].as_str().expect("an id")).collect();
    (1..=COMPACTIONS).map(|part| ids[part * ids.len() / COMPACTIONS - 1].to_owned()).collect()
}

fn chain(desk: Desk, transcript: &str, window: &str) -> Chain {
    let session = desk.import("session.jsonl", corpus(transcript));
    let places =
        if transcript == CLAUDE_CODE { PLACES.map(str::to_owned).to_vec() } else { places(&desk, &session) };
    let mut steps = Vec::new();
    for place in places {
        desk.printed(&["rollback", &session, &place]);
        let before = desk.context(&session);
        let record = desk.json(&["compact", "--session", &session, "--window", window, "--json"]);
        assert_eq!(record["outcome"], "compacted", "{transcript} {place}: {}", record["why"]);
        let entry = record["entry"].as_str().expect("a mark").to_owned();
        steps.push(Step { place, entry, before, after: desk.context(&session) });
    }
    Chain { desk, session, steps }
}

impl Chain {
    /// A chain of Claude Code's with each kind of store.
    fn of_each_kind() -> [Self; 2] {
        Desk::of_each_kind().map(|desk| chain(desk, CLAUDE_CODE, "64000"))
    }

    fn last(&self) -> &Step {
        &self.steps[COMPACTIONS - 1]
    }

    fn sees(&self, expected: &str, what: &str) {
        assert!(self.desk.context(&self.session) == expected, "{what} differs");
    }

    fn go_to(&self, place: &str) -> Value {
        let moved = self.desk.json(&["rollback", &self.session, place, "--json"]);
        assert!(["moved", "noop"].contains(&moved["outcome"].as_str().expect("a word")), "{moved}");
        moved
    }

    /// Takes the newest back, or uses one again; which one that was.
    fn act(&self, act: &[&str], outcome: &str) -> Value {
        let mut line = self.desk.json(&[act, &["--session", &self.session, "--json"]].concat());
        assert_eq!(line["outcome"], outcome, "{line}");
        line["entry"].take()
    }

    /// Back and forward again: nested compactions come and go by themselves.
    fn hold_moves(&self) {
        for step in self.steps.iter().rev().chain(&self.steps) {
            self.go_to(&step.place);
            self.sees(&step.after, &step.place);
        }
        // A place is as large on the way there as on the way back.
        let there = self.go_to(&self.steps[4].place);
        let back = self.go_to(&self.last().place);
        assert_eq!(
            (&there["tokens_before"], &there["tokens_after"]),
            (&back["tokens_after"], &back["tokens_before"])
        );
    }

    /// All taken back, each at its place and the last first: the session as it was imported. Then all are used again.
    fn hold_undo(&self) {
        for step in self.steps.iter().rev() {
            self.go_to(&step.place);
            assert_eq!(self.act(&["undo"], "undone"), json!(step.entry));
            self.sees(&step.before, &step.place);
        }
        self.go_to(&self.last().place);
        let whole = ["context", "session.jsonl", "--to", "anthropic", "--max-tokens", "1000"];
        self.sees(&self.desk.printed(&whole), "the session without compactions");
        let none = self.desk.json(&["undo", "--session", &self.session, "--json"]);
        assert_eq!(none, json!({"outcome": "noop", "session": self.session}));
        for step in &self.steps {
            self.go_to(&step.place);
            assert_eq!(self.act(&["redo"], "redone"), json!(step.entry));
            self.sees(&step.after, &step.place);
        }
    }

    /// One in the middle is taken back, what came after it stays, and it can be used again.
    fn hold_undo_in_the_middle(&self) {
        let fourth = &self.steps[3].entry;
        self.desk.printed(&["undo", "--session", &self.session, fourth]);
        let told = self.desk.printed(&["redo", "--session", &self.session, fourth]);
        let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.contains("the context is as it was: a later compaction covers"), "{told}");
        self.sees(&self.last().after, "the end");
    }

    /// A fork from the middle sees what was seen there, before its newest compaction and behind it.
    fn hold_fork(&self) {
        let middle = &self.steps[COMPACTIONS / 2];
        let forked = self.desk.json(&["fork", &self.session, &middle.place, "--json"]);
        let fork = forked["session"].as_str().expect("a session");
        assert!(self.desk.context(fork) == middle.after, "the fork differs");
        self.desk.printed(&["undo", "--session", fork]);
        assert!(self.desk.context(fork) == middle.before, "the fork differs before its last compaction");
        self.sees(&self.last().after, "the session itself");
    }
}

fn hold(chain: &Chain) {
    chain.hold_undo();
    chain.hold_undo_in_the_middle();
    chain.hold_fork();
    assert_eq!(chain.desk.json(&["doctor", "--json"])["problems"], json!([]));
}

#[test]
fn contexts_of_claude_code_come_back_byte_for_byte_along_a_chain_of_ten_compactions() {
    for chain in Chain::of_each_kind() {
        chain.hold_moves();
        hold(&chain);
    }
}

#[test]
fn contexts_of_other_tools_come_back_byte_for_byte_along_a_chain_of_ten_compactions() {
    let [file, database] = Desk::of_each_kind();
    hold(&chain(file, GEMINI_CLI, "16000"));
    hold(&chain(database, OPENCODE, "16000"));
}

#[test]
fn a_chain_is_written_as_its_own_tool_would_have_appended_it() {
    for chain in Chain::of_each_kind() {
        let Chain { desk, session, .. } = &chain;
        let line = desk.json(&["export", session, "-o", "back.jsonl", "--json"]);
        assert_eq!((&line["format"], &line["is_original"]), (&json!("claude-code"), &json!(false)));
        let written = desk.bytes("back.jsonl");
        assert!(written.starts_with(&corpus(CLAUDE_CODE)), "what was there stays");
        let seen = desk.printed(&["context", "back.jsonl", "--to", "anthropic", "--max-tokens", "1000"]);
        assert!(seen == chain.last().after, "its tool would send something else");
        // Gone back, the file has no place for it.
        desk.printed(&["rollback", session, "m0100"]);
        assert_eq!(
            desk.refusal(&["export", session, "--to", "claude-code", "-o", "back.jsonl"]),
            format!("epitome: {session} was moved from where its claude-code file ends; use --to native\n")
        );
        assert_eq!(desk.json(&["export", session, "-o", "s.epitome", "--json"])["format"], "native");
    }
}
