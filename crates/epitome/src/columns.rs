//! Text in the width there is: how wide the terminal is, and lines broken between words to fit it.

use console::Term;

/// Narrower than this, columns of figures cannot stand side by side; wider, lines are hard to follow with the eye.
const COLUMNS: std::ops::RangeInclusive<usize> = 60..=200;
/// Where nobody says how wide it is: a pipe, a file.
const COLUMNS_UNKNOWN: usize = 100;

/// How wide a line may be on standard output.
pub fn of_stdout() -> usize {
    of_list().unwrap_or(COLUMNS_UNKNOWN)
}

/// How wide a row of a list may be on standard output; none where a program may be reading it, row by row.
pub fn of_list() -> Option<usize> {
    columns(width_of(&Term::stdout()))
}

/// How wide a line may be on standard error.
pub fn of_stderr() -> usize {
    columns(width_of(&Term::stderr())).unwrap_or(COLUMNS_UNKNOWN)
}

fn width_of(terminal: &Term) -> Option<usize> {
    Some(terminal.size_checked()?.1.into())
}

/// What the terminal says, or `COLUMNS` of the environment.
fn columns(terminal: Option<usize>) -> Option<usize> {
    let stated = || std::env::var("COLUMNS").ok()?.parse().ok();
    terminal.or_else(stated).map(|columns: usize| columns.clamp(*COLUMNS.start(), *COLUMNS.end()))
}

/// A text in lines of at most `width` characters, those after the first indented by `indent` spaces. A word longer
/// than a line stays whole: paths and commands are to be copied.
pub fn wrap(text: &str, width: usize, indent: usize) -> String {
    let rest = text.trim_start_matches(' ');
    let front = text.len() - rest.len();
    let (mut lines, mut line, mut used) = (String::new(), " ".repeat(front), front);
    let mut is_begun = false;
    for word in rest.split(' ') {
        let length = word.chars().count();
        if is_begun && used + 1 + length > width {
            lines.push_str(&line);
            lines.push('\n');
            (line, used) = (" ".repeat(indent), indent);
        } else if is_begun {
            line.push(' ');
            used += 1;
        }
        line.push_str(word);
        (used, is_begun) = (used + length, true);
    }
    lines + &line
}

/// A text from a transcript, with nothing in it that a terminal would obey.
pub fn plain(text: &str) -> String {
    let shown = |c: char| match c {
        c if !c.is_control() => c,
        c if c.is_whitespace() => ' ',
        _ => '\u{fffd}',
    };
    text.chars().map(shown).collect()
}

/// A text in one line of at most `width` characters, with a sign where it was cut.
pub fn cut(text: &str, width: usize) -> String {
    let line = plain(&text.split_whitespace().collect::<Vec<_>>().join(" "));
    if line.chars().count() <= width {
        return line;
    }
    let head: String = line.chars().take(width.saturating_sub(1)).collect();
    format!("{}…", head.trim_end())
}

#[cfg(test)]
mod tests {
    use super::{columns, cut, plain, wrap};

    #[test]
    fn a_text_is_broken_between_words_and_a_long_word_stays_whole() {
        assert_eq!(wrap("one two three", 8, 2), "one two\n  three");
        assert_eq!(wrap("  one two", 7, 4), "  one\n    two");
        assert_eq!(wrap("a /very/long/path b", 8, 0), "a\n/very/long/path\nb");
        assert_eq!([cut("one  two", 20), cut("one two", 5)], ["one two", "one…"]);
        assert_eq!(cut("a\u{1b}[2J\nb", 20), "a\u{fffd}[2J b");
    }

    #[test]
    fn nothing_of_a_transcript_reaches_the_terminal_as_a_command() {
        assert_eq!(plain("a\u{1b}[2Jb\r\n"), "a\u{fffd}[2Jb  ");
    }

    #[test]
    fn a_width_nobody_can_read_is_not_used() {
        assert_eq!([20, 80, 900].map(|columns_of| columns(Some(columns_of))), [60, 80, 200].map(Some));
    }
}
