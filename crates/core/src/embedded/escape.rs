//! Escaping of what a summary quotes: it is data, and nothing in it may pass for our fence, our
//! pointers or a call.

use crate::facts::Secrets;
use crate::pattern::compile;
use regex::{Captures, Regex};
use std::collections::HashSet;
use std::sync::LazyLock;

use crate::EntryId;

/// Markup that would open or close something for its reader.
static MARKUP: LazyLock<Regex> = LazyLock::new(|| {
    let pattern =
        r"(?i)<(/?(?:epitome|antml:|function_|invoke|tool_|parameter\b|thinking\b|system-reminder)|\||｜)";
    compile(pattern)
});

/// How some models open their calls without angle brackets.
const BRACKETED: (&str, &str) = ("[TOOL_CALLS]", "[tool calls]");

/// What looks like one of our pointers.
static POINTER: LazyLock<Regex> = LazyLock::new(|| compile(r"\bm(\d{4,})\b"));

/// Makes quoted text harmless.
pub(super) struct Escape<'m> {
    /// Entries a pointer may name.
    pub pointers: &'m HashSet<EntryId>,
    /// What must not be written out.
    pub secrets: &'m Secrets,
}

impl Escape<'_> {
    /// The text with look-alike fences opened up, pointers to nowhere broken, secrets screened out.
    pub(super) fn apply(&self, text: &str) -> String {
        let text = self.secrets.screen(text);
        let text = MARKUP.replace_all(&text, "‹$1").replace(BRACKETED.0, BRACKETED.1);
        let text = POINTER.replace_all(&text, |found: &Captures<'_>| match self.resolves(&found[0]) {
            true => found[0].to_owned(),
            false => format!("m-{}", &found[1]),
        });
        text.into_owned()
    }

    fn resolves(&self, pointer: &str) -> bool {
        pointer.parse().is_ok_and(|id| self.pointers.contains(&id))
    }
}
