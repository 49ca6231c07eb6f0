//! How a model's tokens are counted, and how a count says so.

use crate::{Encoding, Family};
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// What stands in for a model's tokenizer: the real one, or an estimate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Tokenizer {
    /// The published vocabulary: counts are exact.
    Exact(Encoding),
    /// Weights fitted to the family: counts are close.
    Estimate(Family),
}

/// A tokenizer name that is neither an encoding nor a family.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown tokenizer `{0}`; name an encoding such as `o200k_base` or a family such as `claude`")]
pub struct UnknownTokenizer(String);

impl Tokenizer {
    /// The name in catalogs and settings.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exact(encoding) => encoding.name(),
            Self::Estimate(family) => family.name(),
        }
    }

    /// The family that estimates what this tokenizer counts.
    #[must_use]
    pub const fn family(self) -> Family {
        match self {
            Self::Exact(encoding) => encoding.family(),
            Self::Estimate(family) => family,
        }
    }
}

impl FromStr for Tokenizer {
    type Err = UnknownTokenizer;

    fn from_str(name: &str) -> Result<Self, UnknownTokenizer> {
        let encodings = Encoding::ALL.into_iter().map(Self::Exact);
        let families = Family::ALL.into_iter().map(Self::Estimate);
        let mut known = encodings.chain(families);
        known.find(|tokenizer| tokenizer.name() == name).ok_or_else(|| UnknownTokenizer(name.to_owned()))
    }
}

impl TryFrom<String> for Tokenizer {
    type Error = UnknownTokenizer;

    fn try_from(name: String) -> Result<Self, UnknownTokenizer> {
        name.parse()
    }
}

impl From<Tokenizer> for String {
    fn from(tokenizer: Tokenizer) -> Self {
        tokenizer.name().to_owned()
    }
}

/// How a count came about. Written `o200k_base`, or `estimate(claude,±20%)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Method(pub Tokenizer);

impl Method {
    /// How far off the count may be, in percent either way; zero where it is exact.
    #[must_use]
    pub const fn error_percent(self) -> u8 {
        match self.0 {
            Tokenizer::Exact(_) => 0,
            Tokenizer::Estimate(family) => family.error_percent(),
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Tokenizer::Exact(encoding) => out.write_str(encoding.name()),
            Tokenizer::Estimate(family) => {
                write!(out, "estimate({},±{}%)", family.name(), family.error_percent())
            }
        }
    }
}

impl FromStr for Method {
    type Err = UnknownTokenizer;

    fn from_str(text: &str) -> Result<Self, UnknownTokenizer> {
        let inside = text.strip_prefix("estimate(").and_then(|rest| rest.split_once(','));
        inside.map_or(text, |(family, _)| family).parse().map(Self)
    }
}

impl TryFrom<String> for Method {
    type Error = UnknownTokenizer;

    fn try_from(text: String) -> Result<Self, UnknownTokenizer> {
        text.parse()
    }
}

impl From<Method> for String {
    fn from(method: Method) -> Self {
        method.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_is_a_short_string_and_back() {
        let claude = Method(Tokenizer::Estimate(Family::Claude));
        assert_eq!(claude.to_string(), "estimate(claude,±20%)");
        assert_eq!("estimate(claude,±20%)".parse(), Ok(claude));
        let exact = Method(Tokenizer::Exact(Encoding::O200kBase));
        assert_eq!(serde_json::to_string(&exact).expect("a string"), r#""o200k_base""#);
        assert_eq!("o200k_base".parse(), Ok(exact));
    }

    #[test]
    fn an_unknown_name_says_what_to_write() {
        let error = "abacus".parse::<Tokenizer>().expect_err("no such tokenizer");
        assert_eq!(
            error.to_string(),
            "unknown tokenizer `abacus`; name an encoding such as `o200k_base` or a family such as `claude`"
        );
    }
}
