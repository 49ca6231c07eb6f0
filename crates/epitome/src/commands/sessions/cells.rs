//! Cells of a table on a terminal: how wide a text is there, and how it is made to fit.

use crate::columns;
pub use console::measure_text_width as width;

/// As much of a text's beginning as fits, with a sign where something is left out.
pub fn cut(text: &str, room: usize) -> String {
    console::truncate_str(&columns::plain(text), room, "…").into_owned()
}

/// As much of a text's end as fits: of a path, the end tells it from others.
pub fn cut_front(text: &str, room: usize) -> String {
    let text = columns::plain(text);
    let backwards: String = text.chars().rev().collect();
    let kept = cut(&backwards, room);
    match kept.strip_suffix('…') {
        Some(kept) if width(&text) > room => format!("…{}", kept.chars().rev().collect::<String>()),
        Some(_) | None => text,
    }
}

/// A text filled up with spaces behind it, or before it.
pub fn padded(text: &str, room: usize, is_right: bool) -> String {
    let spaces = " ".repeat(room.saturating_sub(width(text)));
    if is_right { spaces + text } else { text.to_owned() + &spaces }
}

/// The width of the terminal. In a file or a pipe nobody cuts lines off.
pub fn terminal_columns() -> usize {
    columns::of_list().unwrap_or(COLUMNS_ELSEWHERE)
}

const COLUMNS_ELSEWHERE: usize = 140;

#[cfg(test)]
mod tests {
    use super::{cut, cut_front, padded, width};

    #[test]
    fn a_text_is_cut_where_its_room_ends() {
        assert_eq!([cut("abcdef", 6), cut("abcdef", 4)], ["abcdef", "abc…"]);
        assert_eq!([cut_front("~/a/bcd", 7), cut_front("~/a/bcd", 4)], ["~/a/bcd", "…bcd"]);
        assert_eq!([cut_front("/a\u{1b}[2J", 9), cut_front("/a\u{1b}[2J", 4)], ["/a\u{fffd}[2J", "…[2J"]);
        assert_eq!((cut("漢字かな", 5), width("漢字")), ("漢字…".to_owned(), 4));
        assert_eq!([padded("ab", 4, true), padded("ab", 4, false)], ["  ab", "ab  "]);
    }
}
