//! Cells of a table on a terminal: how wide a text is there, and how it is made to fit.

/// How many columns a character takes.
fn columns(character: char) -> usize {
    let code = character as u32;
    let is_wide = matches!(code, 0x1100..=0x115f | 0x2e80..=0xa4cf | 0xac00..=0xd7a3 | 0xf900..=0xfaff
        | 0xfe30..=0xfe6f | 0xff00..=0xff60 | 0xffe0..=0xffe6 | 0x1f300..=0x1faff | 0x20000..=0x3fffd);
    match character {
        _ if character.is_control() => 0,
        _ if is_wide => 2,
        _ => 1,
    }
}

/// How many columns a text takes.
pub fn width(text: &str) -> usize {
    text.chars().map(columns).sum()
}

/// As much of a text's beginning as fits, with a sign where something is left out.
pub fn cut(text: &str, room: usize) -> String {
    let text: String = text.chars().filter(|character| !character.is_control()).collect();
    if width(&text) <= room {
        return text;
    }
    let (mut kept, mut used) = (String::new(), 1);
    for character in text.chars() {
        used += columns(character);
        if used > room {
            break;
        }
        kept.push(character);
    }
    kept + "…"
}

/// As much of a text's end as fits: of a path, the end tells it from others.
pub fn cut_front(text: &str, room: usize) -> String {
    let backwards: String = text.chars().rev().collect();
    let kept = cut(&backwards, room);
    match kept.strip_suffix('…') {
        Some(kept) if width(text) > room => format!("…{}", kept.chars().rev().collect::<String>()),
        Some(_) | None => text.to_owned(),
    }
}

/// A text filled up with spaces behind it, or before it.
pub fn padded(text: &str, room: usize, is_right: bool) -> String {
    let spaces = " ".repeat(room.saturating_sub(width(text)));
    if is_right { spaces + text } else { text.to_owned() + &spaces }
}

/// The width of the terminal, or of what is read elsewhere.
pub fn terminal_columns() -> usize {
    let told = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let seen = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    told.filter(|&columns| columns > 0)
        .or_else(seen)
        .unwrap_or(COLUMNS_ELSEWHERE)
        .clamp(COLUMNS_MIN, COLUMNS_MAX)
}

/// In a file or a pipe nobody cuts lines off.
const COLUMNS_ELSEWHERE: usize = 140;
/// Below this nothing is told any more.
const COLUMNS_MIN: usize = 60;
/// Beyond this a line is too long for the eye.
const COLUMNS_MAX: usize = 200;

#[cfg(test)]
mod tests {
    use super::{cut, cut_front, padded, width};

    #[test]
    fn a_text_is_cut_where_its_room_ends() {
        assert_eq!([cut("abcdef", 6), cut("abcdef", 4)], ["abcdef", "abc…"]);
        assert_eq!([cut_front("~/a/bcd", 7), cut_front("~/a/bcd", 4)], ["~/a/bcd", "…bcd"]);
        assert_eq!((cut("漢字かな", 5), width("漢字")), ("漢字…".to_owned(), 4));
        assert_eq!([padded("ab", 4, true), padded("ab", 4, false)], ["  ab", "ab  "]);
    }
}
