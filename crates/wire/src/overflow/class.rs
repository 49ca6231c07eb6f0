//! What a failed call turns out to be, and the numbers its text gives away.

use super::ErrorPlace;
use epitome_core::Tokens;
use serde::{Deserialize, Serialize};

/// What a provider's answer means for the size of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OverflowClass {
    /// The prompt alone does not fit: learn the window, compact, send once more.
    TokenOverflow,
    /// Prompt and requested output together do not fit: ask for less output first.
    OutputReserve,
    /// The body has too many bytes: shrink media and large results; tokens are not the problem.
    PayloadBytes,
    /// A picture or document is too large or one too many; compacting text never cures it.
    Media,
    /// One request is larger than an allowance by the minute: waiting does not help, compaction does.
    SizeRate,
    /// Too much over time: wait, and never compact.
    Throttle,
    /// A reply that stopped because the window is full: compact, then go on.
    SoftStop,
    /// A reply to a prompt of which the provider dropped a part: compact, warn, correct the window.
    SilentTruncation,
    /// Calls and results, or roles, do not match: repair the history.
    Pairing,
    /// Signed thinking no longer matches what stands before it: leave it out, or ask for its being dropped.
    ThinkingBinding,
    /// The provider cannot read an encrypted item of its own: rebuild it from its readable twin.
    Undecryptable,
    /// Perhaps an overflow, without proof: one only where our estimate is near the window.
    Suspect,
    /// Anything else: passed on as it came.
    Other,
}

/// What was decided, and by what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OverflowVerdict {
    /// What it is.
    pub class: OverflowClass,
    /// What its text told.
    pub numbers: OverflowFigures,
    /// The rule that decided.
    pub rule: OverflowRule,
}

/// What decided a class. The numbers are those of `docs/reference/overflow.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OverflowRule {
    /// The HTTP status alone.
    Status,
    /// A code the provider names its error by.
    Code,
    /// An exclusion, `X1` to `X12`.
    Exclusion(u8),
    /// A row of the table of errors.
    Row(u8),
    /// A detector on a reply that succeeded, `D1` to `D5`.
    Detector(u8),
    /// The numbers in the text contradict what it seemed to be.
    Numbers,
    /// Our own estimate of the request.
    Estimate,
    /// Nothing known fits.
    Nothing,
}

/// What the text of an error tells of limits and sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OverflowFigures {
    /// All the model holds, prompt and output.
    pub window: Option<Tokens>,
    /// The longest prompt, where that is another limit than the window.
    pub input_max: Option<Tokens>,
    /// The prompt as the provider counted it, or prompt and output where it counted them as one.
    pub requested: Option<Tokens>,
    /// The output that was asked for.
    pub output: Option<Tokens>,
    /// By how much the prompt is too long, where that alone is said.
    pub over: Option<Tokens>,
    /// Tokens allowed by the minute; no window, and never learned as one.
    pub rate: Option<Tokens>,
    /// The largest body, or the largest picture, in megabytes.
    pub megabytes_max: Option<u64>,
    /// The longest side of a picture, in pixels.
    pub pixels_max: Option<u64>,
}

/// Left free beside an answer, since the provider's next count may differ by a few tokens.
const ANSWER_MARGIN: Tokens = Tokens(64);

impl OverflowFigures {
    /// The limit the prompt is held against.
    pub fn limit(&self) -> Option<Tokens> {
        self.input_max.or(self.window)
    }

    /// The longest answer that there is room for beside the prompt, where the text says both. Whether that is one worth
    /// asking for is the caller's to say.
    pub fn answer_room(&self) -> Option<Tokens> {
        Some(self.limit()?.less(self.requested?).less(ANSWER_MARGIN))
    }

    /// By how much the request was over its limit, where the text says. Whoever plans by it allows for the
    /// difference between the provider's count and ours; nothing is added here.
    pub fn gap(&self) -> Option<Tokens> {
        let counted = || {
            let asked = self.requested? + self.output.unwrap_or_default();
            Some(asked.less(self.limit().or(self.rate)?)).filter(|&gap| gap > Tokens::ZERO)
        };
        self.over.or_else(counted)
    }
}

/// What we know of the request and of the model it went to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestFacts {
    /// Our estimate of the prompt.
    pub estimate: Option<Tokens>,
    /// The window as we believe it.
    pub window: Option<Tokens>,
    /// The largest prompt that succeeded with this model; a limit below it is out of date.
    pub largest: Option<Tokens>,
}

impl RequestFacts {
    /// Whether our estimate is at nine tenths of the window or beyond; none where one is not known.
    pub(crate) fn is_near(&self) -> Option<bool> {
        Some(self.estimate?.0.saturating_mul(10) >= self.window?.0.saturating_mul(9))
    }
}

impl OverflowClass {
    /// Whether a refusal of this class that was met at `place` passes by itself.
    pub fn is_passing(self, place: ErrorPlace) -> bool {
        match self {
            Self::Throttle => true,
            Self::Other => place.is_passing(),
            Self::TokenOverflow
            | Self::OutputReserve
            | Self::PayloadBytes
            | Self::Media
            | Self::SizeRate
            | Self::SoftStop
            | Self::SilentTruncation
            | Self::Pairing
            | Self::ThinkingBinding
            | Self::Undecryptable
            | Self::Suspect => false,
        }
    }
}

impl OverflowVerdict {
    pub(super) fn new(class: OverflowClass, rule: OverflowRule) -> Self {
        Self { class, rule, numbers: OverflowFigures::default() }
    }

    /// Whether a smaller context would help, and nothing milder.
    pub fn needs_compaction(&self, known: &RequestFacts) -> bool {
        match self.class {
            OverflowClass::TokenOverflow
            | OverflowClass::SizeRate
            | OverflowClass::SoftStop
            | OverflowClass::SilentTruncation => true,
            OverflowClass::Suspect => known.is_near() == Some(true),
            OverflowClass::OutputReserve
            | OverflowClass::PayloadBytes
            | OverflowClass::Media
            | OverflowClass::Throttle
            | OverflowClass::Pairing
            | OverflowClass::ThinkingBinding
            | OverflowClass::Undecryptable
            | OverflowClass::Other => false,
        }
    }
}
