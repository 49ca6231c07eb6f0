//! Lessons of others, rows 75 to 82: whose window counts, what a threshold means in it, and what a
//! compaction comes down to.

use epitome_core::policy::TriggerMode;
use epitome_core::{Budget, Tokens, Trigger};
use epitome_engine::{
    Assembly, Driver, Event, FigureSource, Ports, Recovery, Thresholds, WindowChoice, WindowFacts,
    WindowSource,
};
use epitome_settings::{ResolvedPolicy, SourceText, Sources, preset, resolve};
use epitome_testbed::{Bed, Maker, Quarter, change, word};
use epitome_tokens::{Catalog, ModelSpec, SpecSource, Usage};

fn project(toml: &str) -> Sources {
    let project = SourceText { name: "epitome.toml".into(), text: toml.to_owned() };
    Sources { project: Some(project), ..Sources::default() }
}

fn resolved(toml: &str) -> ResolvedPolicy {
    resolve(&project(toml)).unwrap_or_else(|error| panic!("{error}"))
}

/// Where compaction begins in windows of 32,768 and of a million.
fn triggers(resolved: &ResolvedPolicy) -> [u64; 2] {
    [32_768, 1_000_000].map(|window| {
        let budget = Budget::new(Tokens(window), Tokens::ZERO, Tokens::ZERO);
        Thresholds::of(&resolved.policy, &budget).trigger.0
    })
}

/// A session of the default preset in a window of 200,000, with so many messages of 1,000 tokens.
fn session(messages: usize) -> Bed {
    let mut bed = Maker::new("default", 200_000).bed();
    bed.talk(messages, 1_000);
    bed
}

/// The assembly of a session's next model, which has so large a window and counts alike.
fn in_window(bed: &Bed, window: u64) -> Assembly {
    let budget = Budget::new(Tokens(window), Tokens::ZERO, Tokens::ZERO);
    let policy = bed.session.assembly().policy().clone();
    Assembly::of_parts(policy, std::sync::Arc::new(Quarter), bed.session.assembly().count_method(), budget)
}

#[test]
fn l75_a_threshold_is_a_share_an_amount_or_what_is_left() {
    let at = |at: &str| triggers(&resolved(&format!("[trigger]\nat = \"{at}\"")));
    assert_eq!(
        [at("90%"), at("100000"), at("-20000")],
        [[29_491, 900_000], [32_768, 100_000], [12_768, 980_000]]
    );
}

#[test]
fn l75_unset_differs_from_set_to_the_default() {
    let [unset, set] = ["", "[trigger]\nat = \"80%\""].map(resolved);
    assert_eq!(unset.policy, set.policy);
    let sources = [unset, set].map(|one| one.source("trigger.at").map(ToString::to_string));
    assert_eq!(sources, [Some("preset default".into()), Some("epitome.toml: trigger.at".into())]);
}

#[test]
fn l76_a_declared_window_is_not_replaced_by_the_catalogs() {
    let mut model = Catalog::built_in().find("gpt-5");
    model.window_tokens.value = 1_000_000;
    let choose = |toml| WindowChoice::of(&resolved(toml).policy, &model, &WindowFacts::default());
    assert_eq!(
        ["[window]\ntokens = 32768", ""].map(choose),
        [
            Ok(WindowChoice { tokens: Tokens(32_768), from: WindowSource::Explicit }),
            Ok(WindowChoice { tokens: Tokens(1_000_000), from: WindowSource::Catalog }),
        ]
    );
}

#[test]
fn l77_the_window_of_an_unknown_model_is_a_guess_that_is_called_one() {
    let model = Catalog::built_in().find("nobody-knows-this-one");
    assert_eq!(model.window_tokens.source, SpecSource::Guess);
    let window = WindowChoice::of(&resolved("").policy, &model, &WindowFacts::default());
    let window = window.expect("the default preset guesses");
    assert_eq!(window, WindowChoice { tokens: Tokens(128_000), from: WindowSource::Guess });
    assert_eq!(window.reported(), None);
}

#[test]
fn l78_more_than_the_window_is_shown_beside_the_window_and_not_clamped() {
    let mut bed = session(380);
    let check = bed.session.check();
    assert_eq!(
        (check.tokens, check.window, check.limit),
        (Tokens(380_000), Tokens(200_000), Tokens(160_000))
    );
    bed.prepare();
    let events = bed.take_events();
    let triggered = Event::Triggered {
        trigger: Trigger::Threshold,
        tokens: Tokens(380_000),
        limit: Tokens(160_000),
        window: Tokens(200_000),
    };
    assert!(events.contains(&triggered), "{events:?}");
}

#[test]
fn l79_a_value_that_cannot_be_used_is_refused_and_not_guessed_at() {
    let refusal = |toml: &str| resolve(&project(toml)).map(|_| ()).expect_err("it is refused").to_string();
    assert_eq!(
        [
            refusal("[trigger]\nat = \"500x\""),
            refusal("[window]\ntokens = \"500x\""),
            refusal("[trigger]\nat = \"0\"")
        ],
        [
            "epitome.toml: `trigger.at` is \"500x\", which it cannot be; `500x` is no threshold; write 80%, 160000 or -20000",
            "epitome.toml: `window.tokens` is \"500x\", which it cannot be; write a number of tokens, such as 64000 or 64k, or `none` to unset it",
            "epitome.toml: `trigger.at` is \"0\", which it cannot be; `0` would leave nothing",
        ]
    );
}

