//! The person's own words in what they sent: paragraphs and list items, each one statement even where it is
//! wrapped over lines. What is pasted (documents, quotations, code, logs, tables, reviews) is left aside.
//!
//! Pasting is told by form: by headings, tables and fences, and in long messages by who speaks.

use super::rule::list_item;
use super::spoken::spoken_pieces;
use crate::pattern::compile;
use regex::Regex;
use std::ops::RangeInclusive;
use std::sync::LazyLock;

/// One thing the person wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Statement<'t> {
    /// Word for word, line breaks inside included; a list item without its bullet.
    pub text: &'t str,
    /// Whether it is an item of a list, or a paragraph.
    pub is_item: bool,
    /// The number the item has in its list.
    pub number: Option<u32>,
}

/// Messages up to this length are typed; in longer ones each paragraph has to show whose it is.
const TYPED_CHARS_MAX: usize = 1500;
/// A line of such a width was wrapped, not ended, where no sentence ends on it: terminals and editors wrap so.
const WRAPPED_WIDTH: RangeInclusive<usize> = 50..=130;
/// What follows a pasted document is a request where it is short.
const REQUEST_CHARS_MAX: usize = 240;

/// What a line is by its form.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LineKind {
    Blank,
    Prose,
    Item,
    Heading,
    /// A quotation, a table, code or a log.
    Foreign,
}

/// A line with its kind.
#[derive(Clone, Copy)]
struct Line<'t> {
    text: &'t str,
    kind: LineKind,
}

static LOG: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r"^\s*(?:\[?\d{4}-\d\d-\d\d|\[?\d\d?:\d\d:\d\d|at \S+ ?\(|at https?://|File \x22|Traceback|\$ \S|❯|⏺|⎿|●|│|├|└|╭|╰|@@ |diff --git|[+-]{3} [ab]/|[A-Za-z.]*(?:Error|Exception): |(?i:error|warning|info|debug)\b[\[:]|\S+\.\w{1,5}:\d+)",
    )
});

static CODE: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r"(?:[{};]\s*$|^\s*(?:import|from|export|const|let|var|def|class|func|fn|pub|return|if \(|for \(|#include|//|/\*|\*/|<\w+[^>]*>|</\w+>)\s?.*[(){};=<>]|^\s*[\x22'\w.-]+\s*[:=]\s*[\x22'\[{\d]|^\s*[)\]}]+[,;]?\s*$)",
    )
});

/// Somebody who speaks for themselves, or to somebody.
static SPEAKER: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r"(?i)\b(?:i|i['’](?:m|d|ll|ve)|we|let['’]?s|my|please|you|ich|wir|bitte|je|nous|yo|quiero|por favor|я|мы|пожалуйста)\b|我|你|请|私|ください|して(?:ほしい|欲しい)|내가|우리|해줘|주세요",
    )
});

/// How the findings of a review are headed.
static FINDING: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r"(?ix)^\s*(?:[-*\d.)\]]+\s*)?
        (?: \[(?:critical|high|medium|low|major|minor|nit|p\d)\] | p[0-3]\b | severity\b | nit: | finding\b | verdict\b
          | suggestion\b | recommendation\b | (?:critical|potential|security|performance)\s*(?:bug|issue|risk)?: | critical\ bug
          | consider\ (?:whether|adding|using|simplifying|moving|removing|replacing|renaming|extracting|handling)\b
          | in\ `?\S+\.\w{1,5}`?,?\ (?:around|near)\ lines?\ \d )
        | \(lines?\ \d+ | \(\S+\.\w{1,5}:\d+\)",
    )
});

/// The statements in what a person said, in order.
pub(crate) fn statements(said: &str) -> Vec<Statement<'_>> {
    let mut all = Vec::new();
    for piece in spoken_pieces(said) {
        let lines = kinds(piece);
        let own = own_lines(&lines, piece);
        join(piece, &own, &mut all);
    }
    all
}

