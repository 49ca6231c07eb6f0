//! aura, who has a say: its two hooks, and who writes summaries.

use epitome_core::policy::Writer;
use epitome_core::{
    EntryId, Failure, Outcome, Record, Strategy, Tokens, Trigger, UpcomingCompaction, Verdict,
};
use epitome_engine::{BoxFuture, Hook};
use epitome_testbed::{Bed, Maker, TestHook, failed};
use std::sync::{Arc, Mutex, PoisonError};

const WINDOW: u64 = 100_000;

/// A hook that notes what it is told afterwards (what came of it, messages before and after, the
/// summary's length), and fails.
#[derive(Default)]
struct Notebook {
    told: Mutex<Vec<(&'static str, usize, usize, usize)>>,
}

impl Notebook {
    fn told(&self) -> Vec<(&'static str, usize, usize, usize)> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Hook for Notebook {
    fn name(&self) -> &str {
        "notebook"
    }

    fn after<'a>(&'a self, record: &'a Record) -> BoxFuture<'a, Result<(), String>> {
        let change = record.change();
        let (superseded, kept) = change.map_or((0, 0), |change| (change.superseded.len(), change.kept.len()));
        let summary = change.and_then(|change| change.summary.as_deref()).map_or(0, str::len);
        let line = (record.outcome.name(), superseded + kept, kept, summary);
        self.told.lock().unwrap_or_else(PoisonError::into_inner).push(line);
        Box::pin(std::future::ready(Err("its disk is full".into())))
    }
}

/// A session with a hook, in which forty messages of 500 tokens were said.
fn hooked(hook: TestHook) -> (Bed, Arc<TestHook>, Vec<EntryId>) {
    let hook = Arc::new(hook);
    let mut bed = Maker::new("aura", WINDOW).hook(hook.clone()).bed();
    let ids = bed.talk(40, 500);
    (bed, hook, ids)
}

/// A session that nobody writes summaries for, due for compaction, with a long argument far back.
fn alone(preset: &str) -> (Bed, Arc<TestHook>) {
    let hook = Arc::new(TestHook::new("observer"));
    let maker = Maker::new(preset, WINDOW).set(|policy| {
        policy.summary.by = Writer::Nobody;
        policy.strategy = vec![Strategy::Prune];
    });
    let mut bed = maker.hook(hook.clone()).bed();
    bed.talk(1, 500);
    let input = format!(r#"{{"path":"a.rs","content":"{}"}}"#, "let a = 1; ".repeat(400));
    bed.exchange("write", &input, "ok");
    bed.talk(40, 2_000);
    (bed, hook)
}

#[test]
fn a23_the_hook_is_told_what_is_about_to_happen() {
    let (mut bed, hook, ids) = hooked(TestHook::new("observer"));
    bed.compact(Trigger::Manual);
    let told = UpcomingCompaction {
        ordinal: 1,
        trigger: Trigger::Manual,
        is_recovery: false,
        strategy: Strategy::Summarize,
        tokens: Tokens(20_000),
        window: Tokens(WINDOW),
        target: Tokens(10_000),
        leaving: ids[..30].to_vec(),
        staying: ids[30..].to_vec(),
        cut_turn: None,
        previous: None,
        focus: None,
    };
    assert_eq!(hook.told(), [told]);
}

#[test]
fn a23_a_hook_that_says_no_leaves_everything_as_it_is() {
    let veto = Verdict::Veto { why: "in the middle of a release".into() };
    let (mut bed, _, ids) = hooked(TestHook::new("guard").says(Ok(Some(veto))));
    let record = bed.compact(Trigger::Manual);
    let outcome = Outcome::Vetoed { by: "guard".into(), why: "in the middle of a release".into() };
    assert_eq!((&record.outcome, record.tokens_after), (&outcome, record.tokens_before));
    assert_eq!((bed.in_view(), bed.model.requests()), (ids, vec![]));
    assert_eq!(bed.session.log().len(), 40);
}

#[test]
fn a24_the_hook_is_told_what_came_of_it_and_changes_nothing() {
    let notebook = Arc::new(Notebook::default());
    let mut bed = Maker::new("aura", WINDOW).hook(notebook.clone()).bed();
    bed.talk(40, 500);
    let record = bed.compact(Trigger::Manual);
    let summary = record.change().and_then(|change| change.summary.clone()).expect("there is one");
    assert_eq!(notebook.told(), [("compacted", 40, 10, summary.len())]);
    assert_eq!((record.outcome.name(), bed.shown()[0] == *summary), ("compacted", true));
    let runs: Vec<String> = record.hooks.iter().map(|run| run.told.clone()).collect();
    assert_eq!(runs, ["nothing to say", "failed after it: its disk is full"]);
}

#[test]
fn a24_the_hook_is_told_of_a_failure_too() {
    let notebook = Arc::new(Notebook::default());
    let mut bed = Maker::new("aura", WINDOW).hook(notebook.clone()).bed();
    bed.talk(40, 500);
    bed.model.always(failed(Failure::TimedOut));
    assert_eq!(bed.compact(Trigger::Manual).outcome.name(), "abandoned");
    assert_eq!(notebook.told(), [("abandoned", 0, 0, 0)]);
}

#[test]
fn a25_without_a_summariser_only_pruning_happens() {
    let (mut bed, hook) = alone("aura");
    let record = bed.prepare().expect("it was due");
    let change = record.change().expect("something was pruned");
    assert_eq!((record.outcome.name(), change.strategy, change.pruned.len()), ("pruned", Strategy::Prune, 1));
    assert_eq!((bed.model.requests(), hook.told(), hook.records()), (vec![], vec![], vec![]));
}

#[test]
fn a25_aura_code_tells_the_hook_before_pruning_too() {
    let (mut bed, hook) = alone("aura@code");
    assert_eq!(bed.prepare().map(|record| record.outcome.name()), Some("pruned"));
    let told: Vec<Trigger> = hook.told().iter().map(|event| event.trigger).collect();
    assert_eq!((told, hook.records()), (vec![Trigger::Threshold], vec![]));
}
