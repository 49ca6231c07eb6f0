//! Escaping of what a summary quotes: it is data, and nothing in it may pass for our fence, our
//! pointers or a call.

use crate::facts::Secrets;
use crate::pattern::compile;
use regex::{Captures, Regex};
use std::borrow::Cow;
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
    /// Entries a pointer may name, oldest first.
    pub pointers: &'m [EntryId],
    /// What must not be written out.
    pub secrets: &'m Secrets,
}

impl Escape<'_> {
    /// The text with look-alike fences opened up, pointers to nowhere broken, secrets screened out.
    pub(super) fn apply(&self, text: &str) -> String {
        let mut text = self.secrets.screen(text);
        // Every line that a summary might hold comes by here, and hardly one of them holds any of these.
        if text.contains('<') {
            text = Cow::Owned(MARKUP.replace_all(&text, "‹$1").into_owned());
        }
        if text.contains('[') && text.contains(BRACKETED.0) {
            text = Cow::Owned(text.replace(BRACKETED.0, BRACKETED.1));
        }
        if !may_point(&text) {
            return text.into_owned();
        }
        let text = POINTER.replace_all(&text, |found: &Captures<'_>| match self.resolves(&found[0]) {
            true => found[0].to_owned(),
            false => format!("m-{}", &found[1]),
        });
        text.into_owned()
    }

    fn resolves(&self, pointer: &str) -> bool {
        EntryId::of_pointer(pointer).is_some_and(|id| self.pointers.binary_search(&id).is_ok())
    }
}

/// Whether a text may hold what looks like one of our pointers. Digits of other scripts count as digits there.
fn may_point(text: &str) -> bool {
    text.as_bytes()
        .windows(2)
        .any(|pair| pair[0] == b'm' && (pair[1].is_ascii_digit() || !pair[1].is_ascii()))
}
