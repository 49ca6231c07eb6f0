//! The many spellings of a model's name, brought to one.
//!
//! `openrouter/anthropic/claude-opus-4.5:free`, `us.anthropic.claude-opus-4-5-20251101-v1:0` and
//! `claude-opus-4-5[1m]` are one model, and `ft:gpt-4o:mine` counts as `gpt-4o` does. A row matches
//! the name itself or a start of it that ends at a dash; dates and versions behind it thus fall away. A pattern of one word
//! would be found in many a foreign name, so it is looked for behind names of services alone.

/// Words that say whose service a model is at, and nothing of the model.
const SERVICES: [&str; 18] = [
    "us",
    "eu",
    "apac",
    "jp",
    "au",
    "global",
    "anthropic",
    "openai",
    "openrouter",
    "google",
    "vertex",
    "bedrock",
    "azure",
    "databricks",
    "meta",
    "mistral",
    "deepseek",
    "groq",
];

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

    /// How much of this name the longest matching pattern covers, or the alias that is all of it. Words before the
    /// model's own name (`us-anthropic-`, `openrouter-`) may be left out.
    pub(super) fn match_length(&self, patterns: &[String], aliases: &[String]) -> Option<usize> {
        let spelled = |name: &String| dashed(&name.to_ascii_lowercase());
        let alias =
            aliases.iter().map(spelled).find(|alias| *alias == self.spelling).map(|alias| alias.len());
        patterns.iter().filter_map(|pattern| self.match_one(&spelled(pattern))).chain(alias).max()
    }

    fn match_one(&self, pattern: &str) -> Option<usize> {
        let is_word = !pattern.contains('-');
        let starts = std::iter::once(0).chain(self.spelling.match_indices('-').map(|(at, _)| at + 1));
        let mut starts = starts.filter(|start| !is_word || is_service(&self.spelling[..*start]));
        starts.any(|start| is_start(pattern, &self.spelling[start..])).then_some(pattern.len())
    }
}

/// Whether all the words before a model's name say whose service it is at.
fn is_service(words: &str) -> bool {
    words.split('-').filter(|word| !word.is_empty()).all(|word| SERVICES.contains(&word))
}

/// Whether a pattern is a name, or its start up to a dash.
fn is_start(pattern: &str, name: &str) -> bool {
    name.strip_prefix(pattern).is_some_and(|after| after.is_empty() || after.starts_with('-'))
}

/// Versions are written with dots, dashes or underscores.
fn dashed(name: &str) -> String {
    name.replace(['.', '_', ' '], "-")
}
