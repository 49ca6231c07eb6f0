//! How to compact, as data: a checked [`Policy`], made from [`Settings`] at the door.

mod keep;
mod prepass;
mod rebuild;
mod strategy;
mod summary;
mod threshold;
mod trigger;

pub use keep::{AlwaysKeep, KeepRule, Newest};
pub use prepass::{Notice, PruneRule, PruneWhen, TrimRule};
pub use rebuild::{
    FileList, GuardRule, LargerFile, LastResort, RebuildRule, RestoreRule, Resume, TranscriptEntry, Verify,
};
pub use strategy::{Strategy, StrategyKind};
pub use summary::{
    BranchRule, Clip, Input, Markers, Oversize, Parts, Pictures, Previous, Split, SummaryRule, Writer,
};
pub use threshold::Threshold;
pub use trigger::{
    CheckRule, Compare, MeasureBy, OutputCount, SpeculateRule, TargetOf, TriggerMode, TriggerRule, WindowRule,
};

use serde::{Deserialize, Serialize};

/// Settings of a policy as people write them. An unknown key is an error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// One sentence for the list of presets.
    pub about: String,
    /// What an automatic compaction may do without being asked.
    pub mode: TriggerMode,
    /// What to try, in order.
    pub strategy: Vec<Strategy>,
    /// How full is full.
    pub trigger: TriggerRule,
    /// The window, where it is not the model's own.
    pub window: WindowRule,
    /// At which points a look is taken.
    pub check: CheckRule,
    /// How tokens are counted.
    pub count: CountRule,
    /// Repeated harness messages.
    pub trim: TrimRule,
    /// What pruning touches.
    pub prune: PruneRule,
    /// What stays in view.
    pub keep: KeepRule,
    /// How a summary is asked for.
    pub summary: SummaryRule,
    /// What the machine adds to it.
    pub rebuild: RebuildRule,
    /// What is brought back after it.
    pub restore: RestoreRule,
    /// What stops a loop.
    pub guard: GuardRule,
    /// The making of a summary before it is needed.
    pub speculate: SpeculateRule,
    /// How a branch that is left is summarised.
    pub branch: BranchRule,
}

/// The preset `default`, for whoever writes no settings. Each part has its own next to its type.
impl Default for Settings {
    fn default() -> Self {
        Self {
            about: "Compacts at 80 % of the window down to 45 % of what is free: newest exchanges word for word, \
                    the rest as a checked summary."
                .into(),
            mode: TriggerMode::Auto,
            strategy: vec![Strategy::Summarize, Strategy::Drop],
            trigger: TriggerRule::default(),
            window: WindowRule::default(),
            check: CheckRule::default(),
            count: CountRule::default(),
            trim: TrimRule::default(),
            prune: PruneRule::default(),
            keep: KeepRule::default(),
            summary: SummaryRule::default(),
            rebuild: RebuildRule::default(),
            restore: RestoreRule::default(),
            guard: GuardRule::default(),
            speculate: SpeculateRule::default(),
            branch: BranchRule::default(),
        }
    }
}

/// How tokens are counted. `model` is the session's model's own way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CountRule {
    /// How text is counted.
    pub text: CountText,
    /// What a picture counts as; the model's own rule where it is not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_tokens: Option<u64>,
}

impl Default for CountRule {
    fn default() -> Self {
        Self { text: CountText::Model, image_tokens: None }
    }
}

/// How text is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CountText {
    /// As the session's model does, as well as that is known.
    #[serde(rename = "model")]
    Model,
    /// A quarter of the characters, rounded down for each message.
    #[serde(rename = "chars/4")]
    QuarterChars,
    /// A quarter of the UTF-16 units, rounded up for each message.
    #[serde(rename = "utf16/4")]
    QuarterUtf16,
    /// The larger of a quarter of the characters and a `cl100k` count.
    #[serde(rename = "larger")]
    Larger,
    /// A `cl100k` count.
    #[serde(rename = "cl100k")]
    Cl100k,
}

/// A policy, checked: past this point its values are right by their type and by each other.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    settings: Settings,
}

