//! Rules of the person, as they stated them.

use super::dialogue::spoken;
use crate::EntryId;
use crate::facts::{RuleReach, rules};

/// A rule of a person's.
pub(super) struct RuleQuote {
    /// Word for word, secrets screened out.
    pub text: String,
    /// The entry it stands in, where that is known.
    pub source: Option<EntryId>,
    /// How far it reaches.
    pub reach: RuleReach,
}

/// A rule as it was stated, wherever it stands.
pub(crate) struct StatedRule {
    /// Word for word.
    pub text: Box<str>,
    /// How far it reaches.
    pub reach: RuleReach,
}

/// The rules in what a person sent.
pub(crate) fn rules_in(sent: &str) -> Vec<StatedRule> {
    let said = spoken(sent);
    rules(&said).into_iter().map(|rule| StatedRule { text: rule.text.into(), reach: rule.reach }).collect()
}
