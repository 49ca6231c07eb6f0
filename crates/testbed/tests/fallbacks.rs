//! Where a model fails for good, the embedded summariser writes the summary; dropping is what is left after that.

use epitome_core::{Failure, Strategy, Trigger};
use epitome_testbed::{Maker, failed};

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
