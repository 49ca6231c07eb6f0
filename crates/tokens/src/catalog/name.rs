//! The many spellings of a model's name, brought to one.
//!
//! `openrouter/anthropic/claude-opus-4.5:free`, `us.anthropic.claude-opus-4-5-20251101-v1:0` and
//! `claude-opus-4-5[1m]` are one model, and `ft:gpt-4o:mine` counts as `gpt-4o` does. A row matches
//! the name itself or a start of it that ends at a dash; dates and versions behind it thus fall away.

/// A name in one spelling: small letters and dashes, without the path before it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Name {
    spelling: String,
    /// Whether the name asks for the window of a million tokens.
    pub(super) is_one_million: bool,
}

impl Name {
    pub(super) fn of(id: &str) -> Self {
        let lower = id.to_ascii_lowercase();
        let is_one_million = lower.ends_with("[1m]");
        let plain = lower.trim_end_matches("[1m]").trim_start_matches("ft:");
        let last = plain.rsplit('/').next().unwrap_or(plain);
        let model = last.split([':', '@']).next().unwrap_or(last);
        Self { spelling: dashed(model), is_one_million }
    }

    /// How much of this name the longest matching pattern covers. Words before the model's own name
    /// (`us-anthropic-`, `openrouter-`) may be left out.
    pub(super) fn match_length(&self, patterns: &[String]) -> Option<usize> {
        patterns.iter().filter_map(|pattern| self.match_one(&dashed(&pattern.to_ascii_lowercase()))).max()
    }

    fn match_one(&self, pattern: &str) -> Option<usize> {
        let starts = std::iter::once(0).chain(self.spelling.match_indices('-').map(|(at, _)| at + 1));
        let mut rests = starts.map(|start| &self.spelling[start..]);
        rests.any(|rest| is_start(pattern, rest)).then_some(pattern.len())
    }
}

/// Whether a pattern is a name, or its start up to a dash.
fn is_start(pattern: &str, name: &str) -> bool {
    name.strip_prefix(pattern).is_some_and(|after| after.is_empty() || after.starts_with('-'))
}

/// Versions are written with dots, dashes or underscores.
fn dashed(name: &str) -> String {
    name.replace(['.', '_', ' '], "-")
}
