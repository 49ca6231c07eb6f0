//! aura, what: which messages stay, what the summariser is shown of the others, and what the new
//! context consists of.

use epitome_core::{
    Author, Block, EntryId, Message, ResultPart, Role, SummaryInput, SummaryRequest, Trigger,
};
use epitome_testbed::{Bed, Maker, good, written};

const WINDOW: u64 = 100_000;

/// Compacts by hand: the messages covered, and those in view.
fn compacted(bed: &mut Bed) -> (Vec<EntryId>, Vec<EntryId>) {
    let record = bed.compact(Trigger::Manual);
    let change = record.change().expect("it was compacted");
    (change.superseded.clone(), bed.in_view())
}

/// The messages that the only summary call was given.
fn given(bed: &Bed) -> Vec<Message> {
    let requests = bed.model.requests();
    let [SummaryRequest { body: SummaryInput::Messages { messages, .. }, .. }] = &requests[..] else {
        panic!("one call with messages, not {requests:?}");
    };
    messages.iter().map(|message| Message::clone(message)).collect()
}

fn todos() -> &'static str {
    r#"{"todos":[{"content":"write the parser","status":"in_progress"},{"content":"test it","status":"pending"}]}"#
}

#[test]
fn a9_of_forty_messages_the_last_ten_stay() {
    let mut bed = Bed::new("aura", WINDOW);
    let ids = bed.talk(40, 500);
    assert_eq!(compacted(&mut bed), (ids[..30].to_vec(), ids[30..].to_vec()));
    assert_eq!(given(&bed).len(), 30);
}

#[test]
fn a10_a_result_that_stays_brings_its_call() {
    let mut bed = Bed::new("aura", WINDOW);
    let mut ids = bed.talk(30, 500);
    let (call, result) = bed.exchange("read", r#"{"path":"a.rs"}"#, &"fn a() {}\n".repeat(100));
    ids.push(call);
    let mut tail = vec![call, result];
    tail.extend(bed.talk(9, 500));
    assert_eq!(compacted(&mut bed), (ids[..30].to_vec(), tail));
}

#[test]
fn a11_the_summariser_sees_no_thinking_and_the_log_keeps_it() {
    let mut bed = Bed::new("aura", WINDOW);
    bed.talk(1, 500);
    let thinking =
        Block::Thinking { text: "what do they mean".into(), signature: Some("seal".into()), redacted: false };
    let text = bed.filler(500);
    let blocks = vec![thinking, Block::text(text.clone())];
    let thought = Message { role: Role::Assistant, author: Author::Model, blocks };
    let id = bed.say(thought.clone());
    bed.talk(20, 500);
    compacted(&mut bed);
    assert_eq!(given(&bed)[1], Message { blocks: vec![Block::text(text)], ..thought.clone() });
    assert_eq!(*bed.original(id), thought);
}

#[test]
fn a12_the_summariser_sees_200_characters_of_a_result() {
    let mut bed = Bed::new("aura", WINDOW);
    bed.talk(1, 500);
    let long = "0123456789".repeat(500);
    bed.exchange("read", r#"{"path":"a.txt"}"#, &long);
    bed.talk(20, 500);
    compacted(&mut bed);
    let results: Vec<ResultPart> =
        given(&bed).iter().flat_map(Message::results).flat_map(|result| result.parts.clone()).collect();
    let cut = format!("{}\n[... 4800 more characters truncated]", &long[..200]);
    assert_eq!(results, [ResultPart::Text { text: cut.into() }]);
}

#[test]
fn a13_the_new_context_is_the_summary_and_what_stays() {
    let mut bed = Bed::new("aura", WINDOW);
    bed.talk(40, 500);
    let before = bed.shown();
    bed.model.then(good("## Task\nport the parser\n\n## Remaining work\n- tests"));
    compacted(&mut bed);
    let shown = bed.session.shown().expect("all is in memory");
    assert_eq!(bed.shown()[1..], before[30..]);
    assert_eq!((shown[0].id, shown[0].message.role), (None, Role::User));
    assert!(bed.shown()[0].contains("## Task\nport the parser\n\n## Remaining work\n- tests"));
}

#[test]
fn a14_open_todos_stand_behind_a_summary_that_forgot_them() {
    let mut bed = Bed::new("aura", WINDOW);
    bed.talk(1, 500);
    bed.exchange("TodoWrite", todos(), "ok");
    bed.talk(20, 500);
    bed.model.then(good("## Task\nport it"));
    compacted(&mut bed);
    let summary = &bed.shown()[0];
    let list = "## Task\nport it\n\n## Open todos (from the log)\n- [~] write the parser\n- [ ] test it\nCheck which of these are done before going on.\n";
    assert!(summary.contains(list), "{summary}");
}

#[test]
fn a15_the_prompt_wants_checklists_word_for_word() {
    let mut bed = Bed::new("aura", WINDOW);
    bed.user("Requirements:\n- [ ] reads TOML\n- [ ] exits 2 on usage");
    bed.talk(20, 500);
    compacted(&mut bed);
    let asked = written(&bed.model.requests()[0]);
    for wanted in [
        "- [ ] reads TOML\n- [ ] exits 2 on usage",
        "Every requirement list, checklist and acceptance criterion, word for word",
        "File paths, addresses, package names, versions and dependencies that were chosen",
        "Decisions that were stated in the conversation",
    ] {
        assert!(asked.contains(wanted), "{wanted}");
    }
}

#[test]
fn a33_keeping_nothing_leaves_the_summary_alone() {
    for preset in ["aura", "aura@code"] {
        let maker = Maker::new(preset, WINDOW)
            .set(|policy| policy.keep.newest = epitome_core::policy::Newest::Messages(0));
        let mut bed = maker.bed();
        let ids = bed.talk(1, 4_000);
        assert_eq!(compacted(&mut bed), (ids, vec![]), "{preset}");
        assert_eq!(bed.shown().len(), 1, "{preset}");
    }
}
