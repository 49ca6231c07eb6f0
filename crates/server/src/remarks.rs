//! What an operator should know of a compaction beside its figures: what failed, what was dropped, and
//! that it is held back. Each is said once, and again only when something else was said in between.

use epitome_core::Record;
use epitome_engine::Event;
use epitome_wire::overflow::{OverflowClass, OverflowVerdict, RequestFacts};

/// What automatic compaction does from then on.
const STOPPED: &str = "automatic compaction now waits until the window itself is full, and asks no model";

/// Remarks, and what was said last, but for its figures.
#[derive(Debug, Default)]
pub(crate) struct Remarks {
    last: Vec<String>,
}

impl Remarks {
    /// What there is to say now, unless it is what was said last. Figures change with every message and with what is
    /// learned of the provider's count; the same with others is no news.
    pub(crate) fn new_ones(&mut self, remarks: Vec<String>) -> Vec<String> {
        let gist: Vec<String> = remarks.iter().map(|remark| without_figures(remark)).collect();
        if remarks.is_empty() || gist == self.last {
            return Vec::new();
        }
        self.last = gist;
        remarks
    }
}

fn without_figures(remark: &str) -> String {
    remark.chars().filter(|c| !c.is_ascii_digit() && *c != ',').collect()
}

/// What events of a session say that no figure does.
pub(crate) fn of_events(events: &[Event]) -> Vec<String> {
    let told = events.iter().filter_map(|event| match event {
        Event::Failed { why, .. } => Some(format!("not compacted: {why}")),
        Event::Stopped { why } => Some(format!("{STOPPED}: {why}")),
        Event::Held { why } => Some(format!("held: {why}")),
        Event::Due { tokens, limit, why } => {
            Some(format!("a compaction is due at {limit}, and the request has {tokens}; {why}"))
        }
        Event::HookFailed { run } => Some(format!("hook {}: {}", run.name, run.told)),
        Event::Learned { window } => Some(format!("the provider's window is {window}")),
        Event::Triggered { .. }
        | Event::Completed { .. }
        | Event::Noop { .. }
        | Event::Pruned { .. }
        | Event::Trimmed { .. }
        | Event::Speculated { .. }
        | Event::Undone { .. }
        | Event::Redone { .. }
        | Event::Approaching { .. }
        // Told by whoever is asked, when the wait begins.
        | Event::Pending { .. }
        | Event::Flagged { .. } => None,
    });
    told.collect()
}

/// What a reply that succeeded tells of the provider's window, where that is not what was believed. It has no figure that
/// changes from one request to the next, so that it is said once.
pub(crate) fn of_verdict(verdict: &OverflowVerdict, known: &RequestFacts) -> Option<String> {
    let OverflowVerdict { class, numbers, .. } = verdict;
    match (class, numbers.window) {
        (OverflowClass::SilentTruncation, Some(window)) => Some(format!(
            "the provider reads {window} tokens and dropped the rest of the prompt without a word; its window is taken to be {window} from now on"
        )),
        (OverflowClass::SilentTruncation, None) => known.window.map(|window| {
            format!("the provider took a prompt beyond {window} tokens, the window it is held to have; say the right one in `window.tokens`")
        }),
        (OverflowClass::SoftStop, Some(window)) if known.window != Some(window) => {
            Some(format!("the provider's window was full before the reply ended: it is {window} tokens"))
        }
        (
            OverflowClass::SoftStop
            | OverflowClass::TokenOverflow
            | OverflowClass::OutputReserve
            | OverflowClass::PayloadBytes
            | OverflowClass::Media
            | OverflowClass::SizeRate
            | OverflowClass::Throttle
            | OverflowClass::Pairing
            | OverflowClass::ThinkingBinding
            | OverflowClass::Undecryptable
            | OverflowClass::Suspect
            | OverflowClass::Other,
            _,
        ) => None,
    }
}

/// What a record says of how it came about.
pub(crate) fn of_record(record: &Record) -> Vec<String> {
    let Some(change) = record.change() else { return Vec::new() };
    let tried = record.fallbacks.iter().map(|one| format!("tried {}: {}", one.strategy, one.why));
    let dropped = match change.dropped.len() {
        0 => None,
        count => Some(format!("{count} messages were dropped without a summary")),
    };
    tried.chain(dropped).chain(record.notes.iter().cloned()).collect()
}

#[cfg(test)]
mod tests {
    use super::{Remarks, of_events};
    use epitome_engine::Event;

    #[test]
    fn a_failure_is_told_once_however_often_it_comes() {
        let failed = || of_events(&[Event::Failed { why: "HTTP 500".into(), in_a_row: 1 }]);
        let mut remarks = Remarks::default();
        assert_eq!(remarks.new_ones(failed()), ["not compacted: HTTP 500"]);
        assert_eq!(remarks.new_ones(failed()), Vec::<String>::new());
        let other = |tokens: u64| vec![format!("cannot fit {tokens} tokens")];
        assert_eq!([remarks.new_ones(other(9_000)).len(), remarks.new_ones(other(10_000)).len()], [1, 0]);
    }
}
