//! Errors: the first line of a text that reports one, and by what name to call it.

use super::{Class, Mention};
use crate::pattern::compile;
use regex::Regex;
use std::sync::LazyLock;

/// As much of an error's line as is kept.
pub const ERROR_CHARS_MAX: usize = 200;

static REPORT: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"(?x-u)
        \b(?:E\d{4}|TS\d{4,5})\b | \b[A-Z][A-Za-z]*(?:Error|Exception)\b
      | \b(?:error|Error|ERROR|exception|Exception|panicked|panic|failed|FAILED|Failed)\b
      | \b(?:4\d\d|5\d\d)\ (?:Bad|Unauthorized|Forbidden|Not|Conflict|Too|Internal|Service|Gateway)";
    compile(pattern)
});

/// The first line of `text` that reports an error, and the name in it.
pub fn first_error(text: &str) -> Option<Mention<'_>> {
    let found = REPORT.find(text)?;
    let start = text[..found.start()].rfind('\n').map_or(0, |at| at + 1);
    let end = text[found.end()..].find('\n').map_or(text.len(), |at| found.end() + at);
    let line = text[start..end].trim();
    let cut = line.char_indices().nth(ERROR_CHARS_MAX).map_or(line.len(), |(at, _)| at);
    Some(Mention { class: Class::Error, key: found.as_str(), value: line[..cut].trim_end() })
}

#[cfg(test)]
mod tests {
    use super::first_error;

    #[test]
    fn the_first_reporting_line_with_its_code() {
        let found = first_error("Compiling x\nerror[E0308]: mismatched types\n --> src/a.rs")
            .map(|m| (m.key, m.value));
        assert_eq!(found, Some(("error", "error[E0308]: mismatched types")));
        assert_eq!(first_error("all good"), None);
    }
}
