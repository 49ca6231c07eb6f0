//! What an answer is told to be: an order, given by header, by the model's name or by a plan.

use crate::overflow::{ErrorRow, find_row};
use std::str::FromStr;
use std::time::Duration;

/// How one request is to be answered, where not as usual.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// How long to wait before the answer, and between the events of a stream.
    pub pause: Duration,
    /// What is to go wrong.
    pub fault: Option<Fault>,
    /// What the answer says that the prompt took; what it takes by our count where nothing is ordered.
    pub prompt_tokens: Option<u64>,
}

/// A way for an answer to go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// An error of this status, in the provider's shape.
    Status {
        /// From 400 to 599.
        code: u16,
        /// What the `retry-after` header says, in seconds; none where the header is left out.
        retry_after: Option<u64>,
    },
    /// No answer at all.
    Timeout,
    /// The connection breaks half way.
    Cut,
    /// An error event in the middle of a stream; an overloaded status where nothing is streamed.
    StreamError,
    /// A reply that says nothing.
    Empty,
    /// A reply that runs into its cap.
    Truncate,
    /// A call of a tool, offered or not.
    ToolCall,
    /// A reply of no words.
    Nonsense,
    /// A reply whose text reads like an error.
    ErrorText,
    /// What the model was told to do, given back.
    Echo,
    /// One line, again and again.
    Loop,
    /// The titles that were asked for, and nothing below them.
    Headings,
    /// A good reply with words to whoever asked in front of it.
    Chatter,
    /// A reply on another piece of work.
    Astray,
    /// Reasoning and no reply.
    ReasoningOnly,
    /// As if the prompt did not fit.
    Overflow,
    /// An error of the table in `docs/reference/overflow.md`, whatever the prompt.
    Error(&'static ErrorRow),
}

/// What a rate limit asks a client to wait where the order does not say: the shortest wait there is.
const RETRY_AFTER_SECONDS: u64 = 1;
/// Longer pauses are mistakes: clients give up after ten minutes.
const PAUSE_MS_MAX: u64 = 600_000;
/// Longer prompts are mistakes: no window is as large.
const PROMPT_TOKENS_MAX: u64 = 100_000_000;

impl Fault {
    fn of(name: &str, value: Option<&str>) -> Option<Self> {
        if let Ok(code @ 400..=599) = name.parse() {
            let retry_after = match value {
                Some(seconds) => Some(seconds.parse().ok()?),
                None => (code == 429).then_some(RETRY_AFTER_SECONDS),
            };
            return Some(Self::Status { code, retry_after });
        }
        if let ("error", Some(row)) = (name, value) {
            return find_row(row).map(Self::Error);
        }
        let fault = match name {
            "timeout" => Self::Timeout,
            "cut" => Self::Cut,
            "stream-error" => Self::StreamError,
            "empty" => Self::Empty,
            "truncate" => Self::Truncate,
            "tool-call" => Self::ToolCall,
            "nonsense" => Self::Nonsense,
            "error-text" => Self::ErrorText,
            "echo" => Self::Echo,
            "loop" => Self::Loop,
            "headings" => Self::Headings,
            "chatter" => Self::Chatter,
            "astray" => Self::Astray,
            "reasoning-only" => Self::ReasoningOnly,
            "overflow" => Self::Overflow,
            _ => return None,
        };
        value.is_none().then_some(fault)
    }
}

impl FromStr for Order {
    type Err = String;

    /// Reads `429`, `429=7` (seconds to wait), `cut`, `slow=50` (milliseconds), `usage=20000` (tokens), or several joined by `+`.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut order = Self::default();
        for term in text.split('+').map(str::trim) {
            let (name, value) =
                term.split_once('=').map_or((term, None), |(name, value)| (name, Some(value)));
            match (name, value.and_then(|value| value.parse().ok())) {
                ("slow", Some(ms @ 0..=PAUSE_MS_MAX)) => order.pause = Duration::from_millis(ms),
                ("usage", Some(tokens @ 0..=PROMPT_TOKENS_MAX)) => order.prompt_tokens = Some(tokens),
                _ => order.fault = Some(Fault::of(name, value).ok_or_else(|| unknown(term))?),
            }
        }
        Ok(order)
    }
}

fn unknown(term: &str) -> String {
    format!(
        "`{term}` is no order; there are a status such as 429 or 429=SECONDS, timeout, cut, stream-error, \
         empty, truncate, tool-call, nonsense, error-text, echo, loop, headings, chatter, astray, reasoning-only, overflow, error=ROW, slow=MS and usage=TOKENS, joined by +"
    )
}

#[cfg(test)]
mod tests {
    use super::{Fault, Order};
    use std::time::Duration;

    #[test]
    fn orders_are_read_as_people_write_them() {
        let orders =
            ["429", "529", "429=7", "slow=50+cut", "usage=9", "error=L7"].map(|text| text.parse::<Order>());
        let failing = |code, retry_after| Order {
            fault: Some(Fault::Status { code, retry_after }),
            ..Order::default()
        };
        let slow = Order { pause: Duration::from_millis(50), fault: Some(Fault::Cut), ..Order::default() };
        let counted = Order { prompt_tokens: Some(9), ..Order::default() };
        let told = Order { fault: super::find_row("L7").map(Fault::Error), ..Order::default() };
        let expected =
            [failing(429, Some(1)), failing(529, None), failing(429, Some(7)), slow, counted, told];
        assert_eq!(orders, expected.map(Ok));
    }

    #[test]
    fn an_unknown_order_is_refused() {
        let wrong = ["", "200", "cut=1", "slow", "slow=x", "usage", "usage=-1", "explode", "error=999"];
        assert_eq!(wrong.map(|text| text.parse::<Order>().is_err()), [true; 9]);
    }
}
