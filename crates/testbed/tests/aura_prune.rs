//! aura, before that: long arguments of old calls are cut after each round of tools.

use epitome_core::EntryId;
use epitome_core::policy::PruneWhen;
use epitome_testbed::{Bed, Maker};

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
