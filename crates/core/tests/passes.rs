//! Each rule of the passes and of the ladder of strategies by itself: what pruning and trimming touch and leave alone, what
//! a strategy that cannot be tried says, how often a model is asked, and when there is nothing to do.

#[allow(dead_code, unused_imports, reason = "the other tests of it need more")]
mod world;

use epitome_core::policy::{Newest, PruneWhen, TargetOf, Threshold, Writer};
use epitome_core::{Conclusion, Effect, EntryId, Form, Outcome, Record, Settings, Strategy, Tokens};
use world::{Act, Asked, Axes, Oddity, Order, Others, Session};

/// A pass or compaction in a window that has room for everything.
fn asked(strategy: &[Strategy], set: fn(&mut Settings)) -> Asked {
    Asked { strategy: strategy.to_vec(), axes: Axes::setting(set), ..Asked::plainly(20_000) }
}

/// A call whose result has so many bytes.
fn call(bytes: usize) -> Act {
    Act::Calls(vec![Some(bytes)], Order::Straight)
}

/// The forms that a pass would have messages take on, by place in the history.
fn edited(session: &Session, asked: &Asked) -> Vec<(u32, Form)> {
    match session.outcome(asked).effect {
        Effect::Edit(edit) => edit.forms.into_iter().map(|(id, form)| (id.0, form)).collect(),
        // There was nothing to edit, and what stands behind the pass is another's affair.
        Effect::Nothing | Effect::Compact(_) => Vec::new(),
    }
}

fn pointer() -> Form {
    Form { results: true, ..Form::WHOLE }
}

/// An old exchange with a large result, one with a small result, and newer ones that are kept in any case.
fn worked() -> Session {
    Session::of(&[
        Act::Says(40),
        call(2_000),
        call(20),
        Act::Answers(40, 400),
        Act::Says(40),
        call(2_000),
        Act::Answers(40, 0),
    ])
}

/// Results alone, however new.
fn results_alone(settings: &mut Settings) {
    let prune = &mut settings.prune;
    (prune.arguments, prune.thinking, prune.images, prune.superseded_reads) = (false, false, false, false);
    prune.protect = None;
}

#[test]
fn pruning_touches_large_results_and_thinking_that_nothing_keeps() {
    let all = |settings: &mut Settings| settings.prune.protect = None;
    let thinking = Form { thinking: true, ..Form::WHOLE };
    assert_eq!(edited(&worked(), &asked(&[Strategy::Prune], all)), [(2, pointer()), (5, thinking)]);
    assert_eq!(edited(&worked(), &asked(&[Strategy::Prune], results_alone)), [(2, pointer())]);
    let none = |settings: &mut Settings| {
        results_alone(settings);
        settings.prune.results = false;
    };
    assert_eq!(edited(&worked(), &asked(&[Strategy::Prune], none)), []);
}

#[test]
fn a_result_is_large_from_the_least_size_on() {
    let session = Session::of(&[Act::Says(40), call(2_000), Act::Says(40), Act::Answers(40, 0)]);
    let result = session.sizes.of(EntryId(2)).results;
    assert_eq!(result, Tokens(501));
    let at = |settings: &mut Settings| {
        results_alone(settings);
        settings.prune.size_min = Tokens(501);
    };
    let above = |settings: &mut Settings| {
        results_alone(settings);
        settings.prune.size_min = Tokens(502);
    };
    assert_eq!(edited(&session, &asked(&[Strategy::Prune], at)), [(2, pointer())]);
    assert_eq!(edited(&session, &asked(&[Strategy::Prune], above)), []);
}

#[test]
fn results_of_tools_that_are_named_and_errors_stay_where_the_policy_says_so() {
    let session = Session::of(&[
        Act::Says(40),
        call(2_000),
        Act::Odd(Oddity::FailsWithPicture, 2_000),
        Act::Says(40),
        Act::Answers(40, 0),
    ]);
    let both = [(2, pointer()), (4, pointer())];
    assert_eq!(edited(&session, &asked(&[Strategy::Prune], results_alone)), both);
    let errors = |settings: &mut Settings| {
        results_alone(settings);
        settings.prune.errors_kept = true;
    };
    assert_eq!(edited(&session, &asked(&[Strategy::Prune], errors)), both[..1]);
    let named = |settings: &mut Settings| {
        results_alone(settings);
        settings.prune.tools_kept = vec!["run".into()];
    };
    assert_eq!(edited(&session, &asked(&[Strategy::Prune], named)), []);
    let another = |settings: &mut Settings| {
        results_alone(settings);
        settings.prune.tools_kept = vec!["walk".into()];
    };
    assert_eq!(edited(&session, &asked(&[Strategy::Prune], another)), both);
}

