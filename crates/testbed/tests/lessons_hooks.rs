//! Lessons of others, rows 114 to 118: what hooks are told, what they may say, and what becomes of those
//! that hang or fail.
//!
//! # Pending
//!
//! - l114: events and verdicts cross to other processes with plugins; here is the form they have.
//! - l115: deadlines of other processes come with plugins; a hook in this one has its own here.

use epitome_core::{Archive, EntryId, HookRun, HookSummary, PlanChanges, Record, Verdict, fence};
use epitome_testbed::{Bed, Maker, TestHook, change, word};
use serde_json::json;
use std::sync::{Arc, PoisonError};

const WINDOW: u64 = 100_000;

/// A session with a hook, and its messages: so many of 1,000 tokens.
fn hooked(hook: TestHook, messages: usize) -> (Bed, Arc<TestHook>, Vec<EntryId>) {
    let hook = Arc::new(hook);
    let mut bed = Maker::new("default", WINDOW).hook(hook.clone()).bed();
    let ids = bed.talk(messages, 1_000);
    (bed, hook, ids)
}

/// What came of a compaction with a hook that always says this.
fn with(verdict: Result<Option<Verdict>, String>) -> (Bed, Arc<Record>) {
    let (mut bed, ..) = hooked(TestHook::new("plugin").says(verdict), 80);
    let record = bed.prepare().expect("it is due");
    (bed, record)
}

fn proceed(wishes: PlanChanges) -> Result<Option<Verdict>, String> {
    Ok(Some(Verdict::Proceed(wishes)))
}

fn told(record: &Record) -> Vec<&str> {
    record.hooks.iter().map(|run| run.told.as_str()).collect()
}

#[test]
fn l114_hooks_are_told_what_is_about_to_happen_in_fields() {
    let (mut bed, hook, ids) = hooked(TestHook::new("plugin"), 80);
    bed.prepare().expect("it is due");
    let told = serde_json::to_value(&hook.told()[0]).expect("an event is JSON");
    let staying = [&ids[..1], &ids[65..]].concat();
    assert_eq!(
        told,
        json!({
            "ordinal": 1, "trigger": "threshold", "is_recovery": false, "strategy": "summarize",
            "tokens": 80_000, "window": WINDOW, "target": 45_000,
            "leaving": ids[1..65], "staying": staying, "cut_turn": ids[64], "previous": null, "focus": null,
        })
    );
    bed.talk(80, 1_000);
    bed.prepare().expect("it is due again");
    assert_eq!((hook.told()[1].ordinal, hook.told()[1].previous.is_some()), (2, true));
    assert_eq!(hook.records().iter().map(word).collect::<Vec<_>>(), ["compacted"; 2]);
}

#[test]
fn l114_verdicts_are_written_in_words() {
    let verdicts = [
        json!({"verdict": "veto", "why": "in a release"}),
        json!({"verdict": "proceed", "retain": ["m0003"], "inject": "text", "guidance": "mind the tests", "summary": null}),
        json!({"verdict": "proceed", "retain": [], "inject": null, "guidance": null, "summary": {"text": "all of it", "keep_from": "m0007"}}),
    ];
    for verdict in verdicts {
        let read: Verdict = serde_json::from_value(verdict.clone()).expect("a verdict");
        assert_eq!(serde_json::to_value(read).expect("a verdict is JSON"), verdict);
    }
}

#[test]
fn l114_a_warning_comes_early_and_once() {
    let (mut bed, hook, _) = hooked(TestHook::new("plugin"), 69);
    let warned = |hook: &TestHook| *hook.warned.lock().unwrap_or_else(PoisonError::into_inner);
    bed.prepare();
    assert_eq!(warned(&hook), 0);
    bed.talk(2, 1_000);
    bed.prepare();
    bed.prepare();
    assert_eq!((warned(&hook), hook.told()), (1, vec![]));
}

#[test]
fn l114_a_hook_can_replace_the_summary_and_say_where_the_kept_part_begins() {
    let supplied = HookSummary { text: "## Goal\nby the plugin".into(), keep_from: Some(EntryId(70)) };
    let (bed, record) = with(proceed(PlanChanges { summary: Some(supplied), ..PlanChanges::default() }));
    assert_eq!(bed.model.requests(), []);
    assert_eq!(bed.in_view(), [0].into_iter().chain(70..80).map(EntryId).collect::<Vec<_>>());
    let made = change(Some(record));
    assert_eq!(made.summarizer.as_deref(), Some("plugin"));
    assert!(made.summary.is_some_and(|text| text.contains("by the plugin")));
}

#[test]
fn l115_a_hook_that_sleeps_for_ever_is_recorded_and_passed_over() {
    let (mut bed, ..) = hooked(TestHook::new("sleeper").hangs(), 80);
    let record = bed.prepare().expect("it is due");
    let late =
        HookRun { name: "sleeper".into(), duration_ms: 10_000, told: "failed: no answer within 10 s".into() };
    assert_eq!((word(&record), &record.hooks), ("compacted", &vec![late]));
    assert_eq!(record.duration_ms, 10_000);
}

#[test]
fn l116_guidance_reaches_the_summariser_and_not_the_context() {
    let guidance = Some("list every flaky test by name".to_owned());
    let (bed, record) = with(proceed(PlanChanges { guidance, ..PlanChanges::default() }));
    let guided = |asked: &String| asked.matches("Also mind: list every flaky test by name").count() == 1;
    assert!(!bed.model.asked().is_empty() && bed.model.asked().iter().all(guided));
    assert!(!bed.shown().join("\n").contains("flaky"));
    assert_eq!(told(&record), ["guides the summariser"]);
}

#[test]
fn l116_injected_text_stands_inside_the_summarys_frame() {
    let inject = Some("memory: the deploy key is in the vault".to_owned());
    let (bed, _) = with(proceed(PlanChanges { inject, ..PlanChanges::default() }));
    let shown = bed.shown();
    let framed = shown.iter().find(|text| text.contains("the deploy key")).expect("it is in view");
    assert!(framed.starts_with(fence::OPENING) && framed.trim_end().ends_with(fence::CLOSING));
}

#[test]
fn l117_messages_are_named_by_ids_that_lead_back_to_them() {
    let (mut bed, hook, ids) = hooked(TestHook::new("observer"), 80);
    let said: Vec<String> = bed.shown();
    bed.prepare().expect("it is due");
    let event = hook.told().swap_remove(0);
    let back = [event.leaving, event.staying].concat();
    let mut originals: Vec<(EntryId, String)> = back
        .into_iter()
        .map(|id| (id, bed.session.archive().message(id).expect("all is in memory").said()))
        .collect();
    originals.sort();
    assert_eq!(originals, ids.into_iter().zip(said).collect::<Vec<_>>());
}

#[test]
fn l117_a_message_retained_by_its_id_stays_and_one_from_nowhere_is_refused() {
    let (bed, record) =
        with(proceed(PlanChanges { retain: vec![EntryId(20), EntryId(9_999)], ..PlanChanges::default() }));
    assert!(bed.in_view().contains(&EntryId(20)));
    assert_eq!(told(&record), ["retains 1, refused 1 that are not in this history (m9999…)"]);
}

#[test]
fn l118_a_hook_that_fails_is_recorded_and_passed_over() {
    let (bed, record) = with(Err("division by zero".into()));
    assert_eq!((word(&record), told(&record)), ("compacted", vec!["failed: division by zero"]));
    assert!(bed.shown().iter().any(|text| text.contains("what call 1 was told")));
}
