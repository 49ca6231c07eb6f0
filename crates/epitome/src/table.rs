//! Tables of a list: columns as wide as what is in them, the last one cut where the terminal ends.

use crate::columns::{self, Align, cut, padded, plain, width};
use crate::draw::Paint;
use crate::output::Page;

/// The head of a column.
#[derive(Clone, Copy)]
pub struct Cell {
    name: &'static str,
    align: Align,
    /// Takes the room that is left, and is cut there.
    is_rest: bool,
    /// How wide the terminal must be for it.
    terminal_min: usize,
}

impl Cell {
    /// A column of words.
    pub const fn left(name: &'static str) -> Self {
        Self { name, align: Align::Left, is_rest: false, terminal_min: 0 }
    }

    /// A column of figures.
    pub const fn right(name: &'static str) -> Self {
        Self { name, align: Align::Right, is_rest: false, terminal_min: 0 }
    }

    /// The last column: as much of its text as fits.
    pub const fn rest(name: &'static str) -> Self {
        Self { name, align: Align::Left, is_rest: true, terminal_min: 0 }
    }

    /// The same on terminals of this width or wider only.
    pub const fn from(self, terminal_min: usize) -> Self {
        Self { terminal_min, ..self }
    }
}

/// Rows below heads.
pub struct Table {
    heads: Vec<Cell>,
    rows: Vec<(Vec<String>, bool)>,
}

/// Below this a text says nothing.
const REST_MIN: usize = 12;

impl Table {
    pub fn new(heads: &[Cell]) -> Self {
        Self { heads: heads.to_vec(), rows: Vec::new() }
    }

    /// Adds a row; a dim one is there and does not count.
    pub fn add<const N: usize>(&mut self, cells: [String; N], is_dim: bool) {
        self.rows.push((cells.map(|cell| plain(&cell)).to_vec(), is_dim));
    }

    /// Writes the heads and the rows.
    pub fn write(&self, page: &mut Page, paint: Paint) {
        let columns = columns::of_table();
        let shown: Vec<usize> =
            (0..self.heads.len()).filter(|&at| self.heads[at].terminal_min <= columns).collect();
        let rooms = self.rooms(&shown, columns);
        let head: Vec<String> = self.heads.iter().map(|head| head.name.to_owned()).collect();
        writeln!(page, "{}", paint.dim(&self.line(&shown, &head, &rooms)));
        for (cells, is_dim) in &self.rows {
            let line = self.line(&shown, cells, &rooms);
            writeln!(page, "{}", if *is_dim { paint.dim(&line) } else { line });
        }
    }

    fn rooms(&self, shown: &[usize], columns: usize) -> Vec<usize> {
        let natural = |at: usize| {
            let cells = self.rows.iter().map(|(cells, _)| width(&cells[at]));
            cells.max().unwrap_or(0).max(width(self.heads[at].name))
        };
        let mut rooms: Vec<usize> = shown.iter().map(|&at| natural(at)).collect();
        let gaps = shown.len().saturating_sub(1);
        let over = (rooms.iter().sum::<usize>() + gaps).saturating_sub(columns);
        if let Some(place) = shown.iter().position(|&at| self.heads[at].is_rest) {
            rooms[place] = rooms[place].saturating_sub(over).max(REST_MIN.min(rooms[place]));
        }
        rooms
    }

    fn line(&self, shown: &[usize], cells: &[String], rooms: &[usize]) -> String {
        let fitted = shown
            .iter()
            .zip(rooms)
            .map(|(&at, &room)| padded(&cut(&cells[at], room), room, self.heads[at].align));
        fitted.collect::<Vec<_>>().join(" ").trim_end().to_owned()
    }
}
