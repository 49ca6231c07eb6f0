//! Lessons, second part: compaction that cannot run. Each test is named by its row of the list of what
//! users of such systems suffered (`l15` to `l30`).
//!
//! # Pending
//!
//! - l29: a throttled summariser still counts like one that failed; it is to be counted apart.

mod parts;
mod provider;
mod script;

use epitome_core::{
    Author, Block, CallResult, Change, Coverage, Dollars, Failure, Fallback, Message, MessageView, Record,
    ResultPart, Role, Stop, Strategy, SummaryInput, SummaryReply, SummaryRequest, Tokens, ToolResult,
    Trigger,
};
use epitome_settings::{Sources, resolve};
use epitome_testbed::{Bed, Maker, change, cut_off, due, failed, good, tool_call, word};
use epitome_wire::encode::{self, RequestParts};
use epitome_wire::{Protocol, validate};
use std::sync::Arc;

const WINDOW: u64 = 20_000;

/// What came of a compaction that a session needed.
fn made(bed: &mut Bed) -> Change {
    change(bed.prepare())
}

/// The same with how it came about.
fn recorded(bed: &mut Bed) -> (Change, Arc<Record>) {
    let record = bed.prepare().expect("it is due");
    (change(Some(record.clone())), record)
}

/// What a compaction came to when every answer was this one: who did it, what was given up, how many calls.
fn always(called: CallResult) -> (Strategy, Vec<Fallback>, usize) {
    let mut bed = due(Maker::new("default", WINDOW));
    bed.model.always(called);
    let (made, record) = recorded(&mut bed);
    assert!(!bed.session.check().is_due());
    (made.strategy, record.fallbacks.clone(), bed.model.requests().len())
}

fn given_up(why: &str) -> Vec<Fallback> {
    vec![Fallback { strategy: Strategy::Summarize, why: why.into() }]
}

/// The rules of the three protocols that messages break once they are encoded.
fn violations(messages: &[Arc<Message>]) -> Vec<String> {
    let shown: Vec<MessageView> =
        messages.iter().map(|message| MessageView { id: None, message: message.clone() }).collect();
    let parts = RequestParts { model: Some("m"), max_tokens: Some(100), ..RequestParts::default() };
    let mut found = Vec::new();
    for protocol in Protocol::ALL {
        let body = encode::body(protocol, &parts, &shown).expect("there are no tools to go wrong");
        let body = serde_json::from_slice(&body).expect("a body is JSON");
        found.extend(validate::body(protocol, &body).iter().map(|broken| format!("{protocol} {broken}")));
    }
    found
}

#[test]
fn l15_a_history_of_ten_windows_is_compacted_without_a_model() {
    let mut bed = Maker::new("default", WINDOW).no_model().bed();
    bed.talk(1_000, 200);
    let (made, record) = recorded(&mut bed);
    assert_eq!((made.strategy, &record.fallbacks), (Strategy::Summarize, &vec![]));
    // The first message and the newest exchange stand outside the target.
    assert!(bed.session.context().tokens() <= made.target + Tokens(3 * 200));
}

#[test]
fn l15_a_summariser_is_asked_for_no_more_than_its_own_window_holds() {
    let mut bed = Maker::new("default", WINDOW).model(|model| model.with_window(8_000)).bed();
    bed.talk(300, 200);
    made(&mut bed);
    let sizes: Vec<usize> = bed.model.asked().iter().map(|asked| asked.len() / 4).collect();
    assert!(sizes.len() > 5 && sizes.iter().all(|&size| size < 8_000), "{sizes:?}");
}

#[test]
fn l15_a_request_refused_as_too_long_is_halved() {
    let mut bed = due(Maker::new("default", WINDOW));
    bed.model.then(failed(Failure::TooLong { over: None }));
    let made = made(&mut bed);
    let sizes: Vec<usize> = bed.model.asked().iter().map(String::len).collect();
    assert!(sizes[1] < sizes[0] * 6 / 10 && sizes[2] < sizes[0] * 7 / 10, "{sizes:?}");
    assert_eq!((sizes.len(), made.strategy), (3, Strategy::Summarize));
}

#[test]
fn l16_no_more_output_is_asked_for_than_the_model_gives() {
    for preset in ["default", "aura", "claude-code", "kaged", "operator-use", "pi"] {
        let mut bed = Maker::new(preset, 200_000).model(|model| model.with_output_max(4_096)).bed();
        bed.talk(400, 490);
        bed.compact(Trigger::Manual);
        let limits: Vec<Tokens> = bed.model.requests().iter().map(|request| request.output_max).collect();
        assert!(
            !limits.is_empty() && limits.iter().all(|&most| most <= Tokens(4_096)),
            "{preset}: {limits:?}"
        );
    }
}

#[test]
fn l17_reasoning_that_ate_the_answer_is_a_failure_and_the_next_try_is_told_apart() {
    let mut bed = due(Maker::new("default", WINDOW));
    bed.model.then(cut_off(""));
    let made = made(&mut bed);
    let attempts: Vec<u32> = bed.model.requests().iter().map(|request| request.attempt).collect();
    assert_eq!((made.strategy, attempts), (Strategy::Summarize, vec![0, 1]));
    assert!(bed.model.asked()[1].contains("the summary was cut off at its limit"));
}