#[test]
fn of_equal_texts_of_the_harness_the_newest_stays_and_the_others_go_where_sides_still_alternate() {
    let trim = |acts: &[Act]| edited(&Session::of(acts), &asked(&[Strategy::Trim], |_| {}));
    let (left_out, repeated) =
        (Form { left_out: true, ..Form::WHOLE }, Form { repeated: true, ..Form::WHOLE });
    let answer = || Act::Answers(40, 0);
    // Beside a person's words it is not missed.
    let beside = [Act::Says(40), Act::Reminds(0), answer(), Act::Says(40), Act::Reminds(0)];
    assert_eq!(trim(&beside), [(1, left_out)]);
    // Between two replies something must stand; where one pointer does, the next text may go.
    let between = [
        Act::Says(40),
        answer(),
        Act::Reminds(0),
        Act::Reminds(1),
        answer(),
        Act::Reminds(0),
        Act::Reminds(1),
    ];
    assert_eq!(trim(&between), [(2, repeated), (3, left_out)]);
    assert_eq!(trim(&[Act::Says(40), Act::Reminds(0), answer(), Act::Reminds(1)]), []);
    // What a person shows twice is theirs.
    assert_eq!(trim(&[Act::Shows, answer(), Act::Shows, answer()]), []);
}

#[test]
fn what_a_compaction_keeps_is_pruned_with_it_where_that_is_worth_its_price() {
    let acts: Vec<Act> = (0..6).flat_map(|_| [Act::Says(400), call(2_000), Act::Answers(40, 0)]).collect();
    let kept = |set: fn(&mut Settings)| {
        let mut asked = asked(&[Strategy::Summarize], set);
        asked.others.newest = Some(Newest::Turns(3));
        let Effect::Compact(compaction) = Session::of(&acts).outcome(&asked).effect else {
            panic!("it is made")
        };
        let is_pruned = |(id, form): &(EntryId, Form)| form.results.then_some(id.0);
        compaction.forms.iter().filter_map(is_pruned).collect::<Vec<u32>>()
    };
    let never = |settings: &mut Settings| results_alone(settings);
    let pruned = |settings: &mut Settings| {
        results_alone(settings);
        settings.prune.when = PruneWhen::Compaction;
    };
    let dear = |settings: &mut Settings| {
        results_alone(settings);
        settings.prune.when = PruneWhen::Compaction;
        settings.prune.saving_min = Tokens(5_000);
    };
    assert_eq!(kept(never), Vec::<u32>::new());
    assert_eq!(kept(pruned), [14, 18]);
    assert_eq!(kept(dear), Vec::<u32>::new());
}

/// Why nothing is done.
fn noop(session: &Session, asked: &Asked) -> Option<String> {
    match session.outcome(asked).record.outcome {
        Outcome::Noop { why } => Some(why),
        Outcome::Compacted(_)
        | Outcome::Pruned(_)
        | Outcome::Applied { .. }
        | Outcome::Recorded
        | Outcome::Vetoed { .. }
        | Outcome::Abandoned { .. }
        | Outcome::Impossible(_) => None,
    }
}

#[test]
fn nothing_is_compacted_twice_with_nothing_said_between() {
    let acts: Vec<Act> = (0..12).flat_map(|_| [Act::Says(400), Act::Answers(2_000, 0)]).collect();
    let plainly = Asked::plainly(20_000);
    let mut session = Session::of(&acts);
    assert!(session.compact(&plainly).is_some());
    assert_eq!(noop(&session, &plainly).as_deref(), Some("nothing was said since the last compaction"));
    session.say(&acts);
    assert_eq!(noop(&session, &plainly), None);
}

#[test]
fn a_pruning_stands_in_the_way_of_a_compaction_unless_it_was_part_of_the_same_look() {
    let acts: Vec<Act> =
        (0..12).flat_map(|_| [Act::Says(400), call(2_000), Act::Answers(2_000, 0)]).collect();
    let mut session = Session::of(&acts);
    assert!(session.compact(&asked(&[Strategy::Prune], results_alone)).is_some());
    let again = asked(&[Strategy::Summarize], |_| {});
    assert_eq!(noop(&session, &again).as_deref(), Some("nothing was said since the last compaction"));
    let mut passed = again;
    passed.axes.circumstances.is_passed = true;
    assert_eq!(noop(&session, &passed), None);
}

