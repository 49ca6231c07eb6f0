//! Text in so many columns, as a terminal counts them: cut, padded, wrapped. What a transcript says is made harmless.

pub use console::measure_text_width as width;

/// What stands where something is left out.
const LEFT_OUT: &str = "…";

/// A text from a transcript, with nothing in it that a terminal would obey.
pub fn plain(text: &str) -> String {
    let shown = |c: char| match c {
        c if !c.is_control() => c,
        c if c.is_whitespace() => ' ',
        _ => '\u{fffd}',
    };
    text.chars().map(shown).collect()
}

/// As much of a text's beginning as fits into one line, with a sign where it was cut.
pub fn cut(text: &str, columns: usize) -> String {
    let line = plain(&text.split_whitespace().collect::<Vec<_>>().join(" "));
    if width(&line) <= columns {
        return line;
    }
    format!("{}{LEFT_OUT}", head(&line, columns.saturating_sub(1)).trim_end())
}

/// As much of a text's end as fits: of a path, the end tells it from others.
pub fn cut_front(text: &str, columns: usize) -> String {
    let text = plain(text);
    if width(&text) <= columns {
        return text;
    }
    format!("{LEFT_OUT}{}", end(&text, columns.saturating_sub(1)))
}

/// As much of both ends of a text as fits: names differ at both.
pub fn cut_middle(text: &str, columns: usize) -> String {
    let text = plain(text);
    if width(&text) <= columns {
        return text;
    }
    let room = columns.saturating_sub(1);
    format!("{}{LEFT_OUT}{}", head(&text, room - room / 2), end(&text, room / 2))
}

fn head(text: &str, columns: usize) -> &str {
    let mut used = 0;
    let over = text.char_indices().find(|(_, c)| {
        used += width_of_char(*c);
        used > columns
    });
    over.map_or(text, |(at, _)| &text[..at])
}

fn end(text: &str, columns: usize) -> &str {
    let mut used = 0;
    let over = text.char_indices().rev().find(|(_, c)| {
        used += width_of_char(*c);
        used > columns
    });
    over.map_or(text, |(at, c)| &text[at + c.len_utf8()..])
}

fn width_of_char(c: char) -> usize {
    width(c.encode_utf8(&mut [0; 4]))
}

/// On which side a text stands in a column that is wider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    Left,
    Right,
}

/// A text filled up with spaces.
pub fn padded(text: &str, columns: usize, align: Align) -> String {
    let spaces = " ".repeat(columns.saturating_sub(width(text)));
    match align {
        Align::Left => text.to_owned() + &spaces,
        Align::Right => spaces + text,
    }
}

/// What becomes of a word that is longer than a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LongWord {
    /// It runs over the edge: paths and commands are to be copied.
    Whole,
    /// It goes on in the next line.
    Broken,
}

/// A text in lines of at most `columns`, those after the first indented by `indent` spaces; a long word stays whole.
pub fn wrap(text: &str, columns: usize, indent: usize) -> String {
    wrapped(text, columns, indent, LongWord::Whole).join("\n")
}

/// The lines of a text that is broken between words. Spaces in front of it stay.
pub fn wrapped(text: &str, columns: usize, indent: usize, long: LongWord) -> Vec<String> {
    let words = text.trim_start_matches(' ');
    let mut lines = Vec::new();
    let mut line = LineDraft::indented(text.len() - words.len());
    for mut word in words.split(' ') {
        if line.is_begun && line.used + 1 + width(word) > columns {
            lines.push(std::mem::replace(&mut line, LineDraft::indented(indent)).text);
        }
        while long == LongWord::Broken && line.used + width(word) > columns {
            let fitting = head(word, columns.saturating_sub(line.used));
            if fitting.is_empty() {
                break;
            }
            line.add(fitting);
            lines.push(std::mem::replace(&mut line, LineDraft::indented(indent)).text);
            word = &word[fitting.len()..];
        }
        line.add(word);
    }
    lines.push(line.text);
    lines
}

/// A line in the making.
struct LineDraft {
    text: String,
    used: usize,
    is_begun: bool,
}

impl LineDraft {
    fn indented(columns: usize) -> Self {
        Self { text: " ".repeat(columns), used: columns, is_begun: false }
    }

    fn add(&mut self, word: &str) {
        if self.is_begun {
            self.text.push(' ');
            self.used += 1;
        }
        self.text.push_str(word);
        (self.used, self.is_begun) = (self.used + width(word), true);
    }
}

#[cfg(test)]
mod tests {
    use super::{Align, LongWord, cut, cut_front, cut_middle, padded, plain, width, wrap, wrapped};

    #[test]
    fn a_text_is_broken_between_words_and_a_long_word_stays_whole() {
        assert_eq!(wrap("one two three", 8, 2), "one two\n  three");
        assert_eq!(wrap("  one two", 7, 4), "  one\n    two");
        assert_eq!(wrap("a /very/long/path b", 8, 0), "a\n/very/long/path\nb");
        assert_eq!(wrap("漢字 かな", 8, 0), "漢字\nかな");
    }

    #[test]
    fn where_a_long_word_is_broken_no_line_is_longer_than_it_may_be() {
        let broken = |text, columns, indent| wrapped(text, columns, indent, LongWord::Broken);
        assert_eq!(broken("one two three", 7, 2), ["one two", "  three"]);
        assert_eq!(broken("/a/very/long/path b", 6, 0), ["/a/ver", "y/long", "/path", "b"]);
        assert_eq!(broken("漢字", 1, 0), ["漢字"], "what fits nowhere is not tried for ever");
    }

    #[test]
    fn a_text_is_cut_where_its_room_ends() {
        assert_eq!([cut("abcdef", 6), cut("abcdef", 4), cut("one  two", 20)], ["abcdef", "abc…", "one two"]);
        assert_eq!([cut("one two", 5), cut("漢字かな", 5)], ["one…", "漢字…"]);
        assert_eq!([cut_front("~/a/bcd", 7), cut_front("~/a/bcd", 4)], ["~/a/bcd", "…bcd"]);
        assert_eq!(cut_front("/日本語/ファイル.rs", 9), "…イル.rs");
        assert_eq!(cut_middle("mcp__server__find_symbol", 11), "mcp__…ymbol");
    }

    #[test]
    fn a_column_is_filled_up_as_wide_as_it_is_seen() {
        assert_eq!([padded("ab", 4, Align::Right), padded("ab", 4, Align::Left)], ["  ab", "ab  "]);
        assert_eq!((padded("漢字", 5, Align::Left), width("漢字")), ("漢字 ".to_owned(), 4));
    }

    #[test]
    fn nothing_of_a_transcript_reaches_the_terminal_as_a_command() {
        assert_eq!(plain("a\u{1b}[2Jb\r\n"), "a\u{fffd}[2Jb  ");
        assert_eq!(cut("a\u{1b}[2J\nb", 20), "a\u{fffd}[2J b");
        assert_eq!([cut_front("/a\u{1b}[2J", 9), cut_front("/a\u{1b}[2J", 4)], ["/a\u{fffd}[2J", "…[2J"]);
    }
}
