//! What leaves without a summary, and what stays whatever is done.

use super::{WINDOW, full, kaged, made};
use epitome_core::policy::Writer;
use epitome_core::{
    CompactorPiece, CompactorReply, EntryId, Failure, Fallback, PlanChanges, Strategy, Tokens, Trigger,
    Verdict,
};
use epitome_testbed::{Bed, Maker, TestHook, failed};
use std::sync::Arc;

/// A session of exchanges, each of two messages and 1,000 tokens, behind what a person asked. Results of
/// this tool are not pruned.
fn working(maker: Maker) -> (Bed, EntryId, Vec<(EntryId, EntryId)>) {
    let mut bed = maker.bed();
    let asked = bed.user("make the tests pass");
    let exchanges = (0..95).map(|_| {
        let result = bed.filler(985);
        bed.exchange("read", r#"{"path":"crates/house/src/rooms/kitchen.rs"}"#, &result)
    });
    let exchanges = exchanges.collect();
    (bed, asked, exchanges)
}

/// The same policy with this strategy alone.
fn only(strategy: Strategy) -> Maker {
    kaged().set(|settings| settings.strategy = vec![strategy])
}

/// A compactor that keeps the first message and the last exchange.
fn keeps_ends(bed_messages: &[EntryId]) -> Arc<TestHook> {
    let last = bed_messages.len() - 2;
    let kept = [bed_messages[0], bed_messages[last], bed_messages[last + 1]];
    let list = [CompactorPiece::Write("all tests pass but one".into())].into_iter();
    let list = [CompactorPiece::Keep(kept[0])]
        .into_iter()
        .chain(list)
        .chain(kept[1..].iter().map(|&id| CompactorPiece::Keep(id)));
    Arc::new(TestHook::new("hindsight").compacts(Some(Ok(CompactorReply::of(list)))))
}

#[test]
fn k2_dropping_reaches_the_lower_threshold() {
    for maker in
        [kaged().set(|settings| settings.summary.by = Writer::Nobody), Maker::new("kaged@2026-05", WINDOW)]
    {
        let (mut bed, _) = full(maker);
        let record = bed.prepare().expect("90,000 tokens are over the threshold");
        assert_eq!(record.tokens_before, Tokens(90_000));
        assert!(record.tokens_after < Tokens(60_000), "{}", record.tokens_after);
        assert_eq!(made(Some(record)).strategy, Strategy::Drop);
        assert_eq!(bed.model.requests(), []);
    }
}

#[test]
fn k4_dropping_summarises_first_where_someone_can() {
    let (mut bed, _) = full(kaged());
    let record = bed.prepare().expect("it is due");
    let change = made(Some(record.clone()));
    assert_eq!((change.strategy, &record.fallbacks), (Strategy::Summarize, &vec![]));
    assert_eq!(change.summarizer.as_deref(), Some("test-model"));
    assert!(bed.shown()[1].contains("## Goal\nwhat call 1 was told"), "{}", bed.shown()[1]);
}

#[test]
fn k5_a_summariser_that_fails_leaves_plain_dropping() {
    let (mut bed, _) = full(kaged());
    bed.model.always(failed(Failure::Broken("connection reset".into())));
    let record = bed.prepare().expect("it is due");
    let why = "the summariser failed: connection reset".into();
    assert_eq!(record.fallbacks, [Fallback { strategy: Strategy::Summarize, why }]);
    assert_eq!((made(Some(record)).strategy, bed.model.requests().len()), (Strategy::Drop, 1));
}

#[test]
fn k6_the_oldest_exchanges_go_first_and_whole() {
    let (mut bed, asked, exchanges) = working(only(Strategy::Drop));
    let record = made(bed.prepare());
    let gone = record.dropped.len() / 2;
    let (old, new) = exchanges.split_at(gone);
    let ids = |pairs: &[(EntryId, EntryId)]| {
        pairs.iter().flat_map(|&(call, result)| [call, result]).collect::<Vec<_>>()
    };
    assert_eq!((record.dropped, bed.in_view()), (ids(old), [vec![asked], ids(new)].concat()));
    assert!((35..45).contains(&gone), "{gone} exchanges had to go");
}

#[test]
fn k7_call_and_result_are_on_the_same_side_whatever_is_done() {
    for strategy in Strategy::ALL {
        for messages in 9..=12 {
            let maker = only(strategy).set(|settings| {
                settings.keep.newest = epitome_core::policy::Newest::Messages(messages);
                settings.summary.span_messages = Some(messages);
            });
            let (mut bed, _, exchanges) = working(maker);
            bed.prepare();
            let view = bed.in_view();
            let halves =
                exchanges.iter().filter(|(call, result)| view.contains(call) != view.contains(result));
            assert_eq!(halves.count(), 0, "{strategy} with {messages}");
        }
    }
}

#[test]
fn k8_the_system_prompt_and_the_first_message_stay_whatever_is_done() {
    for strategy in Strategy::ALL {
        let maker = only(strategy).budget(|budget| budget.fixed = Tokens(3_000));
        let (mut bed, asked, _) = working(maker);
        let messages = bed.session.history().to_vec();
        bed.driver.ports_mut().add_hook(keeps_ends(&messages)).expect("it is the only one");
        let record = bed.prepare().expect("it is due");
        assert_eq!(record.budget.fixed, Tokens(3_000), "{strategy}");
        assert_eq!(bed.in_view().first(), Some(&asked), "{strategy}");
        assert_eq!(bed.shown()[0], "make the tests pass", "{strategy}");
    }
}

#[test]
fn k9_what_a_plugin_marks_is_kept_with_its_exchange() {
    for strategy in Strategy::ALL {
        let marked = EntryId(4);
        let wishes = PlanChanges { retain: vec![marked], ..PlanChanges::default() };
        let hook = TestHook::new("memory").says(Ok(Some(Verdict::Proceed(wishes))));
        let (mut bed, asked, _) = working(only(strategy).hook(Arc::new(hook)));
        let record = bed.prepare().expect("it is due");
        let kept = [asked, EntryId(3), marked];
        assert!(kept.iter().all(|id| bed.in_view().contains(id)), "{strategy}: {:?}", bed.in_view());
        assert!(record.outcome.is_rebuilt(), "{strategy}");
        assert_eq!(record.hooks[0].told, "retains 1", "{strategy}");
    }
}

#[test]
fn k9_what_an_operators_words_match_or_a_person_pins_is_kept() {
    for strategy in Strategy::ALL {
        let maker = only(strategy).set(|settings| settings.keep.matching = vec!["DECISION:".into()]);
        let mut bed = maker.bed();
        let first = bed.user("begin");
        bed.talk(10, 1_000);
        let decided = bed.assistant("DECISION: the port is 8443");
        let pinned = bed.user("the staging key is in the vault");
        bed.talk(80, 1_000);
        bed.session.pin(pinned).expect("it is a message");
        assert!(bed.prepare().expect("it is due").outcome.is_rebuilt(), "{strategy}");
        assert_eq!(bed.in_view()[..3], [first, decided, pinned], "{strategy}");
    }
}

#[test]
fn k2_a_compaction_by_hand_drops_too() {
    let (mut bed, _) = full(only(Strategy::Drop));
    let record = bed.compact(Trigger::Manual);
    assert!(record.tokens_after < Tokens(60_000));
}
