//! What Operator-Use asks of a model, and what becomes of the answer.

use crate::{WINDOW, bed, compact, exchanges, summary, tail};
use epitome_core::{CallResult, Purpose, SummaryInput, SummaryRequest, Tokens};
use epitome_engine::{BoxFuture, Model, SummaryModel};
use epitome_settings::prompts;
use epitome_testbed::{Bed, Maker, good};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::Poll;

/// The texts of the messages of a request, and what to do with them.
fn told(request: &SummaryRequest) -> (Vec<String>, String) {
    match &request.body {
        SummaryInput::Messages { messages, instruction } => {
            (messages.iter().map(|message| message.said()).collect(), instruction.to_string())
        }
        SummaryInput::Text(_) | SummaryInput::Prefix { .. } => {
            panic!("Operator-Use hands over whole messages")
        }
    }
}

fn purposes(bed: &Bed) -> Vec<(Purpose, u32)> {
    bed.model.requests().iter().map(|request| (request.purpose, request.attempt)).collect()
}

#[test]
fn o9_with_a_summary_before_it_the_update_prompt_is_used() {
    let prompts = prompts::built_in("operator-use").expect("it is built in");
    let mut bed = bed("operator-use");
    bed.model.then(good("## Goal\nship it"));
    bed.talk(2, 1_000);
    let kept = tail(&mut bed);
    let texts = bed.shown();
    compact(&mut bed);
    tail(&mut bed);
    compact(&mut bed);
    let requests = bed.model.requests();
    assert_eq!(told(&requests[0]), (texts[..2].to_vec(), prompts.first.to_string()));
    let previous = "<previous-summary>\n## Goal\nship it\n</previous-summary>".to_owned();
    let second: Vec<String> = [previous].into_iter().chain(texts[2..2 + kept.len()].to_vec()).collect();
    assert_eq!(told(&requests[1]), (second, prompts.update.to_string()));
}

#[test]
fn o10_an_ordinary_cut_takes_one_call() {
    let mut bed = bed("operator-use");
    bed.talk(6, 1_000);
    tail(&mut bed);
    let record = compact(&mut bed);
    assert_eq!((purposes(&bed), record.spent.calls), (vec![(Purpose::History, 0)], 1));
}

#[test]
fn o11_a_cut_turn_takes_two_calls_at_once() {
    let mut bed = Maker::new("operator-use", WINDOW).model(|model| model.parallel()).bed();
    bed.model.then(good("## Goal\nship it")).then(good("- make it green"));
    bed.talk(2, 1_000);
    bed.user("make it green");
    exchanges(&mut bed, 8);
    compact(&mut bed);
    // Neither knows of the other: both were asked before any was answered.
    assert_eq!(purposes(&bed), [(Purpose::History, 0), (Purpose::TurnPrefix, 0)]);
    assert_eq!(summary(&bed), "## Goal\nship it\n\n---\n\n**Turn Context (split turn):**\n\n- make it green");
}

/// A model that answers no call before it was asked twice.
#[derive(Default)]
struct Pair(AtomicU32);

impl Model for Pair {
    fn name(&self) -> &str {
        "pair"
    }

    fn window(&self) -> Tokens {
        Tokens(200_000)
    }

    fn output_max(&self) -> Tokens {
        Tokens(8_000)
    }

    fn takes_parallel(&self) -> bool {
        true
    }

    fn summarize(&self, request: SummaryRequest) -> BoxFuture<'_, CallResult> {
        self.0.fetch_add(1, Ordering::Relaxed);
        let text = format!("## Goal\n{:?}", request.purpose);
        Box::pin(std::future::poll_fn(move |_| match self.0.load(Ordering::Relaxed) {
            0 | 1 => Poll::Pending,
            _ => Poll::Ready(good(&text)),
        }))
    }
}

#[test]
fn o11_both_calls_of_a_cut_turn_are_under_way_at_once() {
    let mut bed = bed("operator-use");
    bed.driver.ports_mut().model = Some(SummaryModel::apart(Arc::new(Pair::default())));
    bed.talk(2, 1_000);
    bed.user("make it green");
    exchanges(&mut bed, 8);
    // Asked one after the other, the first would never be answered.
    assert_eq!(compact(&mut bed).spent.calls, 2);
}