#[test]
fn a_target_of_the_request_counts_what_is_kept_in_any_case_and_one_of_what_is_free_does_not() {
    let mut acts = vec![Act::Says(16_000)];
    acts.extend((0..12).flat_map(|_| [Act::Says(400), Act::Answers(2_000, 0)]));
    let after = |set: fn(&mut Settings)| {
        let conclusion = Session::of(&acts).outcome(&asked(&[Strategy::Summarize], set));
        assert_eq!(conclusion.record.outcome.name(), "compacted");
        conclusion.record.tokens_after
    };
    let of_request = after(|settings| {
        settings.trigger.target = Some(Threshold::Share(3_000));
        settings.trigger.target_of = TargetOf::Request;
    });
    let of_free = after(|settings| {
        settings.trigger.target = Some(Threshold::Share(3_000));
        settings.trigger.target_of = TargetOf::Free;
    });
    assert!(of_request <= Tokens(6_400) && of_free > Tokens(7_000), "{of_request} and {of_free}");
}

/// A rule that keeps all there is, of a context that is due and still fits.
#[test]
fn where_a_rule_keeps_everything_of_a_full_context_dropping_makes_the_room() {
    let all = |settings: &mut Settings| settings.keep.newest = Newest::Messages(100);
    let outcome = |strategy: &[Strategy]| {
        let asked = Asked { window: 9_000, ..asked(strategy, all) };
        let record = record(&long_talk(), &asked);
        (record.change().map(|change| change.strategy), record.tokens_after < record.tokens_before)
    };
    assert_eq!(outcome(&[Strategy::Summarize, Strategy::Drop]), (Some(Strategy::Drop), true));
}

fn record(acts: &[Act], asked: &Asked) -> Record {
    let Conclusion { record, .. } = Session::of(acts).outcome(asked);
    *record
}

fn long_talk() -> Vec<Act> {
    (0..12).flat_map(|_| [Act::Says(400), Act::Answers(2_000, 0)]).collect()
}

#[test]
fn a_strategy_that_cannot_be_tried_says_why() {
    let strategies = [Strategy::Native, Strategy::Delegate, Strategy::Summarize, Strategy::Drop];
    let asked = asked(&strategies, |settings| {
        settings.summary.by = Writer::Nobody;
        settings.trigger.target = Some(Threshold::Share(2_500));
    });
    let record = record(&long_talk(), &asked);
    let told: Vec<(Strategy, &str)> =
        record.fallbacks.iter().map(|fallback| (fallback.strategy, fallback.why.as_str())).collect();
    let expected = [
        (Strategy::Native, "the session's provider has no compaction of its own, or it was not offered"),
        (Strategy::Delegate, "no compactor is installed"),
        (Strategy::Summarize, "nobody is set to write summaries"),
    ];
    assert_eq!(told, expected);
    assert_eq!(record.change().map(|change| change.strategy), Some(Strategy::Drop));
}

/// Answers that will not do, each for another reason: what was wrong with one is said with the next try.
const BAD: [u8; 4] = [6, 7, 8, 14];

/// A summary in one call, or none.
fn in_one_call(settings: &mut Settings) {
    settings.keep.within_turn = false;
    settings.summary.shrink_results = Vec::new();
    // In a larger room the machine alone would keep so many facts that the scripted words would not do.
    settings.trigger.target = Some(Threshold::Share(2_500));
}

#[test]
fn a_model_is_asked_once_more_for_each_try_that_the_policy_has() {
    let calls = |set: fn(&mut Settings)| {
        let asked = Asked { others: Others::model(BAD.repeat(4)), ..asked(&[Strategy::Summarize], set) };
        record(&long_talk(), &asked).spent.calls
    };
    let tries = [
        calls(|settings| {
            in_one_call(settings);
            settings.summary.retries = 0;
        }),
        calls(|settings| {
            in_one_call(settings);
            settings.summary.retries = 1;
        }),
        calls(|settings| {
            in_one_call(settings);
            settings.summary.retries = 3;
        }),
    ];
    assert_eq!(tries, [1, 2, 4]);
}

#[test]
fn a_short_summary_is_asked_for_beside_one_that_we_write_and_not_beside_a_providers_own() {
    let calls = |strategy, makes_short| {
        let mut asked = Asked { others: Others::model(Vec::new()), ..asked(&[strategy], in_one_call) };
        asked.others.makes_short = makes_short;
        let record = record(&long_talk(), &asked);
        (record.spent.calls, record.change().and_then(|change| change.short.clone()).is_some())
    };
    assert_eq!(calls(Strategy::Summarize, false), (1, false));
    assert_eq!(calls(Strategy::Summarize, true), (2, true));
    assert_eq!(calls(Strategy::Native, true), (1, false));
}