impl std::ops::Deref for Policy {
    type Target = Settings;
    fn deref(&self) -> &Settings {
        &self.settings
    }
}

/// [`Settings::default`], which a test holds to be a policy.
impl Default for Policy {
    fn default() -> Self {
        Self { settings: Settings::default() }
    }
}

/// Settings that make no policy.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// No way to make room is named.
    #[error("`strategy` is empty; name at least one of {}", Strategy::ALL.map(Strategy::name).join(", "))]
    NoStrategy,
    /// A strategy is named twice.
    #[error("`strategy` names {0} twice; what failed once is not tried again")]
    Twice(Strategy),
    /// The newest part takes all or nothing of the target.
    #[error(
        "`keep.newest` is {0} percent; it must lie between 5 and 90 so that tail and summary both have room"
    )]
    TailPercent(u32),
    /// A share of a target that is not there.
    #[error(
        "`keep.newest` is a share of `trigger.target`, which is not set; set it, or keep messages, tokens or turns"
    )]
    NoTarget,
    /// Every message would be pinned.
    #[error("`keep.matching` holds an empty text, which every message holds; take it out")]
    MatchesAll,
    /// Something must be split into parts.
    #[error("`summary.chunks` is 0; 1 is one call for all")]
    NoChunks,
    /// A compaction that may call nobody cannot be asked to call.
    #[error("`guard.calls_max` is {calls_max}, fewer than the {needed} calls that `summary` asks for")]
    Fuel {
        /// What is allowed.
        calls_max: u32,
        /// What one compaction can need.
        needed: u32,
    },
    /// A lead with its ends the wrong way round.
    #[error("`speculate.lead_min` is above `speculate.lead_max`")]
    Lead,
}

impl TryFrom<Settings> for Policy {
    type Error = PolicyError;
    fn try_from(settings: Settings) -> Result<Self, PolicyError> {
        check_strategy(&settings.strategy)?;
        check_keep(&settings)?;
        check_summary(&settings)?;
        if settings.speculate.lead_min > settings.speculate.lead_max {
            return Err(PolicyError::Lead);
        }
        Ok(Self { settings })
    }
}

fn check_strategy(chain: &[Strategy]) -> Result<(), PolicyError> {
    if chain.is_empty() {
        return Err(PolicyError::NoStrategy);
    }
    let twice = chain.iter().enumerate().find(|(at, strategy)| chain[..*at].contains(strategy));
    twice.map_or(Ok(()), |(_, strategy)| Err(PolicyError::Twice(*strategy)))
}

fn check_keep(settings: &Settings) -> Result<(), PolicyError> {
    if settings.keep.matching.iter().any(String::is_empty) {
        return Err(PolicyError::MatchesAll);
    }
    match settings.keep.newest {
        Newest::Percent(percent) if !(5..=90).contains(&percent) => Err(PolicyError::TailPercent(percent)),
        Newest::Percent(_) if settings.trigger.target.is_none() => Err(PolicyError::NoTarget),
        Newest::Percent(_)
        | Newest::Messages(_)
        | Newest::TokensAtLeast(_)
        | Newest::TokensReached(_)
        | Newest::TokensAtMost(_)
        | Newest::Turns(_)
        | Newest::Nothing => Ok(()),
    }
}

fn check_summary(settings: &Settings) -> Result<(), PolicyError> {
    let SummaryRule { chunks, retries, .. } = settings.summary;
    if chunks == 0 {
        return Err(PolicyError::NoChunks);
    }
    let (calls_max, needed) = (settings.guard.calls_max, chunks.saturating_add(retries));
    if calls_max < needed { Err(PolicyError::Fuel { calls_max, needed }) } else { Ok(()) }
}

impl Policy {
    /// The settings it was made from.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }
}

#[cfg(test)]
mod tests {
    use super::{Policy, Settings};

    #[test]
    fn the_default_settings_make_the_default_policy() {
        assert_eq!(Policy::try_from(Settings::default()), Ok(Policy::default()));
    }
}
