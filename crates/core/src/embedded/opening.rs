//! What a file says it is for: the first sentence of its opening comment, or the title of a document with the first
//! sentence under it. Found in the results of calls that read the file from its beginning.

use super::code::is_prose;
use super::select::strip_line_number;
use super::written::comments;
use crate::facts::sentences;
use crate::pattern::compile;
use regex::Regex;
use std::sync::LazyLock;

/// So many lines may stand before it: a shebang, a licence, imports.
const LINES_MAX: usize = 40;
/// So much of a text is looked at.
const BYTES_MAX: usize = 4 << 10;
/// A longer sentence is no label.
const OPENING_BYTES_MAX: usize = 200;

/// Comments that say nothing of what stands below them.
static LEGAL: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r"(?i)copyright|licen[cs]e|spdx|all rights reserved|generated (?:by|from|code)|do not edit|eslint|prettier|@ts-|type: ignore|noqa|#!",
    )
});

/// What a file says it is for, where `shown` shows it from its first line.
pub(crate) fn opening_of(shown: &str) -> Option<Box<str>> {
    let shown = &shown[..shown.floor_char_boundary(BYTES_MAX)];
    let lines: Vec<&str> = numbered_from_first(shown)?;
    let said = titled(&lines).or_else(|| commented(&lines))?;
    (said.len() <= OPENING_BYTES_MAX).then(|| said.into())
}

/// The lines without the numbers that reading tools put before them; none where those begin further down.
fn numbered_from_first(shown: &str) -> Option<Vec<&str>> {
    let first = shown.lines().map(str::trim).find(|line| !line.is_empty())?;
    let rest = strip_line_number(first);
    let number = first[..first.len() - rest.len()].trim_end_matches(|c: char| !c.is_ascii_digit());
    let is_further_down = number.parse().is_ok_and(|number: u64| number > 1);
    (!is_further_down).then(|| shown.lines().take(LINES_MAX).map(strip_line_number).collect())
}

/// A document's title, with what it says first.
fn titled(lines: &[&str]) -> Option<String> {
    let mut lines = lines.iter().skip_while(|line| line.is_empty());
    let title = lines.next()?.strip_prefix("# ")?.trim();
    let first = lines.find(|line| is_prose(line) && !line.starts_with(['#', '-', '|', '>', '<', '[', '!']));
    Some(match first.and_then(|line| sentences(line).next()) {
        Some(first) => format!("{title}: {first}"),
        None => title.to_owned(),
    })
}

fn commented(lines: &[&str]) -> Option<String> {
    let said =
        comments(&lines.join("\n")).into_iter().find(|said| is_prose(said) && !LEGAL.is_match(said))?;
    sentences(&said).next().filter(|first| is_prose(first)).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::opening_of;

    #[test]
    fn a_file_is_told_by_its_opening_comment_or_title() {
        for (shown, said) in [
            (
                "     1→/**\n     2→ * Share Service - API integration for sharing between users\n     3→ *\n     4→ * Wraps the client. */",
                Some("Share Service - API integration for sharing between users"),
            ),
            (
                "// Copyright 2024 The Authors. All rights reserved.\n\npackage a\n\n// Counts every line of the log. Slowly.\nfunc a() {}",
                Some("Counts every line of the log."),
            ),
            (
                "# Retention\n\nWhat survives a compaction of a session. More.",
                Some("Retention: What survives a compaction of a session."),
            ),
            ("   120→// Counts every line of the log.", None),
            ("{\"a\": 1}", None),
        ] {
            assert_eq!(opening_of(shown).as_deref(), said, "{shown}");
        }
    }
}
