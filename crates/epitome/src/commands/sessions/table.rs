//! The table of sessions as a person looks at it: columns that give way as the terminal becomes narrower.

use super::row::SessionRow;
use crate::agents::home;
use crate::cli::SessionsArgs;
use crate::columns::{self, Align, cut, cut_front, padded, plain, width, wrap};
use crate::draw::{Paint, grouped};
use crate::output::Page;
use std::path::Path;

/// What stands in a column.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Column {
    Number,
    When,
    Project,
    Tool,
    Model,
    ContextSize,
    Window,
    Percent,
    Spent,
    Compactions,
    Title,
}

impl Column {
    /// What it says, where its name does not.
    fn about(self) -> Option<&'static str> {
        match self {
            Self::ContextSize => Some("in view: the newest call by its provider's count, ~ estimated"),
            Self::Spent => Some("spent: at list prices"),
            Self::Compactions => Some("cmp: compactions"),
            Self::Number
            | Self::When
            | Self::Project
            | Self::Tool
            | Self::Model
            | Self::Window
            | Self::Percent
            | Self::Title => None,
        }
    }
}

/// A column, how wide the terminal must be for it, and how wide it may be itself.
struct ColumnRow {
    column: Column,
    name: &'static str,
    terminal_min: usize,
    room_max: usize,
    align: Align,
}

const COLUMNS: [ColumnRow; 11] = [
    row(Column::Number, "#", 0, 5, Align::Right),
    row(Column::When, "when", 0, 8, Align::Right),
    row(Column::Project, "project", 0, 40, Align::Left),
    row(Column::Tool, "tool", 0, 11, Align::Left),
    row(Column::Model, "model", 130, 26, Align::Left),
    row(Column::ContextSize, "in view", 0, 10, Align::Right),
    row(Column::Window, "of", 110, 6, Align::Right),
    row(Column::Percent, "full", 0, 5, Align::Right),
    row(Column::Spent, "spent", 0, 9, Align::Right),
    row(Column::Compactions, "cmp", 100, 3, Align::Right),
    row(Column::Title, "name", 72, 80, Align::Left),
];

/// What gives way where the terminal is narrow, and down to what: a session is known by its name first, by its project
/// where several have one.
const GIVING_WAY: [(Column, usize); 8] = [
    (Column::Title, 40),
    (Column::Model, 12),
    (Column::Project, 24),
    (Column::Title, 28),
    (Column::Project, 14),
    (Column::Tool, 6),
    (Column::Title, 12),
    (Column::Project, PROJECT_ROOM_MIN),
];

const fn row(
    column: Column,
    name: &'static str,
    terminal_min: usize,
    room_max: usize,
    align: Align,
) -> ColumnRow {
    ColumnRow { column, name, terminal_min, room_max, align }
}

/// Below this a project's name says nothing.
const PROJECT_ROOM_MIN: usize = 9;

/// By what a session of the table can be opened.
#[derive(Clone, Copy)]
pub(super) enum OpenedBy {
    Number,
    /// Where the table's numbers could not be kept.
    Id,
}

/// The table, ready to be printed.
pub(super) fn page(rows: &[SessionRow], found: usize, args: &SessionsArgs, opened_by: OpenedBy) -> Page {
    let (paint, mut page) = (Paint::stdout(), Page::default());
    if rows.is_empty() {
        writeln!(page, "{}", nothing(found, args));
        return page;
    }
    let now_ms = jiff::Timestamp::now().as_millisecond();
    let columns = columns::of_table();
    let shown: Vec<&ColumnRow> = COLUMNS.iter().filter(|column| column.terminal_min <= columns).collect();
    let cells: Vec<Vec<String>> = rows
        .iter()
        .map(|row| shown.iter().map(|column| plain(&cell(column.column, row, now_ms))).collect())
        .collect();
    let rooms = rooms(&shown, &cells, columns);
    let head: Vec<String> = shown.iter().map(|column| column.name.to_owned()).collect();
    writeln!(page, "{}", paint.dim(line(&shown, &head, &rooms).trim_end()));
    for cells in &cells {
        writeln!(page, "{}", line(&shown, cells, &rooms).trim_end());
    }
    write_foot(&mut page, rows, found, columns, opened_by);
    let words = shown.iter().filter_map(|column| column.column.about()).collect::<Vec<_>>().join("; ");
    for part in wrap(&words, columns, 0).lines() {
        writeln!(page, "{}", paint.dim(part));
    }
    page
}

/// What is said where there is no session to show.
fn nothing(found: usize, args: &SessionsArgs) -> String {
    if found > 0 && args.limit == 0 && !args.all {
        return format!("none of {} is shown: --limit is 0", counted(found));
    }
    if args.filter.is_some() || args.here || args.tool.is_some() {
        return "no session fits; `epitome sessions` shows all".to_owned();
    }
    let tools = crate::draw::alternatives(crate::agents::Agent::ALL.map(crate::agents::Agent::name));
    format!("no session of {tools} is kept where they keep them by default, or where their variables say")
}

