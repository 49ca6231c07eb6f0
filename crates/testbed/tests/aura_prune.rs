//! aura, before that: long arguments of old calls are cut after each round of tools, or with a compaction.

use epitome_core::policy::PruneWhen;
use epitome_core::{EntryId, Failure, Strategy, Trigger};
use epitome_testbed::{Bed, Maker, failed};

const WINDOW: u64 = 100_000;

/// A session that prunes when `when` says.
fn pruning(preset: &str, when: PruneWhen) -> Bed {
    Maker::new(preset, WINDOW).set(|policy| policy.prune.when = when).bed()
}

fn input(tokens: usize) -> String {
    format!(r#"{{"path":"src/a.rs","content":"{}"}}"#, "x".repeat(tokens * 4))
}

/// A call whose argument takes about `tokens`.
fn call(bed: &mut Bed, tokens: usize) -> EntryId {
    bed.exchange("write", &input(tokens), "written").0
}

/// Ends a round of tools, and looks: the messages that were cut.
fn end_round(bed: &mut Bed) -> Vec<EntryId> {
    bed.exchange("list", "{}", "src");
    let record = bed.prepare();
    record.and_then(|record| Some(record.change()?.pruned.clone())).unwrap_or_default()
}

#[test]
fn a29_after_a_round_long_arguments_are_cut_and_short_ones_stay() {
    let mut bed = pruning("aura", PruneWhen::ToolRound);
    bed.talk(1, 100);
    let (long, short) = (call(&mut bed, 400), call(&mut bed, 150));
    bed.talk(20, 2_000);
    assert_eq!(bed.prepare(), None, "no round has ended");
    assert_eq!(end_round(&mut bed), [long]);
    let shown = bed.shown();
    let cut = format!(
        r#"(call write {{"path":"src/a.rs","content":"{}… [1600 characters in all; recall {long}]"}})"#,
        "x".repeat(200)
    );
    assert_eq!([&shown[1], &shown[3]], [&cut, &format!("(call write {})", input(150))]);
    assert!(bed.in_view().contains(&short));
}

#[test]
fn a30_the_newest_30_percent_of_the_window_are_left_alone() {
    let cut = |preset| {
        let mut bed = pruning(preset, PruneWhen::ToolRound);
        bed.talk(1, 100);
        let old = call(&mut bed, 400);
        bed.talk(2, 500);
        // The message that crosses the line is left alone as well.
        call(&mut bed, 1_000);
        bed.talk(20, 1_470);
        call(&mut bed, 400);
        (end_round(&mut bed), old)
    };
    for preset in ["aura", "aura@code"] {
        let (pruned, old) = cut(preset);
        assert_eq!(pruned, [old], "{preset}");
    }
}

#[test]
fn a29_an_argument_must_exceed_the_threshold_by_itself() {
    // Names and braces take 32 of the bytes.
    let of = |tokens: usize| format!(r#"{{"path":"src/a.rs","content":"{}"}}"#, "x".repeat(tokens * 4 - 32));
    let cut = |inputs: &[&str]| {
        let mut bed = pruning("aura", PruneWhen::ToolRound);
        bed.talk(1, 100);
        let calls: Vec<(&str, &str)> = inputs.iter().map(|&input| ("write", input)).collect();
        let id = bed.call(&calls);
        bed.results(&vec!["written"; inputs.len()]);
        bed.talk(20, 2_000);
        (end_round(&mut bed) == [id], bed.shown().swap_remove(1))
    };
    let (at, over) = (of(200), of(201));
    assert_eq!((at.len(), over.len()), (800, 804));
    assert!(!cut(&[&at]).0 && !cut(&[&at, &at, &at]).0, "equal is not over, and each call counts alone");
    let (is_cut, shown) = cut(&[&at, &over]);
    assert!(is_cut && shown.starts_with(&format!("(call write {at})\n(call write ")), "{shown}");
    assert!(!shown.contains(&over));
}

#[test]
fn a31_switched_off_it_changes_no_argument() {
    let mut bed = Bed::new("aura", WINDOW);
    bed.talk(1, 100);
    call(&mut bed, 400);
    bed.talk(20, 2_000);
    let before = bed.shown();
    assert_eq!(end_round(&mut bed), []);
    assert_eq!(bed.shown()[..before.len()], before);
}

#[test]
fn a31_switched_off_no_argument_is_cut_where_every_summary_fails() {
    let mut bed = Bed::new("aura", WINDOW);
    bed.model.always(failed(Failure::TimedOut));
    bed.talk(1, 100);
    call(&mut bed, 400);
    bed.talk(40, 2_000);
    let before = bed.shown();
    let record = bed.prepare().expect("it is due");
    assert_eq!((record.outcome.name(), bed.shown()), ("abandoned", before));
    let tried: Vec<Strategy> = record.fallbacks.iter().map(|fallback| fallback.strategy).collect();
    assert_eq!(tried, [Strategy::Summarize]);
}

/// A session whose kept part, ten messages, has a long argument beyond the protected part of it and one within.
fn compacting(when: PruneWhen) -> (Bed, EntryId, EntryId) {
    let mut bed = pruning("aura", when);
    bed.talk(30, 500);
    let old = call(&mut bed, 400);
    bed.talk(3, 11_000);
    let new = call(&mut bed, 400);
    bed.talk(3, 500);
    (bed, old, new)
}

#[test]
fn a29_during_a_compaction_the_bulk_of_what_is_kept_is_cut() {
    let (mut other, ..) = compacting(PruneWhen::Compaction);
    assert_eq!(end_round(&mut other), [], "at no other time");
    let (mut bed, old, new) = compacting(PruneWhen::Compaction);
    let record = bed.compact(Trigger::Manual);
    let change = record.change().expect("it was compacted");
    assert_eq!((&change.pruned, change.kept.len()), (&vec![old], 10));
    assert_eq!(record.tokens_after, bed.session.context().tokens());
    let shown = bed.shown();
    let cut = format!(
        r#"(call write {{"path":"src/a.rs","content":"{}… [1600 characters in all; recall {old}]"}})"#,
        "x".repeat(200)
    );
    let at = |id: EntryId| bed.in_view().iter().position(|&shown| shown == id).expect("it is kept") + 1;
    assert_eq!([&shown[at(old)], &shown[at(new)]], [&cut, &format!("(call write {})", input(400))]);
}

#[test]
fn a31_switched_off_a_compaction_leaves_what_it_keeps_as_it_is() {
    for when in [PruneWhen::Never, PruneWhen::ToolRound] {
        let (mut bed, ..) = compacting(when);
        let before = bed.shown();
        let record = bed.compact(Trigger::Manual);
        assert_eq!(record.change().map(|change| change.pruned.len()), Some(0));
        assert_eq!(bed.shown()[1..], before[before.len() - 10..]);
    }
}

#[test]
fn a32_what_is_cut_stays_as_it_is_and_keeps_its_names() {
    let mut bed = pruning("aura", PruneWhen::ToolRound);
    bed.talk(1, 100);
    let long = call(&mut bed, 400);
    bed.talk(20, 2_000);
    assert_eq!(end_round(&mut bed), [long]);
    let once = bed.shown();
    assert_eq!(end_round(&mut bed), []);
    assert_eq!(bed.shown()[..once.len()], once);
    assert!(once[1].contains(r#""path":"src/a.rs""#) && once[1].contains(r#""content":""#), "{}", once[1]);
}
