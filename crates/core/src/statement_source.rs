//! Which lines of a summary were made from which entries: told by whoever wrote them, and found again in the text as it is
//! shown, since a frame, a model's prose and repairs stand around them.

use crate::EntryId;
use serde::{Deserialize, Serialize};

/// A line or more of a summary under construction, and the entries they were made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourcedText {
    /// As it is written.
    pub text: String,
    /// What it was made from.
    pub sources: Vec<EntryId>,
}

/// A statement of a summary, by the lines it stands in, and the entries it was made from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatementSource {
    /// The line of the summary it begins with; the first is 1.
    pub line: usize,
    /// How many lines it takes.
    pub lines: usize,
    /// What it was made from.
    pub sources: Vec<EntryId>,
}

/// Finds the statements in a summary, in which they stand in this order. One that was cut out for want of room is in none.
pub(crate) fn locate<'s>(
    summary: &str,
    statements: impl IntoIterator<Item = &'s SourcedText>,
) -> Vec<StatementSource> {
    let shown: Vec<&str> = summary.lines().map(str::trim_end).collect();
    let (mut from, mut found) = (0, Vec::new());
    for SourcedText { text, sources } in statements {
        let wanted: Vec<&str> = text.lines().map(str::trim_end).collect();
        let lines = wanted.len();
        let place = shown[from..].windows(lines.max(1)).position(|window| window == wanted);
        if let Some(at) = place {
            found.push(StatementSource { line: from + at + 1, lines, sources: sources.clone() });
            from += at + lines;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{SourcedText, StatementSource, locate};
    use crate::EntryId;

    fn said(text: &str, entry: u32) -> SourcedText {
        SourcedText { text: text.into(), sources: vec![EntryId(entry)] }
    }

    #[test]
    fn statements_are_found_by_their_lines_and_what_was_cut_is_not() {
        let summary = "<frame>\n## Goal\nsame\nAsked: fix it \n## Dialogue\nsame\nand more\n</frame>";
        let statements =
            [said("Asked: fix it", 3), said("cut for want of room", 4), said("same\nand more", 9)];
        let at = |line, lines, entry| StatementSource { line, lines, sources: vec![EntryId(entry)] };
        assert_eq!(locate(summary, &statements), [at(4, 1, 3), at(6, 2, 9)]);
    }
}
