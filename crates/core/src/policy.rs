//! How to compact, as data: a checked [`Policy`], made from [`Settings`] at the door.

use crate::Tokens;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A point in a window: `80%`, `160000`, or `-20000` (that much before the end).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Threshold {
    /// A share of the window, in hundredths of a percent.
    Share(u32),
    /// So many tokens.
    Absolute(Tokens),
    /// So many tokens before the window's end.
    Remaining(Tokens),
}

impl Threshold {
    /// The tokens it stands for in `window`.
    pub fn of(self, window: Tokens) -> Tokens {
        match self {
            Self::Share(hundredths) => window.share(hundredths.into(), 10_000),
            Self::Absolute(tokens) => tokens,
            Self::Remaining(tokens) => window.less(tokens),
        }
    }
}

impl FromStr for Threshold {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let refused = || format!("`{text}` is no threshold; write 80%, 160000 or -20000");
        if let Some(percent) = text.strip_suffix('%') {
            let percent: f64 = percent.trim().parse().map_err(|_| refused())?;
            return if percent > 0.0 && percent <= 100.0 {
                Ok(Self::Share((percent * 100.0).round() as u32))
            } else {
                Err(format!("`{text}` must lie above 0% and at or below 100%"))
            };
        }
        let digits = |text: &str| text.replace('_', "").parse::<u64>().map_err(|_| refused());
        match text.strip_prefix('-') {
            Some(remaining) => digits(remaining).map(|n| Self::Remaining(Tokens(n))),
            None if digits(text)? == 0 => Err(format!("`{text}` would leave nothing")),
            None => digits(text).map(|n| Self::Absolute(Tokens(n))),
        }
    }
}

impl TryFrom<String> for Threshold {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Threshold> for String {
    fn from(threshold: Threshold) -> Self {
        threshold.to_string()
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Share(hundredths) => write!(f, "{}%", f64::from(*hundredths) / 100.0),
            Self::Absolute(tokens) => write!(f, "{}", tokens.0),
            Self::Remaining(tokens) => write!(f, "-{}", tokens.0),
        }
    }
}

/// One way to make room. A policy names several; each is tried when the one before it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// Repeated harness messages: only the newest stays.
    Trim,
    /// The bulk of old messages gives way to pointers; nothing leaves the context whole.
    Prune,
    /// The oldest part gives way to a summary.
    Summarize,
    /// The oldest part leaves without a summary. Needs nothing, and always reaches the target.
    Drop,
}

impl Strategy {
    /// Every strategy, in the order they are listed to people.
    pub const ALL: [Self; 4] = [Self::Trim, Self::Prune, Self::Summarize, Self::Drop];

    /// The name people and scripts use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Trim => "trim",
            Self::Prune => "prune",
            Self::Summarize => "summarize",
            Self::Drop => "drop",
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Strategy {
    type Err = String;
    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|strategy| strategy.name() == name);
        found.ok_or_else(|| {
            format!("`{name}` is no strategy; there are {}", Self::ALL.map(Self::name).join(", "))
        })
    }
}

/// What pruning touches. Each kind leaves the newest `protect` of the context alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prune {
    /// Tool results.
    pub results: bool,
    /// Long values in tool-call arguments.
    pub arguments: bool,
    /// Results of reading a file that was read again, or written, later. Protection does not apply.
    pub superseded_reads: bool,
    /// Thinking.
    pub thinking: bool,
    /// Pictures.
    pub images: bool,
    /// The newest part of the context that pruning leaves alone.
    pub protect: Threshold,
    /// A message smaller than this is not worth a pointer.
    pub size_min: Tokens,
}

/// Settings of a policy as people write them. An unknown key is an error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// One sentence for the list of presets.
    pub about: String,
    /// Compact when the context reaches this.
    pub trigger: Threshold,
    /// Compact down to this.
    pub target: Threshold,
    /// What to try, in order.
    pub strategy: Vec<Strategy>,
    /// The part of the target, in percent, that the newest messages keep verbatim; the rest is the summary's.
    pub tail_percent: u32,
    /// What pruning touches.
    pub prune: Prune,
}

/// A policy, checked: past this point its values are right by their type.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// Compact when the context reaches this.
    pub trigger: Threshold,
    /// Compact down to this.
    pub target: Threshold,
    /// What to try, in order. Never empty; `Drop` stands behind the last in any case.
    pub strategy: Vec<Strategy>,
    /// The part of the target, in percent, that the newest messages keep verbatim.
    pub tail_percent: u32,
    /// What pruning touches.
    pub prune: Prune,
}

/// Settings that make no policy.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// No way to make room is named.
    #[error("`strategy` is empty; name at least one of trim, prune, summarize, drop")]
    NoStrategy,
    /// The tail takes all or nothing of the target.
    #[error("`tail_percent` is {0}; it must lie between 5 and 90 so that tail and summary both have room")]
    TailPercent(u32),
}

impl TryFrom<Settings> for Policy {
    type Error = PolicyError;
    fn try_from(settings: Settings) -> Result<Self, PolicyError> {
        let Settings { about: _, trigger, target, strategy, tail_percent, prune } = settings;
        if strategy.is_empty() {
            return Err(PolicyError::NoStrategy);
        }
        if !(5..=90).contains(&tail_percent) {
            return Err(PolicyError::TailPercent(tail_percent));
        }
        Ok(Self { trigger, target, strategy, tail_percent, prune })
    }
}

#[cfg(test)]
mod tests {
    use super::Threshold;
    use crate::Tokens;

    #[test]
    fn a_threshold_is_written_three_ways() {
        let of = |text: &str| text.parse::<Threshold>().map(|threshold| threshold.of(Tokens(200_000)).0);
        assert_eq!([of("80%"), of("160000"), of("-20000")], [Ok(160_000), Ok(160_000), Ok(180_000)]);
    }

    #[test]
    fn a_threshold_that_means_nothing_is_refused() {
        for text in ["", "0", "0%", "101%", "500k", "eighty", "--5"] {
            assert!(text.parse::<Threshold>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_threshold_reads_back_as_written() {
        for text in ["80%", "62.5%", "160000", "-20000"] {
            assert_eq!(text.parse::<Threshold>().map(|threshold| threshold.to_string()), Ok(text.to_owned()));
        }
    }
}
