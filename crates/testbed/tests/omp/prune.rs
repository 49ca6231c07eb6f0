//! Stale and old tool output gives way, where the provider's cache does not suffer for it.

use super::{made, omp};
use epitome_core::policy::Strategy;
use epitome_core::{EntryId, Tokens, Trigger};
use epitome_testbed::Bed;

const WHOLE: &str = r#"{"path":"src/lib.rs"}"#;
const PART: &str = r#"{"path":"src/lib.rs","offset":100,"limit":900}"#;

/// A session that has read the same file twice, each time with this input and so many tokens of result.
fn read_twice(first: (&str, u64), second: (&str, u64)) -> (Bed, EntryId) {
    let mut bed = omp("17").bed();
    bed.user("read the library");
    let (text, again) = (bed.filler(first.1), bed.filler(second.1));
    let (_, result) = bed.exchange("read", first.0, &text);
    bed.exchange("read", second.0, &again);
    (bed, result)
}

/// The messages pruned once the cache is cold.
fn pruned_when_cold(first: &str, second: &str) -> Option<Vec<EntryId>> {
    let (mut bed, _) = read_twice((first, 21_000), (second, 15_000));
    bed.session.set_idle_minutes(Some(90));
    bed.prepare().map(|record| made(Some(record)).pruned)
}

#[test]
fn m6_a_whole_file_supersedes_a_part_of_it_and_never_the_reverse() {
    let first = Some(vec![EntryId(2)]);
    assert_eq!(pruned_when_cold(PART, WHOLE), first);
    assert_eq!(pruned_when_cold(WHOLE, PART), None);
    assert_eq!(pruned_when_cold(PART, PART), first);
    assert_eq!(pruned_when_cold(r#"{"path":"src/lib.rs","offset":1}"#, PART), None);
}

#[test]
fn m7_a_stale_result_waits_until_the_cache_is_cold() {
    let (mut bed, stale) = read_twice((WHOLE, 21_000), (WHOLE, 10_000));
    let answer = bed.filler(20_000);
    bed.assistant(&answer);
    let before = bed.shown();
    for minutes in [None, Some(89)] {
        bed.session.set_idle_minutes(minutes);
        assert!(bed.prepare().is_none(), "{minutes:?}");
        assert_eq!(bed.shown(), before);
    }
    bed.session.set_idle_minutes(Some(90));
    assert_eq!(made(bed.prepare()).pruned, [stale]);
    assert_eq!(
        bed.shown()[stale.index()],
        format!("(result [Output truncated - 21000 tokens] [recall {stale}])")
    );
}

#[test]
fn m7_a_result_the_model_has_not_seen_is_not_pruned() {
    let mut bed = omp("17").bed();
    bed.user("read it all");
    let giant = bed.filler(90_000);
    bed.exchange("bash", "{}", &giant);
    assert!(bed.prepare().is_none());
    bed.assistant("read");
    assert_eq!(made(bed.prepare()).pruned, [EntryId(2)]);
}

#[test]
fn m18_shaking_leaves_a_pointer_to_the_original() {
    let maker = omp("17").set(|settings| {
        settings.strategy = vec![Strategy::Prune];
        settings.prune.protect_results = Some(Tokens(4_000));
        settings.prune.size_min = Tokens(400);
        settings.prune.saving_min = Tokens(4_000);
    });
    let mut bed = maker.bed();
    bed.user("look around");
    let (old, new) = (bed.filler(5_000), bed.filler(3_000));
    let (_, shaken) = bed.exchange("bash", "{}", &old);
    bed.exchange("bash", "{}", &new);
    let record = made(Some(bed.compact(Trigger::Manual)));
    assert_eq!((record.strategy, record.pruned), (Strategy::Prune, vec![shaken]));
    assert_eq!(bed.shown()[2], format!("(result [Output truncated - 5000 tokens] [recall {shaken}])"));
    let original = bed.original(shaken);
    assert_eq!(original.results().map(|result| result.text()).collect::<Vec<_>>(), [old]);
}