fn kinds(text: &str) -> Vec<Line<'_>> {
    let mut is_fenced = false;
    let kind = |line: &str| {
        let trimmed = line.trim_start();
        if trimmed.starts_with("```") || trimmed.starts_with("~~~") {
            is_fenced = !is_fenced;
            return LineKind::Foreign;
        }
        if is_fenced {
            return LineKind::Foreign;
        }
        kind_of(line, trimmed)
    };
    let mut kind = kind;
    text.lines().map(|text| Line { text, kind: kind(text) }).collect()
}

fn kind_of(line: &str, trimmed: &str) -> LineKind {
    let hashes = trimmed.bytes().take_while(|&b| b == b'#').count();
    let is_heading = (1..=6).contains(&hashes) && trimmed[hashes..].starts_with(' ');
    let is_table = trimmed.starts_with('|') && trimmed[1..].contains('|');
    if trimmed.is_empty() {
        LineKind::Blank
    } else if is_heading {
        LineKind::Heading
    } else if trimmed.starts_with('>') || is_table || trimmed.bytes().all(|b| b"-=_* ".contains(&b)) {
        LineKind::Foreign
    } else if list_item(line).is_some() {
        LineKind::Item
    } else if LOG.is_match(line) || CODE.is_match(line) {
        LineKind::Foreign
    } else {
        LineKind::Prose
    }
}

/// Which lines are the person's own; the others come back as blank ones.
fn own_lines<'t>(lines: &[Line<'t>], piece: &str) -> Vec<Line<'t>> {
    let is_long = piece.chars().count() > TYPED_CHARS_MAX;
    if is_document(lines, is_long) {
        return around_document(lines);
    }
    let is_finding = |line: &Line<'_>| FINDING.is_match(line.text);
    let has_findings = lines.iter().any(is_finding);
    let mut own: Vec<Line<'t>> = lines.to_vec();
    for paragraph in own.split_mut(|line| line.kind == LineKind::Blank) {
        let is_spoken = paragraph.iter().any(|line| SPEAKER.is_match(line.text));
        if paragraph.iter().any(is_finding) || ((is_long || has_findings) && !is_spoken) {
            paragraph.iter_mut().for_each(|line| line.kind = LineKind::Foreign);
        }
    }
    own
}

/// Whether the lines are a text that was written elsewhere: it has chapters, or is long and mostly lists and code.
fn is_document(lines: &[Line<'_>], is_long: bool) -> bool {
    let count = |kind| lines.iter().filter(|line| line.kind == kind).count();
    let (headings, items, foreign) =
        (count(LineKind::Heading), count(LineKind::Item), count(LineKind::Foreign));
    headings >= 2
        || (is_long && (headings > 0 || (items + foreign) * 2 > items + foreign + count(LineKind::Prose)))
}

/// The lines around a pasted document: what introduces it, and what is asked at its end.
fn around_document<'t>(lines: &[Line<'t>]) -> Vec<Line<'t>> {
    let is_text = |line: &Line<'_>| line.kind == LineKind::Prose;
    let is_blank = |line: &Line<'_>| line.kind == LineKind::Blank;
    let first = lines.iter().position(|line| !is_text(line) && !is_blank(line)).unwrap_or(lines.len());
    let filled = lines.len() - lines.iter().rev().take_while(|line| is_blank(line)).count();
    let last = filled - lines[..filled].iter().rev().take_while(|line| is_text(line)).count();
    let is_apart = last > first && is_blank(&lines[last - 1]);
    let chars: usize = lines[last..filled].iter().map(|line| line.text.chars().count()).sum();
    // A chapter's only paragraph is the document's, not the person's.
    let above = lines[..last].iter().rev().find(|line| !is_blank(line));
    let is_chapter = above.is_some_and(|line| line.kind == LineKind::Heading);
    let mut own = lines[..first].to_vec();
    if is_apart && !is_chapter && chars <= REQUEST_CHARS_MAX {
        own.extend(&lines[last - 1..filled]);
    }
    own
}