#[test]
fn l80_off_means_off_and_the_error_surfaces() {
    let mut bed = Maker::new("default", 200_000).set(|settings| settings.mode = TriggerMode::Off).bed();
    let ids = bed.talk(250, 1_000);
    assert!(bed.prepare().is_none());
    let Recovery::Surface { why, .. } = bed.recover(Some(50_000)) else { panic!("it is off") };
    assert_eq!((why.as_str(), bed.in_view(), bed.model.requests()), ("compaction is off", ids, vec![]));
}

#[test]
fn l80_a_reminder_is_all_that_who_wants_one_gets() {
    let mut bed = Maker::new("default", 200_000).set(|settings| settings.mode = TriggerMode::Remind).bed();
    let ids = bed.talk(170, 1_000);
    assert!(bed.prepare().is_none());
    let why = "these settings leave it to a person: compact by hand".into();
    let due = Event::Due { tokens: Tokens(170_000), limit: Tokens(160_000), why };
    assert!(bed.take_events().contains(&due));
    assert_eq!((bed.in_view(), bed.model.requests()), (ids, vec![]));
}

#[test]
fn l81_a_smaller_model_is_made_room_for_by_the_one_that_still_fits() {
    let mut bed =
        Maker::new("default", 1_000_000).model(|model| model.named("old-1m").with_window(1_000_000)).bed();
    bed.talk(400, 1_000);
    let stated = WindowFacts { stated: Some(Tokens(200_000)), ..WindowFacts::default() };
    let smaller =
        Assembly::new(bed.session.assembly().policy().clone(), ModelSpec::guess("new-200k"), stated);
    bed.session.set_assembly(smaller.expect("it is stated")).expect("all is in memory");
    assert_eq!(bed.session.check().trigger, Some(Trigger::Downshift));
    // The driver's model is still the old one; the new one takes its place once there is room.
    let record = bed.prepare().expect("it is due");
    assert_eq!((record.trigger, word(&record)), (Trigger::Downshift, "compacted"));
    assert_eq!(change(Some(record)).summarizer.as_deref(), Some("old-1m"));
    bed.driver = Driver::new(Ports::default());
    assert_eq!((bed.session.check().trigger, bed.prepare()), (None, None));
}

#[test]
fn l81_a_smaller_window_of_the_same_model_is_no_other_model() {
    let mut bed = Bed::new("default", 1_000_000);
    bed.talk(400, 1_000);
    bed.session.set_assembly(in_window(&bed, 200_000)).expect("all is in memory");
    assert_eq!(bed.session.check().trigger, Some(Trigger::Threshold));
}

#[test]
fn l81_a_larger_model_needs_no_compaction_and_counts_for_itself() {
    let mut bed = session(150);
    bed.session
        .record_usage(Usage { prompt: 158_000, output: 500, ..Usage::default() })
        .expect("all is in memory");
    bed.session.set_assembly(in_window(&bed, 1_000_000)).expect("all is in memory");
    let check = bed.session.check();
    assert_eq!(bed.prepare(), None);
    assert_eq!(
        (check.tokens, check.source, check.limit),
        (Tokens(150_000), FigureSource::Count, Tokens(800_000))
    );
}

#[test]
fn l82_a_compaction_comes_down_to_its_target_and_not_far_below_it() {
    let mut bed = Maker::new("default", 1_000_000).no_model().bed();
    bed.talk(810, 1_000);
    let record = bed.prepare().expect("it is due");
    let made = change(Some(record.clone()));
    assert_eq!(made.target, Tokens(450_000));
    // Three tenths of the target are the newest messages, whatever the summary takes.
    assert!((Tokens(134_000)..=made.target).contains(&record.tokens_after), "{}", record.tokens_after);
}

#[test]
fn l82_what_stays_above_its_target_is_said_so() {
    let mut bed = Maker::new("claude-code", 200_000)
        .set(|settings| settings.guard.progress = Some("10%".parse().expect("a threshold")))
        .bed();
    bed.talk(190, 1_000);
    let long = format!("## Goal\n{}", bed.filler(27_000));
    bed.model.always(epitome_testbed::good(&long));
    let record = bed.prepare().expect("it is due");
    let held = bed.take_events().into_iter().find(|event| matches!(event, Event::Held { .. }));
    assert!(held.is_some() && record.tokens_after > Tokens(20_000), "{} {held:?}", record.tokens_after);
}

#[test]
fn a_refusal_of_what_has_room_by_our_count_is_recovered_from_under_every_preset() {
    for name in preset::names() {
        let mut bed = Bed::new(name, 200_000);
        bed.talk(80, 200);
        bed.user("go on");
        let (before, recoveries) =
            (bed.session.context().tokens(), bed.session.policy().guard.recoveries_max);
        match bed.recover(None) {
            Recovery::Retry(_) => {
                let after = bed.session.context().tokens();
                assert!(after <= before.share(4, 5), "{name}: {before} and then {after}");
            }
            Recovery::Surface { why, .. } => assert_eq!(recoveries, 0, "{name}: {why}"),
        }
    }
}
