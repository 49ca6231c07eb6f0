//! What an operator should know of a compaction beside its figures: what failed, what was dropped, and
//! that it has stopped. Each is said once, and again only when something else was said in between.

use epitome_engine::{Event, Report};

/// Remarks that were not told yet.
#[derive(Debug, Default)]
pub(super) struct Remarks {
    waiting: Vec<String>,
    last: Vec<String>,
}

impl Remarks {
    /// Takes up what there is to say, unless it is what was said last.
    pub(super) fn add(&mut self, remarks: Vec<String>) {
        if remarks.is_empty() || remarks == self.last {
            return;
        }
        self.waiting.extend(remarks.iter().cloned());
        self.last = remarks;
    }

    /// What is to be told now.
    pub(super) fn take(&mut self) -> Vec<String> {
        std::mem::take(&mut self.waiting)
    }
}

/// What events of a session say that no figure does.
pub(super) fn of_events(events: &[Event]) -> Vec<String> {
    let told = events.iter().filter_map(|event| match event {
        Event::Failed { why, .. } => Some(format!("not compacted: {why}")),
        Event::Stopped { why } => Some(format!("automatic compaction has stopped: {why}")),
        Event::Held { why } => Some(format!("held: {why}")),
        Event::Triggered { .. }
        | Event::Completed { .. }
        | Event::Noop { .. }
        | Event::Pruned { .. }
        | Event::Trimmed { .. }
        | Event::Speculated { .. }
        | Event::Undone { .. }
        | Event::Approaching { .. }
        | Event::Due { .. }
        | Event::Pending { .. }
        | Event::Learned { .. }
        | Event::Flagged { .. } => None,
    });
    told.collect()
}

/// What a record says of how it came about.
pub(super) fn of_record(report: &Report) -> Vec<String> {
    let Some(made) = &report.record else { return Vec::new() };
    let tried =
        made.fallbacks.iter().map(|given_up| format!("tried {}: {}", given_up.strategy, given_up.why));
    let dropped = match made.dropped.len() {
        0 => None,
        count => Some(format!("{count} messages were dropped without a summary")),
    };
    tried.chain(dropped).collect()
}

#[cfg(test)]
mod tests {
    use super::{Remarks, of_events};
    use epitome_engine::Event;

    #[test]
    fn a_failure_is_told_once_however_often_it_comes() {
        let failed = || of_events(&[Event::Failed { why: "HTTP 500".into(), in_a_row: 1 }]);
        let mut remarks = Remarks::default();
        remarks.add(failed());
        assert_eq!(remarks.take(), ["not compacted: HTTP 500"]);
        remarks.add(failed());
        assert_eq!(remarks.take(), Vec::<String>::new());
    }
}