/// Makes statements of lines: wrapped ones belong together.
fn join<'t>(piece: &'t str, lines: &[Line<'t>], all: &mut Vec<Statement<'t>>) {
    let mut open: Option<Line<'t>> = None;
    for line in lines {
        match line.kind {
            LineKind::Blank | LineKind::Foreign | LineKind::Heading => close(&mut open, all),
            LineKind::Item => {
                close(&mut open, all);
                open = Some(*line);
            }
            LineKind::Prose => match &mut open {
                Some(before) if is_wrapped(before.text) => before.text = span(piece, before.text, line.text),
                Some(_) | None => {
                    close(&mut open, all);
                    open = Some(*line);
                }
            },
        }
    }
    close(&mut open, all);
}

fn close<'t>(open: &mut Option<Line<'t>>, all: &mut Vec<Statement<'t>>) {
    let Some(line) = open.take() else { return };
    let (text, is_item) = match list_item(line.text) {
        Some(item) if line.kind == LineKind::Item => (item, true),
        Some(_) | None => (line.text.trim(), false),
    };
    let digits = line.text.trim_start();
    let digits = &digits[..digits.bytes().take_while(u8::is_ascii_digit).count()];
    all.push(Statement { text, is_item, number: digits.parse().ok().filter(|_| is_item) });
}

/// Whether the last line of a text goes on in the next.
fn is_wrapped(text: &str) -> bool {
    let last = text.lines().next_back().unwrap_or(text).trim_end();
    let width: usize = last.chars().map(|c| if c.len_utf8() > 2 { 2 } else { 1 }).sum();
    WRAPPED_WIDTH.contains(&width) && !last.ends_with(['.', '!', '?', ':', ';', '。', '！', '？', '：'])
}

/// The slice of `piece` from the start of `from` to the end of `to`, both slices of it.
fn span<'t>(piece: &'t str, from: &'t str, to: &'t str) -> &'t str {
    let offset = |part: &str| part.as_ptr() as usize - piece.as_ptr() as usize;
    &piece[offset(from)..offset(to) + to.len()]
}

#[cfg(test)]
mod tests {
    use super::statements;

    fn texts(said: &str) -> Vec<&str> {
        statements(said).into_iter().map(|statement| statement.text).collect()
    }

    #[test]
    fn wrapped_lines_are_one_statement() {
        let said = "we only ever want to run the explain command on commits\nthat are unique.\nuse bun";
        assert_eq!(
            texts(said),
            ["we only ever want to run the explain command on commits\nthat are unique.", "use bun"]
        );
    }

    #[test]
    fn of_a_pasted_document_the_words_around_it_are_the_persons() {
        let said = "Please work on this.\n\n# Guide\n\nNever use tabs.\n\n## Rules\n\n- Always test.\n\n```\nx\n```\n\nMake it so, in Go.";
        assert_eq!(texts(said), ["Please work on this.", "Make it so, in Go."]);
    }

    #[test]
    fn quotations_code_and_logs_are_nobodys_statement() {
        let said = "see:\n> never do it\n| a | b |\nTypeError: x must not be null\n    at f (http://a/b.js:1:2)\nconst a = must();\nok then";
        assert_eq!(texts(said), ["see:", "ok then"]);
    }

    #[test]
    fn of_a_pasted_review_the_answer_is_the_persons() {
        let said = "When merging (line 343-364), the second overwrites the first.\n\nConsider whether it should be kept.\n\n-> I think it should be kept.";
        assert_eq!(texts(said), ["-> I think it should be kept."]);
        assert_eq!(texts("In app/a.ts around lines 76 to 82, do not await the call."), [""; 0]);
    }

    #[test]
    fn in_a_long_message_a_paragraph_shows_whose_it_is() {
        let review = "The parser must never recurse, and the printer should only ever print. ".repeat(30);
        let said = format!("{review}\n\nI want the first one fixed.");
        assert_eq!(texts(&said), ["I want the first one fixed."]);
    }
}
