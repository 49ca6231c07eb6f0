//! Counts corrected by what the provider reports: in both directions, kept across compactions, and followed by every
//! decision.

use epitome_core::policy::PruneWhen;
use epitome_core::{Archive as _, Budget, EntryId, Outcome, Scale, Tokens, Trigger};
use epitome_engine::{
    Assembly, Driver, EngineError, FigureSource, RecordedCalls, ReplayInput, Session, replay,
};
use epitome_testbed::{Bed, Maker, now};
use epitome_tokens::Usage;
use std::collections::HashMap;

const WINDOW: u64 = 200_000;
/// What a provider puts before the history that nobody has told us of.
const UNTOLD: u64 = 5_000;

/// A bed that has got somewhere, so that usage is believed.
fn bed() -> Bed {
    let mut bed = Maker::new("default", WINDOW).no_model().bed();
    bed.talk(30, 1_000);
    bed
}

/// Goes on for so many turns with a provider that counts so many percent of what we do.
fn go_on(bed: &mut Bed, turns: usize, percent: u64) {
    for _ in 0..turns {
        bed.talk(2, 1_000);
        let theirs = |tokens: u64| tokens * percent / 100;
        let history = bed.session.context().tokens().0;
        let prompt = UNTOLD + theirs(history - 1_000);
        let usage = Usage { prompt, output: theirs(1_000), ..Usage::default() };
        bed.session.record_usage(usage).expect("all is in memory");
    }
}

#[test]
fn a_provider_that_counts_more_or_less_than_we_do_is_followed() {
    let scale = |percent| {
        let mut bed = bed();
        go_on(&mut bed, 25, percent);
        bed.session.budget().scale
    };
    assert_eq!(scale(100), Scale::SAME, "what nobody told us of is no difference in counting");
    assert!((Scale::of(1.19)..Scale::of(1.25)).contains(&scale(125)), "{:?}", scale(125));
    assert!((Scale::of(0.85)..Scale::of(0.90)).contains(&scale(85)), "{:?}", scale(85));
}

#[test]
fn what_was_learned_outlasts_a_compaction_and_every_decision_follows_it() {
    let mut bed = bed();
    let before = bed.session.budget();
    go_on(&mut bed, 25, 125);
    let scale = bed.session.budget().scale;
    bed.compact(Trigger::Manual);
    let budget = bed.session.budget();
    assert_eq!((budget.scale, budget.window), (scale, before.window));
    let history = bed.session.context().tokens();
    assert_eq!(bed.session.figure(), (scale.theirs(history), FigureSource::Count));
    // The room, and what a compaction comes down to, are as much smaller by our count.
    let policy = bed.session.policy();
    let is_near = |one: Tokens, other: Tokens| one.0.abs_diff(scale.ours(other).0) <= 2;
    assert!(is_near(budget.room(), before.room()), "{} of {}", budget.room(), before.room());
    assert!(is_near(budget.target(policy), before.target(policy)));
    // The provider's tokens are what they were, but for what is rounded.
    let points = [budget, before].map(|budget| budget.trigger_point(policy).0);
    assert!(points[0].abs_diff(points[1]) <= 1, "{points:?}");
}

#[test]
fn one_report_that_is_far_off_changes_next_to_nothing() {
    let mut bed = bed();
    go_on(&mut bed, 25, 100);
    go_on(&mut bed, 1, 150);
    let scale = bed.session.budget().scale;
    assert!((Scale::SAME..Scale::of(1.05)).contains(&scale), "{scale:?}");
}

#[test]
fn a_pass_is_worth_its_price_in_the_tokens_that_its_record_tells() {
    let is_pruned = |percent| {
        let maker = Maker::new("default", WINDOW).no_model().set(|settings| {
            settings.prune.when = PruneWhen::Check;
            settings.prune.protect = Some("1%".parse().expect("a threshold"));
            settings.prune.saving_min = Tokens(5_400);
        });
        let mut bed = maker.bed();
        bed.talk(30, 1_000);
        bed.user("look around");
        let result = bed.filler(5_000);
        bed.exchange("bash", "{}", &result);
        go_on(&mut bed, 25, percent);
        bed.prepare().is_some_and(|record| matches!(record.outcome, Outcome::Pruned(_)))
    };
    assert_eq!(
        [100, 125].map(is_pruned),
        [false, true],
        "5,000 of ours are more than that only where they are 6,000"
    );
}

/// A bed that works: in each of so many turns a tool answers, the model replies, its provider counts so many percent of what
/// we do, and the result gives way to a pointer. What the provider said of each reply's prompt.
fn work_and_prune(turns: usize, percent: u64) -> (Bed, HashMap<EntryId, u64>) {
    let maker = Maker::new("default", WINDOW).no_model().set(|settings| {
        settings.prune.when = PruneWhen::Check;
        settings.keep.always.clear();
        (settings.prune.protect, settings.prune.protect_results) = (None, None);
        (settings.prune.saving_min, settings.prune.size_min) = (Tokens::ZERO, Tokens::ZERO);
    });
    let (mut bed, mut prompts) = (maker.bed(), HashMap::new());
    bed.talk(30, 1_000);
    for _ in 0..turns {
        bed.talk(1, 2_000);
        let result = bed.filler(1_000);
        bed.exchange("bash", "{}", &result);
        let prompt = UNTOLD + bed.session.context().tokens().0 * percent / 100;
        let reply = bed.filler(1_000);
        prompts.insert(bed.assistant(&reply), prompt);
        bed.session
            .record_usage(Usage { prompt, output: 10 * percent, ..Usage::default() })
            .expect("all is in memory");
        let outcome = bed.prepare().map(|record| record.outcome.name());
        assert_eq!(outcome, Some("pruned"));
    }
    (bed, prompts)
}

#[test]
fn what_was_pruned_between_calls_hides_from_nobody_how_they_were_counted() {
    let (bed, prompts) = work_and_prune(25, 125);
    let live = bed.session.budget().scale;
    assert!((Scale::of(1.15)..Scale::of(1.25)).contains(&live), "{live:?}");
    let afresh = || {
        let now = bed.session.assembly();
        let budget = Budget::new(Tokens(WINDOW), Tokens::ZERO, Tokens::ZERO);
        Assembly::of_parts(now.policy().clone(), now.measure().clone(), now.count_method(), budget)
    };
    let (log, sizes) = (bed.session.timeline().log(), bed.session.timeline().sizes());
    let path = log.path_of(bed.session.leaf());
    let recorded = afresh();
    let archive = &**bed.session.archive();
    let calls = RecordedCalls { log, sizes, archive, path: &path, prompts: &prompts };
    calls.teach(&recorded).expect("all is in memory");
    let usage = prompts.iter().map(|(&id, &prompt)| (id, Usage { prompt, ..Usage::default() })).collect();
    let mut session = Session::new(log.clone(), sizes.clone(), bed.session.archive().clone(), afresh());
    let input =
        ReplayInput { path: &path, fixed: Tokens::ZERO, usage: &usage, read: &|id| archive.message(id) };
    now(replay(&Driver::default(), &mut session, input, |_| Ok::<_, EngineError>(())))
        .expect("it is replayed");
    assert_eq!([recorded.budget().scale, session.budget().scale], [live; 2]);
}
