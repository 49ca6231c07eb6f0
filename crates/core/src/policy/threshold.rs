//! A point in a window, written `80%`, `160000` or `-20000`.

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
        let tokens = |text: &str| text.parse::<Tokens>().map_err(|_| refused());
        match text.strip_prefix('-') {
            Some(remaining) => tokens(remaining).map(Self::Remaining),
            None if tokens(text)?.is_zero() => Err(format!("`{text}` would leave nothing")),
            None => tokens(text).map(Self::Absolute),
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

#[cfg(test)]
mod tests {
    use super::Threshold;
    use crate::Tokens;

    #[test]
    fn a_threshold_is_written_three_ways() {
        let of = |text: &str| text.parse::<Threshold>().map(|threshold| threshold.of(Tokens(200_000)).0);
        assert_eq!([of("80%"), of("160000"), of("-20000")], [Ok(160_000), Ok(160_000), Ok(180_000)]);
        assert_eq!([of("160k"), of("-20k")], [Ok(160_000), Ok(180_000)]);
    }

    #[test]
    fn a_threshold_that_means_nothing_is_refused() {
        for text in ["", "0", "0%", "101%", "500x", "eighty", "--5"] {
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
