//! Whose tokens fill a context: tools and files, whichever way a file is named, as messages are shown now.

use super::{ContextFill, FileShare, MessageShare, RepeatedResults, ToolShare};
use crate::ledger::Ledger;
use crate::{
    Author, Block, Call, Compaction, Context, Edit, Entry, EntryId, Form, Image, Log, LogReader, Mark,
    Measure, MemoryArchive, Message, Role, SizeTable, Tail, Tokens,
};
use std::sync::Arc;

/// A token for each byte, and nothing for what stands around it.
struct Bytes;

impl Measure for Bytes {
    fn text(&self, text: &str) -> Tokens {
        Tokens(text.len() as u64)
    }

    fn image(&self, _: &Image) -> Tokens {
        Tokens(1_000)
    }

    fn framing(&self) -> Tokens {
        Tokens::ZERO
    }
}

#[derive(Default)]
struct Told {
    log: Log,
    sizes: SizeTable,
    archive: MemoryArchive,
    ledger: Ledger,
}

impl Told {
    fn say(&mut self, role: Role, author: Author, blocks: Vec<Block>) -> EntryId {
        let message = Message { role, author, blocks };
        let weighed = Bytes.weigh(&message);
        let id = self.log.push(Entry::Message(weighed.item));
        self.sizes.set(id, weighed.sizes);
        self.ledger.update(id, &message);
        self.archive.put(id, message);
        id
    }

    /// A reply with these calls, and a result of its own for each.
    fn run(&mut self, calls: &[(&str, &str, &str)]) {
        let call = |at: usize| Call {
            id: format!("{}.{at}", self.log.len()).as_str().into(),
            name: calls[at].0.into(),
            input: calls[at].1.into(),
            freeform: false,
        };
        let made: Vec<Call> = (0..calls.len()).map(call).collect();
        self.say(Role::Assistant, Author::Model, made.iter().cloned().map(Block::Call).collect());
        for (call, (.., answer)) in made.iter().zip(calls) {
            self.say(Role::Tool, Author::Tool, vec![Block::Result(call.answer(*answer))]);
        }
    }

    fn fill(&self) -> ContextFill {
        let Self { log, sizes, archive, ledger } = self;
        let reader = LogReader { log, sizes, measure: &Bytes, archive };
        let context = Context::of(log.newest(), reader).expect("all is in memory");
        ContextFill::of(&context, ledger, reader).expect("all is in memory")
    }
}

const READ: &str = r#"{"file_path":"/p/a.rs"}"#;

#[test]
fn calls_and_results_are_summed_by_tool_and_by_file_the_largest_first() {
    let mut told = Told::default();
    told.run(&[("Read", READ, &"x".repeat(400)), ("Bash", r#"{"command":"ls"}"#, "a.rs")]);
    told.run(&[("Bash", r#"{"command":"cd /p && cat a.rs"}"#, &"y".repeat(300))]);
    told.run(&[("Edit", r#"{"file_path":"/p/a.rs","old_string":"x","new_string":"y"}"#, "done")]);
    let fill = told.fill();
    let tool = |name: &str, calls, call_tokens, result_tokens| ToolShare {
        name: name.into(),
        calls,
        call_tokens: Tokens(call_tokens),
        result_tokens: Tokens(result_tokens),
    };
    assert_eq!(fill.tools, [tool("Read", 1, 27, 400), tool("Bash", 2, 55, 304), tool("Edit", 1, 61, 4)]);
    let tokens = Tokens(27 + 400 + 35 + 300 + 61 + 4);
    assert_eq!(fill.files, [FileShare { path: "/p/a.rs".into(), reads: 2, changes: 1, tokens }]);
    assert_eq!(
        (fill.kinds.calls, fill.kinds.results),
        (Tokens(143), Tokens(708)),
        "nothing is counted twice"
    );
    let about = |at: usize| {
        let MessageShare { id, tokens, tool, file, .. } = &fill.messages[at];
        (id.0, tokens.0, tool.as_deref(), file.as_deref())
    };
    assert_eq!(about(0), (0, 47, None, None), "a reply that calls two is of none");
    assert_eq!(about(1), (1, 400, Some("Read"), Some("/p/a.rs")));
}

#[test]
fn what_is_shown_shorter_counts_as_it_is_shown() {
    let mut told = Told::default();
    told.run(&[("Read", READ, &"x".repeat(4_000))]);
    let form = Form { results: true, ..Form::WHOLE };
    let edit = Edit { forms: vec![(EntryId(1), form)] };
    let mark = Mark::Edit { edit, record: Arc::default() };
    told.log.mark(told.log.newest(), mark).expect("it is in view");
    let fill = told.fill();
    let shown = fill.tools[0].result_tokens;
    assert!(shown > Tokens::ZERO && shown < Tokens(400), "{shown}");
    assert_eq!(
        (fill.kinds.results, fill.messages[1].tokens, fill.files[0].tokens),
        (shown, shown, shown + Tokens(27))
    );
}

#[test]
fn a_summary_stands_apart_and_what_it_covers_is_not_counted() {
    let mut told = Told::default();
    told.run(&[("Read", READ, &"x".repeat(400))]);
    let summary = Some("what was read".into());
    told.log.push(Entry::Recorded(Box::new(Compaction {
        summary,
        tail: Tail::Nothing,
        ..Compaction::default()
    })));
    told.say(Role::User, Author::Person, vec![Block::text("go on")]);
    let fill = told.fill();
    assert_eq!(
        (fill.summary, fill.kinds.total(), fill.tools, fill.files),
        (Tokens(13), Tokens(5), vec![], vec![])
    );
}

#[test]
fn a_result_that_comes_again_word_for_word_is_repeated_and_a_receipt_is_not() {
    let mut told = Told::default();
    let long = "x".repeat(100);
    for answer in [&*long, "ok", &*long, "ok", &*long] {
        told.run(&[("Bash", r#"{"command":"make"}"#, answer)]);
    }
    assert_eq!(told.fill().repeated, RepeatedResults { count: 2, tokens: Tokens(200) });
}
