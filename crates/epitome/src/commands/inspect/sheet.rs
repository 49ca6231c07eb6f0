//! A page for a terminal of some width: headings, prose that is wrapped, words cut to their column. What comes from a
//! transcript is stripped of control characters before it is shown.

use crate::columns::{
    self, Align, LongWord, cut_front, cut_middle, padded, plain, width as width_of, wrapped,
};
use crate::draw::{Paint, bar, percent, share};
use crate::output::Page;
use crate::shell_word;
use epitome_core::Tokens;

/// A page in the making.
pub struct Sheet {
    page: Page,
    pub paint: Paint,
    pub columns: usize,
}

/// Everything but headings stands this far in.
const INDENT: &str = "  ";
/// What a figure with its share of the window takes: `  1,048,576  100 %`.
const FIGURE_COLUMNS: usize = 19;
/// Bars longer than this say no more.
const BAR_COLUMNS_MAX: usize = 72;

impl Sheet {
    /// An empty page for standard output.
    pub fn for_terminal() -> Self {
        Self { page: Page::default(), paint: Paint::stdout(), columns: columns::of_stdout() }
    }

    /// The page.
    pub fn finish(self) -> Page {
        self.page
    }

    /// A line as it is.
    pub fn line(&mut self, text: &str) {
        writeln!(self.page, "{INDENT}{text}");
    }

    /// A line that is not indented.
    pub fn outdented(&mut self, text: &str) {
        writeln!(self.page, "{text}");
    }

    /// An empty line.
    pub fn gap(&mut self) {
        writeln!(self.page);
    }

    /// The line a part of the page begins with, after an empty one.
    pub fn heading(&mut self, text: &str) {
        writeln!(self.page, "\n{}", self.paint.bold(text));
    }

    /// Prose, wrapped; `paint` is put on each line.
    pub fn prose(&mut self, text: &str, paint: impl Fn(Paint, &str) -> String) {
        for line in wrapped(&plain(text), self.columns - INDENT.len(), 0, LongWord::Broken) {
            self.line(&paint(self.paint, &line));
        }
    }

    /// Dim prose.
    pub fn aside(&mut self, text: &str) {
        self.prose(text, Paint::dim);
    }

    /// A command, over several lines where it is long, each but the last ending as a shell wants it.
    pub fn command(&mut self, command: &str) {
        for line in command_lines(command, self.columns - INDENT.len() - 2).join(" \\\n").lines() {
            self.line(line);
        }
    }

    /// How wide names are that stand in front of a bar.
    pub fn label_columns(&self) -> usize {
        (self.columns / 4).clamp(16, 30)
    }

    /// A name, what it takes, its share of the window, and a bar of that.
    pub fn bar_row(&mut self, label: &str, tokens: Tokens, window: Tokens, note: &str) {
        let bar = self.paint.bar(&bar(tokens.0, window.0, self.bar_columns()));
        self.row_with(label, tokens, window, note, &bar);
    }

    /// The same for what is not taken: drawn as the free part of a strip is.
    pub fn free_row(&mut self, label: &str, tokens: Tokens, window: Tokens) {
        let cells = share(tokens.0.min(window.0), window.0, self.bar_columns() as u64) as usize;
        let bar = self.paint.dim(&"░".repeat(cells));
        self.row_with(label, tokens, window, "", &bar);
    }

    fn row_with(&mut self, label: &str, tokens: Tokens, window: Tokens, note: &str, bar: &str) {
        let width = self.label_columns();
        let label = padded(&cut_middle(label, width), width, Align::Left);
        let note = padded(note, NOTE_COLUMNS, Align::Left);
        let line = format!("{label}{}  {note}  {bar}", figure(tokens, window));
        self.line(line.trim_end());
    }

    /// How long the bar of a whole window is: as long in every table, or shares could not be compared.
    fn bar_columns(&self) -> usize {
        let taken = INDENT.len() + self.label_columns() + FIGURE_COLUMNS + NOTE_COLUMNS + 4;
        self.columns.saturating_sub(taken).min(BAR_COLUMNS_MAX)
    }

    /// What something takes, its share of the window, and a sentence behind it, wrapped.
    pub fn figure_prose(&mut self, tokens: Tokens, window: Tokens, text: &str) {
        let room = self.columns - INDENT.len() - FIGURE_COLUMNS - 2;
        let mut figure = figure(tokens, window);
        for line in wrapped(&plain(text), room, 0, LongWord::Broken) {
            self.line(&format!("{figure}  {line}"));
            figure = " ".repeat(FIGURE_COLUMNS);
        }
    }

    /// What something takes, its share of the window, and words behind it that are cut to what room is left.
    pub fn figure_row(&mut self, tokens: Tokens, window: Tokens, words: &str, path: &str) {
        let room = self.columns - INDENT.len() - FIGURE_COLUMNS - 2;
        let words = cut_middle(words, room);
        let rest = room.saturating_sub(width_of(&words) + 2);
        let path = if path.is_empty() || rest < PATH_COLUMNS_MIN {
            String::new()
        } else {
            format!("  {}", cut_front(path, rest))
        };
        self.line(&format!("{}  {}{path}", figure(tokens, window), self.paint.dim(&words)));
    }
}

/// A command in lines of at most `columns`. A flag stays with its value, and a path whole, however long: both are to be
/// copied.
fn command_lines(command: &str, columns: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut words = shell_word::words(command).into_iter();
    while let Some(word) = words.next() {
        let value = if ["--set", "--to"].contains(&word) { words.next() } else { None };
        let part = value.map_or(word.to_owned(), |value| format!("{word} {value}"));
        match lines.last_mut() {
            Some(line) if line.is_empty() => *line = part,
            Some(line) if width_of(line) + 1 + width_of(&part) <= columns => {
                line.push(' ');
                line.push_str(&part);
            }
            Some(_) | None => lines.push(format!("    {part}")),
        }
    }
    lines
}

/// What notes in front of bars take: `1,204 calls`.
const NOTE_COLUMNS: usize = 11;
/// Of a path, less than this is of no use.
const PATH_COLUMNS_MIN: usize = 8;

fn figure(tokens: Tokens, window: Tokens) -> String {
    let share = match percent(tokens.0, window.0) {
        0 if tokens > Tokens::ZERO => "<1".to_owned(),
        share => share.to_string(),
    };
    format!("{:>13}{share:>4} %", tokens.to_string())
}

#[cfg(test)]
mod tests {
    use super::command_lines;

    #[test]
    fn a_command_is_broken_between_words_that_a_shell_sees() {
        let command = r"epitome compact 'my own file.jsonl' --set a=b -o 'it'\''s here'";
        let expected =
            ["epitome compact", "    'my own file.jsonl'", "    --set a=b -o", r"    'it'\''s here'"];
        assert_eq!(command_lines(command, 20), expected);
    }
}
