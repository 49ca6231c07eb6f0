//! What an operator should know of a compaction beside its figures: what failed, what was dropped, and
//! that it is held back. Each is said once, and again only when it says something else.

use epitome_core::{Record, Tokens};
use epitome_engine::Event;
use epitome_wire::overflow::{OverflowClass, OverflowVerdict, RequestFacts};

/// What automatic compaction does from then on.
const STOPPED: &str = "automatic compaction now waits until the window itself is full, and asks no model";

/// Something to say, and what of it makes it news.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Remark {
    text: String,
    /// The same again with other figures is told by this not to be news.
    gist: String,
}

impl Remark {
    /// One whose every word and figure counts: a window, a number of messages that were dropped.
    fn exact(text: String) -> Self {
        Self { gist: text.clone(), text }
    }

    /// One in which sizes are told. They change with every message and with what is learned of the provider's count.
    fn with_sizes(text: String) -> Self {
        Self { gist: without_sizes(&text), text }
    }
}

/// What was said last.
#[derive(Debug, Default)]
pub(crate) struct Remarks {
    last: Vec<String>,
}

impl Remarks {
    /// What there is to say now, unless it is what was said last.
    pub(crate) fn new_ones(&mut self, remarks: Vec<Remark>) -> Vec<String> {
        let (texts, gists): (Vec<String>, Vec<String>) =
            remarks.into_iter().map(|remark| (remark.text, remark.gist)).unzip();
        if texts.is_empty() || gists == self.last {
            return Vec::new();
        }
        self.last = gists;
        texts
    }
}

/// A text without the sizes in it: numbers of thousands, and whatever is counted in tokens. A status, an exit code or a
/// number of messages stays.
fn without_sizes(text: &str) -> String {
    let words = text.split(' ').collect::<Vec<_>>();
    let is_counted = |at: usize| words.get(at + 1).is_some_and(|next| next.starts_with("token"));
    let word = |(at, word): (usize, &&str)| {
        let number = word.trim_matches(|c: char| !c.is_ascii_digit());
        let is_number =
            !number.is_empty() && number.chars().all(|c| c.is_ascii_digit() || c == ',' || c == '.');
        let is_size = is_number && (number.contains(',') || number.len() > CODE_DIGITS_MAX || is_counted(at));
        if is_size { word.replace(number, "") } else { (*word).to_owned() }
    };
    words.iter().enumerate().map(word).collect::<Vec<_>>().join(" ")
}

/// Statuses and exit codes have no more.
const CODE_DIGITS_MAX: usize = 3;

/// What events of a session say that no figure does.
pub(crate) fn of_events(events: &[Event]) -> Vec<Remark> {
    let told = events.iter().filter_map(|event| match event {
        Event::Failed { why, .. } => Some(failed(why)),
        Event::Stopped { why } => Some(Remark::with_sizes(format!("{STOPPED}: {why}"))),
        Event::Held { why } => Some(Remark::with_sizes(format!("held: {why}"))),
        Event::Due { tokens, limit, why } => Some(Remark {
            gist: format!("a compaction is due; {}", without_sizes(why)),
            text: format!("a compaction is due at {limit}, and the request has {tokens}; {why}"),
        }),
        Event::HookFailed { run } => Some(Remark::with_sizes(format!("hook {}: {}", run.name, run.told))),
        Event::Learned { window } => Some(Remark::exact(format!("the provider's window is {window}"))),
        Event::Triggered { .. }
        | Event::Completed { .. }
        | Event::Observed { .. }
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

/// A compaction that was not made. Every figure of what cannot fit is a size, however small.
fn failed(why: &str) -> Remark {
    let text = format!("not compacted: {why}");
    if why.starts_with(CANNOT_FIT) {
        let gist = text.chars().filter(|letter| !letter.is_ascii_digit() && *letter != ',').collect();
        return Remark { gist, text };
    }
    Remark::with_sizes(text)
}

/// How it is said that what cannot be reduced does not fit.
const CANNOT_FIT: &str = "cannot fit ";

/// What a reply that succeeded tells of the provider's window, where that is not what was believed. It has no figure that
/// changes from one request to the next, so that it is said once.
pub(crate) fn of_verdict(verdict: &OverflowVerdict, known: &RequestFacts) -> Option<Remark> {
    let OverflowVerdict { class, numbers, .. } = verdict;
    let told = match (class, numbers.window) {
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
    };
    told.map(Remark::exact)
}

/// What a record says of how it came about.
pub(crate) fn of_record(record: &Record) -> Vec<Remark> {
    let Some(change) = record.change() else { return Vec::new() };
    let tried =
        record.fallbacks.iter().map(|one| Remark::with_sizes(format!("tried {}: {}", one.strategy, one.why)));
    let dropped = match change.dropped.len() {
        0 => None,
        1 => Some("1 message was dropped without a summary".to_owned()),
        count => Some(format!("{} messages were dropped without a summary", Tokens(count as u64))),
    };
    let notes = record.notes.iter().cloned().map(Remark::with_sizes);
    tried.chain(dropped.map(Remark::exact)).chain(notes).collect()
}

#[cfg(test)]
mod tests {
    use super::{Remark, Remarks, of_events, without_sizes};
    use epitome_core::Tokens;
    use epitome_engine::Event;

    #[test]
    fn a_failure_is_told_once_however_often_it_comes() {
        let failed = || of_events(&[Event::Failed { why: "HTTP 500".into(), in_a_row: 1 }]);
        let mut remarks = Remarks::default();
        assert_eq!(remarks.new_ones(failed()), ["not compacted: HTTP 500"]);
        assert_eq!(remarks.new_ones(failed()), Vec::<String>::new());
        let other = |tokens: u64| vec![Remark::with_sizes(format!("cannot fit {tokens} tokens"))];
        assert_eq!([remarks.new_ones(other(9_000)).len(), remarks.new_ones(other(10_000)).len()], [1, 0]);
    }

    #[test]
    fn another_status_is_news_and_another_window_too_and_another_size_is_not() {
        let mut remarks = Remarks::default();
        let mut told = |event: Event| remarks.new_ones(of_events(&[event])).len();
        let failed = |why: &str| Event::Failed { why: why.into(), in_a_row: 1 };
        assert_eq!([told(failed("HTTP 500")), told(failed("HTTP 429")), told(failed("HTTP 429"))], [1, 1, 0]);
        let learned = |window| Event::Learned { window: Tokens(window) };
        assert_eq!([told(learned(128_000)), told(learned(128_000)), told(learned(200_000))], [1, 0, 1]);
        let due =
            |tokens, limit| Event::Due { tokens: Tokens(tokens), limit: Tokens(limit), why: "held".into() };
        assert_eq!([told(due(900, 800)), told(due(1_900, 810))], [1, 0]);
    }

    #[test]
    fn sizes_are_numbers_of_thousands_and_what_is_counted_in_tokens() {
        let text =
            "exit 2: (12,345 of context) and 900 tokens do not fit 131072; 12 messages, HTTP 429, v2.1";
        let expected = "exit 2: ( of context) and  tokens do not fit ; 12 messages, HTTP 429, v2.1";
        assert_eq!(without_sizes(text), expected);
    }
}