/// How wide each column is: as wide as what is in it, as long as there is room.
fn rooms(shown: &[&ColumnRow], cells: &[Vec<String>], columns: usize) -> Vec<usize> {
    let natural = |at: usize, column: &ColumnRow| {
        let widest = cells.iter().map(|row| width(&row[at])).max().unwrap_or(0);
        widest.max(column.name.len()).min(column.room_max)
    };
    let mut rooms: Vec<usize> = shown.iter().enumerate().map(|(at, column)| natural(at, column)).collect();
    let gaps = shown.len() - 1;
    for (giving, room_min) in GIVING_WAY {
        let over = (rooms.iter().sum::<usize>() + gaps).saturating_sub(columns);
        if let Some(at) = shown.iter().position(|column| column.column == giving) {
            rooms[at] = rooms[at].saturating_sub(over).max(room_min.min(rooms[at]));
        }
    }
    rooms
}

fn line(shown: &[&ColumnRow], cells: &[String], rooms: &[usize]) -> String {
    let fitted = shown.iter().zip(cells).zip(rooms).map(|((column, text), &room)| {
        let text = if column.column == Column::Project { cut_front(text, room) } else { cut(text, room) };
        padded(&text, room, column.align)
    });
    fitted.collect::<Vec<_>>().join(" ")
}

fn cell(column: Column, row: &SessionRow, now_ms: i64) -> String {
    let unknown = || "–".to_owned();
    match column {
        Column::Number => row.number.to_string(),
        Column::When => age(now_ms - row.modified_ms),
        Column::Project => row.project.as_deref().map_or_else(unknown, |path| home::shown(Path::new(path))),
        Column::Tool => row.tool.to_owned(),
        Column::Model => row.model.clone().unwrap_or_else(unknown),
        Column::ContextSize => row.in_view.map_or_else(unknown, |view| {
            let mark = if view.is_estimate { "~" } else { "" };
            format!("{mark}{}", grouped(view.tokens))
        }),
        Column::Window => row.window.map_or_else(unknown, |window| short(window.tokens)),
        Column::Percent => row.percent().map_or_else(unknown, |percent| format!("{percent} %")),
        Column::Spent => row.spent_dollars.map_or_else(unknown, |dollars| format!("${dollars:.2}")),
        Column::Compactions => row.compactions.to_string(),
        Column::Title => row.name().to_owned(),
    }
}

/// A window in thousands or millions.
fn short(tokens: u64) -> String {
    match tokens {
        1_000_000.. if tokens.is_multiple_of(100_000) => {
            let tenths = tokens / 100_000;
            if tenths.is_multiple_of(10) {
                format!("{}M", tenths / 10)
            } else {
                format!("{}.{}M", tenths / 10, tenths % 10)
            }
        }
        1_000.. => format!("{}k", tokens.saturating_add(500) / 1_000),
        _ => tokens.to_string(),
    }
}

/// How long ago something was, in the largest unit that says it.
pub(super) fn age(milliseconds: i64) -> String {
    let minutes = milliseconds / 60_000;
    match minutes {
        ..1 => "now".to_owned(),
        1..60 => format!("{minutes} min"),
        60..2_880 => format!("{} h", minutes / 60),
        2_880..100_800 => format!("{} d", minutes / 1_440),
        _ => format!("{} wk", minutes / 10_080),
    }
}

fn write_foot(page: &mut Page, rows: &[SessionRow], found: usize, columns: usize, opened_by: OpenedBy) {
    let shown = rows.len();
    let of = if found > shown {
        format!("{} of {} sessions", grouped(shown as u64), grouped(found as u64))
    } else {
        counted(shown)
    };
    let more = if found > shown { ", --all shows the rest" } else { "" };
    // A command is to be copied, so no line is broken in it.
    let how = match opened_by {
        OpenedBy::Number => format!("its number: epitome\0inspect\0{}", rows[0].number),
        OpenedBy::Id => format!("its id: epitome\0inspect\0{}", plain(&rows[0].id)),
    };
    let told = format!("{of}{more}; open one by {how}");
    writeln!(page, "\n{}", wrap(&told, columns, 0).replace('\0', " "));
}

fn counted(sessions: usize) -> String {
    if sessions == 1 { "1 session".to_owned() } else { format!("{} sessions", grouped(sessions as u64)) }
}

#[cfg(test)]
mod tests {
    use super::{age, short};

    #[test]
    fn windows_and_ages_are_told_shortly() {
        assert_eq!(
            [128_000, 200_000, 258_400, 1_000_000, 1_048_576].map(short),
            ["128k", "200k", "258k", "1M", "1049k"]
        );
        let minute = 60_000;
        let ages = [0, minute, 90 * minute, 3 * 1_440 * minute, 80 * 1_440 * minute].map(age);
        assert_eq!(ages, ["now", "1 min", "1 h", "3 d", "11 wk"]);
    }
}