#[test]
fn o12_a_cut_turn_without_history_keeps_the_summary_before_it() {
    let result = |preset: &str| {
        let mut bed = bed(preset);
        bed.model.then(good("## Goal\nship it")).then(good("- make it green"));
        bed.talk(2, 1_000);
        let text = bed.filler(21_000);
        bed.user(&text);
        compact(&mut bed);
        exchanges(&mut bed, 8);
        compact(&mut bed);
        assert_eq!(purposes(&bed), [(Purpose::History, 0), (Purpose::TurnPrefix, 0)]);
        summary(&bed)
    };
    let joined = "## Goal\nship it\n\n---\n\n**Turn Context (split turn):**\n\n- make it green";
    assert_eq!(["operator-use", "operator-use@2"].map(result), [joined; 2]);
}

/// The lists behind the summary of a session that made these calls.
fn lists(calls: &[(&str, &str)]) -> String {
    let mut bed = bed("operator-use");
    bed.model.then(good("## Goal\nship it"));
    bed.talk(2, 1_000);
    for (tool, input) in calls {
        bed.exchange(tool, input, "done");
    }
    tail(&mut bed);
    compact(&mut bed);
    summary(&bed).strip_prefix("## Goal\nship it\n\n").expect("the model's words come first").to_owned()
}

#[test]
fn o13_files_read_and_files_changed_are_listed() {
    let calls = [
        ("read", r#"{"path":"read.py"}"#),
        ("write", r#"{"path":"created.py","content":"x = 1"}"#),
        ("edit", r#"{"path":"updated.py","old_string":"x","new_string":"y"}"#),
        ("delete", r#"{"path":"deleted.py"}"#),
    ];
    assert_eq!(
        lists(&calls),
        "<read-files>\nread.py\n</read-files>\n\n<modified-files>\ncreated.py\ndeleted.py\nupdated.py\n</modified-files>"
    );
}

#[test]
fn o13_files_of_the_kept_tail_are_not_listed() {
    let mut bed = bed("operator-use");
    bed.model.then(good("## Goal\nship it"));
    bed.talk(2, 1_000);
    bed.exchange("read", r#"{"path":"old.py"}"#, "done");
    tail(&mut bed);
    bed.exchange("edit", r#"{"path":"new.py","old_string":"x","new_string":"y"}"#, "done");
    compact(&mut bed);
    assert_eq!(summary(&bed), "## Goal\nship it\n\n<read-files>\nold.py\n</read-files>");
}

#[test]
fn o23_renamed_tools_count_by_what_they_do() {
    let calls = [
        ("workspace__view_document", r#"{"file_path":"read.py"}"#),
        ("swap", r#"{"target_file":"changed.py","old_text":"x","new_text":"y"}"#),
    ];
    assert_eq!(
        lists(&calls),
        "<read-files>\nread.py\n</read-files>\n\n<modified-files>\nchanged.py\n</modified-files>"
    );
}

#[test]
fn o24_custom_instructions_are_in_the_request() {
    let mut bed = bed("operator-use");
    bed.session.options_mut().focus = Some("keep the API list".into());
    bed.talk(2, 1_000);
    tail(&mut bed);
    compact(&mut bed);
    let (_, instruction) = told(&bed.model.requests()[0]);
    assert!(instruction.ends_with("\n\nAdditional focus: keep the API list"));
}

#[test]
fn the_real_program_appends_open_todos() {
    let mut bed = bed("operator-use@2");
    bed.model.then(good("## Goal\nship it"));
    bed.talk(2, 1_000);
    let todos = r#"{"todos":[{"content":"write the tests","status":"pending"}]}"#;
    bed.exchange("todo_write", todos, "done");
    tail(&mut bed);
    compact(&mut bed);
    assert_eq!(summary(&bed), "## Goal\nship it\n\n## Open todos (from the log)\n- [ ] write the tests");
}
