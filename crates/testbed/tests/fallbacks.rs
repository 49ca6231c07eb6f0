//! Where a model fails for good, the embedded summariser writes the summary; dropping is what is left after that.

use epitome_core::policy::Parts;
use epitome_core::{Decision, Failure, Strategy, Tokens, Trigger};
use epitome_testbed::{Maker, TestHook, TestOperator, failed, good};
use std::sync::Arc;

#[test]
fn the_embedded_summariser_stands_in_for_a_model_that_fails() {
    let mut bed = Maker::new("default", 20_000).bed();
    bed.model.always(failed(Failure::Broken("the stream broke off".into())));
    bed.talk(60, 300);
    let record = bed.compact(Trigger::Threshold);
    let change = record.change().expect("something was made");
    let tried: Vec<Strategy> = record.fallbacks.iter().map(|fallback| fallback.strategy).collect();
    assert_eq!(
        (change.strategy, change.summarizer.as_deref(), tried),
        (Strategy::Summarize, Some("the embedded summariser"), vec![Strategy::Summarize])
    );
    assert_eq!(change.dropped, []);
}

#[test]
fn every_kind_of_question_and_as_many_calls_as_there_may_be_come_to_an_end() {
    /// More than a driver puts questions to others for.
    const CALLS_MAX: u32 = 600;
    let operator = Arc::new(TestOperator::default());
    operator.then(Decision::Approve);
    let asked = operator.clone();
    let hook = Arc::new(TestHook::new("mind").compacts(Some(Err("it is full".into()))));
    let maker = Maker::new("default", 1_000_000).set(|settings| {
        settings.strategy = vec![
            Strategy::Trim,
            Strategy::Prune,
            Strategy::Checkpoint,
            Strategy::Delegate,
            Strategy::Native,
            Strategy::Summarize,
            Strategy::Drop,
        ];
        settings.guard.calls_max = CALLS_MAX;
        settings.summary.else_embedded = false;
    });
    // One whose window makes many parts of the history, each answered well.
    let maker = maker.model(|model| model.with_window(3_500)).hook(hook.clone());
    let mut bed = maker.ports(|ports| ports.operator = Some(asked)).bed();
    bed.model.always(good("## Goal\nship it"));
    bed.talk(4_200, 200);
    let record = bed.compact(Trigger::Threshold);
    let change = record.change().expect("room was made");
    assert_eq!(change.strategy, Strategy::Drop);
    assert_eq!((bed.model.requests().len(), operator.shown().len()), (CALLS_MAX as usize, 1));
    let tried: Vec<Strategy> = record.fallbacks.iter().map(|fallback| fallback.strategy).collect();
    let expected =
        [Strategy::Trim, Strategy::Prune, Strategy::Delegate, Strategy::Native, Strategy::Summarize];
    assert_eq!((tried, hook.told().len()), (expected.to_vec(), 1));
}

#[test]
fn an_answer_far_over_its_limit_is_refused_however_few_tokens_its_provider_claims() {
    let taken = |size: u64, claimed: u64| {
        let mut bed = Maker::new("default", 40_000)
            .set(|settings| settings.summary.output_max = Some(Tokens(1_000)))
            .set(|settings| settings.summary.parts = Parts::All)
            .bed();
        let mut called = good(&bed.filler(size));
        called.spent.output = Tokens(claimed);
        bed.model.always(called);
        bed.talk(100, 300);
        let record = bed.compact(Trigger::Threshold);
        let why = record.fallbacks.first().map(|fallback| fallback.why.clone());
        (record.change().and_then(|change| change.summarizer.clone()), why)
    };
    let model = Some("test-model".to_owned());
    // Its provider counts, as far as two counts of one text can differ.
    assert_eq!(taken(1_900, 990), (model.clone(), None));
    assert_eq!(taken(990, 990), (model, None));
    let refused = |size: &str, limit: &str| {
        let why = format!("the summary takes {size}, over its limit of {limit}");
        (Some("the embedded summariser".to_owned()), Some(why))
    };
    assert_eq!(taken(6_000, 100), refused("6,000", "2,000"));
    assert_eq!(taken(1_900, 0), refused("1,900", "1,000"));
}
