//! The settings of `mode`, `trigger`, `check`, `window` and `speculate`: how full is full, how that
//! is measured, and at which points it is looked at.

use super::Threshold;
use crate::Tokens;
use serde::{Deserialize, Serialize};

/// What an automatic compaction may do without being asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TriggerMode {
    /// Compact when it is due.
    Auto,
    /// Draft the plan and wait for a person's word.
    Ask,
    /// Say that it is due, and do nothing.
    Remind,
    /// Do nothing, on overflow either; the provider's error reaches whoever called.
    Off,
}

/// How full is full.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TriggerRule {
    /// Compact when the request comes to this.
    pub at: Threshold,
    /// Whether reaching the point is enough, or it must be passed.
    pub compare: Compare,
    /// Tokens that replace `at` where they are set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub absolute: Option<Tokens>,
    /// What of the answer counts towards the point.
    pub output: OutputCount,
    /// At least this share of the window stays free, whatever `at` says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free_min: Option<Threshold>,
    /// Whether a reserve in `at` that is most of a small window gives way to `free_min`: so it does
    /// where nobody asked for it.
    #[serde(default)]
    pub yields: bool,
    /// A point in the window without the answer's part that may bring the trigger forward, never back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only_lower: Option<Threshold>,
    /// Compact down to this; as far as the strategy goes where it is not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Threshold>,
    /// What the target is a target for.
    #[serde(default)]
    pub target_of: TargetOf,
    /// Where the size of a request is taken from.
    pub measure: MeasureBy,
    /// A warning comes this early.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approaching: Option<Threshold>,
    /// Compact at this many messages in view.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<u64>,
    /// Compact at this many bytes in view.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Compact at this many pictures in view.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media: Option<u64>,
}

impl Default for TriggerRule {
    fn default() -> Self {
        Self {
            at: Threshold::Share(8_000),
            compare: Compare::Reached,
            absolute: None,
            output: OutputCount::Room,
            free_min: None,
            yields: false,
            only_lower: None,
            target: Some(Threshold::Share(4_500)),
            target_of: TargetOf::Free,
            measure: MeasureBy::Floor,
            approaching: Some(Threshold::Share(7_000)),
            messages: None,
            bytes: None,
            media: None,
        }
    }
}

/// Whether a point must be reached or passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Compare {
    /// At or above it.
    Reached,
    /// Above it.
    Passed,
}

impl Compare {
    /// Whether `tokens` have come to `limit`.
    pub fn holds(self, tokens: Tokens, limit: Tokens) -> bool {
        match self {
            Self::Reached => tokens >= limit,
            Self::Passed => tokens > limit,
        }
    }
}

/// What a target is a target for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TargetOf {
    /// What stands beside the messages kept in any case, as a share of the room that is free for a history.
    #[default]
    Free,
    /// The whole request, fixed parts and all that is kept included, as a share of the window.
    Request,
}

/// What of the answer is counted towards the trigger's point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutputCount {
    /// Nothing; but a request that leaves the answer no room is compacted all the same.
    Room,
    /// Nothing at all: the point leaves enough.
    None,
    /// All that the request reserves.
    Reserved,
    /// What the model can write, at most this.
    Capped(Tokens),
}

/// Where the size of a request is taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MeasureBy {
    /// Our own count of everything in view.
    Count,
    /// What the provider said of the newest call.
    Usage,
    /// What the provider said, and our count of what came since.
    Hybrid,
    /// The larger of our count and what the provider said.
    Floor,
}

/// At which points a look is taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckRule {
    /// Before each call that answers a person.
    pub before_call: bool,
    /// Before each call that answers tools.
    pub in_tool_loop: bool,
    /// When a turn has ended.
    pub after_turn: bool,
    /// Before a person's input is taken up.
    pub before_input: bool,
    /// After this many seconds without a word, where the request has `idle_tokens`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_seconds: Option<u64>,
    /// How large a request must be to be compacted when idle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_tokens: Option<Tokens>,
}

impl Default for CheckRule {
    fn default() -> Self {
        Self {
            before_call: true,
            in_tool_loop: true,
            after_turn: false,
            before_input: false,
            idle_seconds: None,
            idle_tokens: None,
        }
    }
}

/// The window, where it is not the model's own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WindowRule {
    /// The window as an operator states it, whatever is known of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
    /// An operator's window; the smaller of this and the model's counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most: Option<Tokens>,
    /// The window of a model nobody knows; refused where it is not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unknown: Option<Tokens>,
}

impl Default for WindowRule {
    fn default() -> Self {
        Self { tokens: None, most: None, unknown: Some(Tokens(128_000)) }
    }
}

/// The making of a summary before it is needed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpeculateRule {
    /// Whether to.
    pub enabled: bool,
    /// How far before the trigger it begins, as a share of the trigger.
    pub lead: Threshold,
    /// At least so far.
    pub lead_min: Tokens,
    /// At most so far.
    pub lead_max: Tokens,
    /// A summary covering less than this much of what would leave view now is made again.
    pub growth_max: Tokens,
    /// How many may be thrown away in a row before it is left alone until the next compaction.
    pub wasted_max: u32,
}

impl Default for SpeculateRule {
    fn default() -> Self {
        Self {
            enabled: false,
            lead: Threshold::Share(1_250),
            lead_min: Tokens(8_192),
            lead_max: Tokens(32_000),
            growth_max: Tokens(20_000),
            wasted_max: 2,
        }
    }
}