#[test]
fn l19_a_tool_call_in_place_of_a_summary_is_asked_for_again_once_and_then_done_without() {
    let why = "the summariser called a tool instead of writing";
    assert_eq!(always(tool_call()), (Strategy::Summarize, given_up(why), 2));
}

#[test]
fn l19_an_answer_in_a_frame_of_its_own_is_taken() {
    let mut bed = due(Maker::new("default", WINDOW));
    bed.model.then(good("<summary>\n## Goal\nship it\n</summary>"));
    let summary = made(&mut bed).summary.expect("there is one");
    assert!(summary.contains("\n## Goal\nship it\n") && !summary.contains("<summary>"), "{summary}");
    assert_eq!(bed.model.requests().len(), 1);
}

#[test]
fn l20_an_error_text_that_came_as_an_answer_is_no_summary() {
    for text in ["Claude AI usage limit reached|1749924000", "API Error: 529 overloaded_error"] {
        let why = format!("what came back is no summary: {text}");
        assert_eq!(always(good(text)), (Strategy::Summarize, given_up(&why), 2));
    }
    let refused = always(CallResult {
        result: Ok(SummaryReply { text: "no".into(), stop: Stop::Refusal, native: None }),
        ..good("")
    });
    assert_eq!(refused, (Strategy::Summarize, given_up("the summariser would not answer"), 2));
}

#[test]
fn l21_a_result_larger_than_the_window_is_met_before_the_next_call() {
    let mut bed = Bed::new("default", WINDOW);
    bed.talk(10, 200);
    assert!(bed.prepare().is_none());
    let (call, result) = bed.exchange("fetch", r#"{"url":"https://example.com"}"#, &"x".repeat(1_700_000));
    let made = made(&mut bed);
    assert_eq!(bed.in_view().last_chunk(), Some(&[call, result]));
    assert!(made.reduced.contains(&result), "{:?}", made.reduced);
    assert!(bed.session.budget().fits(bed.session.context().tokens()) && !bed.session.check().is_due());
}

#[test]
fn l22_two_messages_of_which_one_is_giant_can_be_compacted() {
    for is_first_giant in [true, false] {
        let mut bed = Bed::new("default", WINDOW);
        let giant = bed.filler(40_000);
        let texts = if is_first_giant { [giant.as_str(), "I see"] } else { ["look at this", giant.as_str()] };
        let ids = [bed.user(texts[0]), bed.assistant(texts[1])];
        bed.prepare().expect("it is due");
        assert!(bed.session.budget().fits(bed.session.context().tokens()) && !bed.session.check().is_due());
        assert_eq!(bed.in_view()[0], ids[0]);
    }
}

#[test]
fn l23_the_record_says_how_much_the_summariser_saw() {
    let mut bed = Bed::new("default", WINDOW);
    bed.user("begin");
    bed.exchange("read", r#"{"path":"a.txt"}"#, &"=".repeat(20_000));
    bed.talk(90, 200);
    // The first answer is of no use: what was cut for it does not count twice.
    bed.model.then(good(""));
    let made = made(&mut bed);
    let leaving = made.superseded.len();
    assert_eq!(made.shown, Some(Coverage { messages: leaving, of: leaving, cut: 1 }));
}

#[test]
fn l23_what_the_summariser_did_not_see_is_marked() {
    let mut bed = due(Maker::new("claude-code@2.1", 30_000).set(|settings| {
        settings.trigger.absolute = Some(Tokens(15_000));
    }));
    bed.model.then(failed(Failure::TooLong { over: Some(Tokens(3_000)) }));
    let record = bed.compact(Trigger::Manual);
    let made = change(Some(record.clone()));
    let seen = made.shown.expect("a model was asked");
    assert!(seen.messages < seen.of, "{seen:?}");
    let note = format!(
        "the summariser was shown {} of {} messages; the rest is covered by what the machine copied",
        seen.messages, seen.of
    );
    assert!(record.notes.contains(&note), "{:?}", record.notes);
}

#[test]
fn l24_an_empty_configuration_compacts_without_a_model() {
    let resolved = resolve(&Sources::default()).expect("nothing set is nothing wrong");
    let maker = Maker::new("default", WINDOW).set(|settings| *settings = resolved.policy.settings().clone());
    let mut bed = due(maker.no_model());
    let record = bed.prepare().expect("it is due");
    assert_eq!((word(&record), record.cost), ("compacted", Dollars::default()));
    let made = change(Some(record));
    assert_eq!(made.summarizer.as_deref(), Some("the embedded summariser"));
}

#[test]
fn l25_a_result_without_a_call_does_not_break_the_summary_request() {
    let mut bed = Bed::new("aura", WINDOW);
    bed.talk(5, 200);
    let parts = vec![ResultPart::Text { text: "what became of me?".into() }];
    let orphan = ToolResult { call: "nobody".into(), parts, is_error: false };
    bed.say(Message { role: Role::Tool, author: Author::Tool, blocks: vec![Block::Result(orphan)] });
    bed.talk(85, 200);
    assert_eq!(made(&mut bed).strategy, Strategy::Summarize);
    let [SummaryRequest { body: SummaryInput::Messages { messages, .. }, .. }] = &bed.model.requests()[..]
    else {
        panic!("one request of messages")
    };
    assert!(messages.iter().any(|message| message.results().count() == 1));
    assert_eq!(violations(messages), Vec::<String>::new());
}
