//! How several suites begin: a session that is due, settings that fall back on nothing, compactions in a row.

use crate::bed::{Bed, Maker};
use crate::outcome::change;
use epitome_core::policy::LastResort;
use epitome_core::{Change, Record, Strategy, Trigger, fence};
use std::sync::Arc;

/// A session that is due for compaction in a window of 20,000: 90 messages of 200 tokens, summarised in one call.
pub fn due(maker: Maker) -> Bed {
    let mut bed = maker.set(|settings| settings.keep.within_turn = false).bed();
    bed.talk(90, 200);
    bed
}

/// Settings under which a failed summary leaves the session as it is.
pub fn stubborn(window: u64) -> Maker {
    Maker::new("default", window).set(|settings| {
        settings.strategy = vec![Strategy::Summarize];
        settings.guard.last = LastResort::Abandon;
        settings.summary.else_embedded = false;
    })
}

/// Compacts by hand, and it must come to something.
pub fn compact(bed: &mut Bed) -> Arc<Record> {
    let record = bed.compact(Trigger::Manual);
    assert_eq!((record.outcome.name(), record.outcome.why()), ("compacted", None));
    record
}

/// So many compactions, each of 60 messages more; what the last one made.
pub fn compacted(bed: &mut Bed, times: usize) -> Change {
    let mut made = None;
    for _ in 0..times {
        bed.talk(60, 200);
        made = Some(change(Some(bed.compact(Trigger::Manual))));
    }
    made.expect("it was to be compacted at least once")
}

/// The summary in view, without its frame.
pub fn summary(bed: &Bed) -> String {
    let (_, summary) = bed.session.context().summary(bed.session.log()).expect("there is one");
    fence::body(summary).to_owned()
}
