//! Old tool output gives way to a notice before anything is measured.

use super::WINDOW;
use epitome_core::{EntryId, Tokens};
use epitome_engine::Event;
use epitome_testbed::{Bed, Maker, TestHook};
use std::sync::Arc;

/// A session with so many results of 10,000 tokens, and the ids of the messages they are in.
fn filled(maker: Maker, tool: &str, results: usize) -> (Bed, Vec<EntryId>) {
    let mut bed = maker.bed();
    bed.user("look around");
    let results = (0..results).map(|_| {
        let text = bed.filler(10_000);
        bed.exchange(tool, "{}", &text).1
    });
    let results = results.collect();
    (bed, results)
}

#[test]
fn k31_a_saving_that_does_not_pass_the_least_is_not_made() {
    for preset in ["kaged", "omp@17"] {
        let (mut bed, _) = filled(Maker::new(preset, WINDOW), "bash", 6);
        let before = bed.shown();
        bed.session.set_idle_minutes(Some(90));
        assert!(bed.prepare().is_none(), "{preset}");
        assert_eq!((bed.shown(), bed.take_events()), (before, vec![]), "{preset}");
    }
}

#[test]
fn k32_older_results_give_way_to_a_notice() {
    let hook = Arc::new(TestHook::new("observer"));
    let (mut bed, results) = filled(Maker::new("kaged", WINDOW).hook(hook.clone()), "bash", 9);
    let whole: Vec<String> = bed.shown();
    let record = bed.prepare().expect("there is much to prune");
    let (pruned, kept) = results.split_at(5);
    let notice = |id: &EntryId| format!("(result [Pruned — 10000 tokens] [recall {id}])");
    for id in pruned {
        assert_eq!(bed.shown()[id.index()], notice(id));
    }
    for id in kept {
        assert_eq!(bed.shown()[id.index()], whole[id.index()]);
    }
    assert_eq!((record.outcome.name(), bed.session.compactions()), ("pruned", &[][..]));
    let freed = record.tokens_before.less(record.tokens_after);
    assert_eq!(bed.take_events(), [Event::Pruned { entry: EntryId(19), messages: 5, freed }]);
    assert_eq!((hook.told(), hook.records()), (vec![], vec![]));
    let original = bed.original(pruned[0]);
    assert_eq!(
        format!("(result {})", original.results().map(|result| result.text()).collect::<String>()),
        whole[2]
    );
}

#[test]
fn k32_a_notice_that_is_not_smaller_is_not_used() {
    let mut bed = Bed::new("kaged", WINDOW);
    bed.user("look around");
    let (_, short) = bed.exchange("bash", "{}", "ok");
    for _ in 0..9 {
        let text = bed.filler(8_000);
        bed.exchange("bash", "{}", &text);
    }
    let record = bed.prepare().expect("there is much to prune");
    assert_eq!(record.tokens_before, Tokens(72_024));
    assert_eq!(bed.shown()[short.index()], "(result ok)");
}

#[test]
fn k33_results_of_some_tools_stay() {
    for tool in ["read", "skill"] {
        let (mut bed, _) = filled(Maker::new("kaged", WINDOW), tool, 8);
        let before = bed.shown();
        assert!(bed.prepare().is_none(), "{tool}");
        assert_eq!(bed.shown(), before, "{tool}");
    }
}
