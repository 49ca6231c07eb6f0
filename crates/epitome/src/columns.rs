//! The width there is: how many columns the terminal has. `text` makes what is said fit it.

mod text;

pub use text::{Align, LongWord, cut, cut_front, cut_middle, padded, plain, width, wrap, wrapped};

use console::Term;

/// Narrower than this, columns of figures cannot stand side by side; wider, lines are hard to follow with the eye.
const COLUMNS: std::ops::RangeInclusive<usize> = 60..=200;
/// Where nobody says how wide it is: a pipe, a file.
const COLUMNS_UNKNOWN: usize = 100;
/// The same for tables, which lose what does not fit.
const COLUMNS_ELSEWHERE: usize = 140;

/// How wide a line may be on standard output.
pub fn of_stdout() -> usize {
    of_list().unwrap_or(COLUMNS_UNKNOWN)
}

/// How wide a row of a list may be on standard output; none where a program may be reading it, row by row.
pub fn of_list() -> Option<usize> {
    columns(width_of(&Term::stdout()))
}

/// How wide a row of a table may be on standard output. In a file or a pipe nobody cuts lines off.
pub fn of_table() -> usize {
    of_list().unwrap_or(COLUMNS_ELSEWHERE)
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

#[cfg(test)]
mod tests {
    use super::columns;

    #[test]
    fn a_width_nobody_can_read_is_not_used() {
        assert_eq!([20, 80, 900].map(|columns_of| columns(Some(columns_of))), [60, 80, 200].map(Some));
    }
}
