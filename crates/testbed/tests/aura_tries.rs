//! aura, again: a summary made part by part, and what is tried where one fails.

use epitome_core::{EntryId, Failure, Message, Purpose, Record, SummaryInput, SummaryRequest, Trigger};
use epitome_engine::Event;
use epitome_testbed::{Bed, Maker, failed, good, written};
use std::sync::Arc;

const WINDOW: u64 = 100_000;
const TODOS: &str = r#"{"todos":[{"content":"write the parser","status":"pending"}]}"#;

/// A session whose summaries are made in three parts.
fn in_parts() -> Bed {
    Maker::new("aura", WINDOW).set(|policy| policy.summary.chunks = 3).bed()
}

/// The messages of a request.
fn given(request: &SummaryRequest) -> Vec<Message> {
    match &request.body {
        SummaryInput::Messages { messages, .. } => {
            messages.iter().map(|message| Message::clone(message)).collect()
        }
        SummaryInput::Text(_) | SummaryInput::Prefix { .. } => {
            panic!("aura hands over messages, not {request:?}")
        }
    }
}

/// How long the only result of a request is, the note of what is missing apart.
fn result_chars(request: &SummaryRequest) -> usize {
    let texts: Vec<String> = given(request)
        .iter()
        .flat_map(|message| message.results().map(|result| result.text()).collect::<Vec<_>>())
        .collect();
    let [text] = &texts[..] else { panic!("one result, not {texts:?}") };
    text.chars().take_while(|&c| c == '=').count()
}

/// A session due for compaction, with one long result to be summarised.
fn due(preset: &str) -> (Bed, Vec<EntryId>) {
    let mut bed = Bed::new(preset, WINDOW);
    let mut ids = bed.talk(1, 500);
    let (call, result) = bed.exchange("read", r#"{"path":"a.txt"}"#, &"=".repeat(5_000));
    ids.extend([call, result]);
    ids.extend(bed.talk(40, 2_000));
    (bed, ids)
}

fn tried(preset: &str, called: epitome_core::CallResult) -> (Bed, Arc<Record>, Vec<EntryId>) {
    let (mut bed, ids) = due(preset);
    bed.model.always(called);
    let record = bed.compact(Trigger::Threshold);
    (bed, record, ids)
}

#[test]
fn a17_three_parts_are_asked_for_in_order_each_with_the_summary_so_far() {
    let mut bed = in_parts();
    bed.talk(40, 500);
    bed.model.then(good("first of three")).then(good("second of three")).then(good("third of three"));
    let record = bed.compact(Trigger::Manual);
    let requests = bed.model.requests();
    let purposes: Vec<Purpose> = requests.iter().map(|request| request.purpose).collect();
    assert_eq!(purposes, [1, 2, 3].map(|number| Purpose::Part { number, of: 3 }));
    let carried = |request: &SummaryRequest| {
        let said = given(request)[0].said();
        said.starts_with("<previous-summary>").then_some(said)
    };
    let previous = |text: &str| Some(format!("<previous-summary>\n{text}\n</previous-summary>"));
    assert_eq!(
        requests.iter().map(carried).collect::<Vec<_>>(),
        [None, previous("first of three"), previous("second of three")]
    );
    let summary = record.change().and_then(|change| change.summary.clone()).expect("it was compacted");
    assert!(summary.contains("third of three") && !summary.contains("second of three"), "{summary}");
}

#[test]
fn a18_todos_are_in_the_last_of_three_requests_only() {
    let mut bed = in_parts();
    bed.talk(32, 500);
    bed.exchange("TodoWrite", TODOS, "ok");
    bed.talk(10, 500);
    bed.compact(Trigger::Manual);
    let has_todos = |request: &SummaryRequest| {
        written(request).contains("## Open todos (from the log)\n- [ ] write the parser")
    };
    let with_todos: Vec<bool> = bed.model.requests().iter().map(has_todos).collect();
    let named: Vec<bool> = bed.model.asked().iter().map(|asked| asked.contains("write the parser")).collect();
    assert_eq!((with_todos, named), (vec![false, false, true], vec![false, false, true]));
}

#[test]
fn a19_a_part_ends_behind_the_results_of_its_last_call() {
    let mut bed = in_parts();
    bed.talk(9, 500);
    bed.call(&[("read", r#"{"path":"a"}"#), ("read", r#"{"path":"b"}"#)]);
    bed.results(&["text of a", "text of b"]);
    bed.talk(29, 500);
    bed.compact(Trigger::Manual);
    // Thirty leave; the first ten would end at the call. The later parts begin with the summary so far.
    let own: Vec<usize> = bed.model.requests().iter().map(|request| given(request).len()).collect();
    assert_eq!(own, [11, 10 + 1, 9 + 1]);
}

#[test]
fn a20_results_are_shortened_before_anything_else_changes() {
    let too_large = good(&"a long story ".repeat(30_000));
    let (bed, ..) = tried("aura", too_large);
    let requests = bed.model.requests();
    let first_five: Vec<usize> = requests[..5].iter().map(result_chars).collect();
    let messages: Vec<usize> = requests[..5].iter().map(|request| given(request).len()).collect();
    assert_eq!((first_five, messages), (vec![200, 150, 100, 50, 0], vec![33; 5]));
}

#[test]
fn a21_after_that_one_message_less_is_kept_down_to_none() {
    let (bed, ..) = tried("aura", failed(Failure::TimedOut));
    let requests = bed.model.requests();
    let messages: Vec<usize> = requests[4..].iter().map(|request| given(request).len()).collect();
    assert_eq!(messages, (33..=43).collect::<Vec<_>>());
}

#[test]
fn a21_aura_code_keeps_fewer_four_times_at_most() {
    let (bed, ..) = tried("aura@code", failed(Failure::TimedOut));
    let requests = bed.model.requests();
    let messages: Vec<usize> = requests[4..].iter().map(|request| given(request).len()).collect();
    assert_eq!(messages, [33, 34, 35, 36, 37]);
}

#[test]
fn a22_where_all_of_it_fails_the_session_goes_on_and_says_what_to_do() {
    let (mut bed, record, ids) = tried("aura", failed(Failure::TimedOut));
    assert_eq!((record.outcome.name(), bed.in_view()), ("abandoned", ids));
    let why = record.outcome.why().expect("it says why");
    assert!(why.contains("compact by hand") && why.contains("begin a new session"), "{why}");
    let events = bed.take_events();
    assert_eq!(events.last(), Some(&Event::Failed { why, in_a_row: 1 }));
    let next = bed.user("go on");
    assert_eq!(bed.in_view().last(), Some(&next));
}
