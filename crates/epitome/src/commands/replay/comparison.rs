//! Bills side by side: what was recorded, the same contexts left alone, and each preset's.

use super::bill::SessionBill;
use super::conversation_text;
use crate::columns;
use crate::draw::{self, Paint, grouped};
use crate::output::Page;
use epitome_core::Dollars;
use serde::Serialize;

/// What was compared, of one conversation.
#[derive(Serialize)]
pub(super) struct Comparison {
    pub(super) file: String,
    pub(super) conversation: usize,
    pub(super) rows: Vec<SessionBill>,
}

/// So many waits are listed; more say no more.
const WAITS_MAX: usize = 8;
const HEADS: [&str; 5] = ["calls", "tokens sent", "cached", "compacted", "cost"];

impl Comparison {
    /// The table below the conversation's name.
    pub(super) fn page(&self, conversations: usize) -> Page {
        let (paint, mut page) = (Paint::stdout(), Page::default());
        let which = conversation_text(self.conversation, conversations);
        writeln!(page, "{} {}", paint.bold(&self.file), paint.dim(which.trim_end_matches(", ")));
        self.write(&mut page, paint);
        page
    }

    /// Writes the rows as a table, and where each of ours would have waited.
    pub(super) fn write(&self, page: &mut Page, paint: Paint) {
        let name_chars = self.rows.iter().map(|row| row.policy.chars().count()).max().unwrap_or(0);
        let cells = |row: &SessionBill| {
            let cost = match row.dollars {
                Dollars(Some(dollars)) => format!("${dollars:.2}"),
                Dollars(None) => "unknown".to_owned(),
            };
            let (calls, tokens) = (grouped(row.calls as u64), grouped(row.tokens));
            [calls, tokens, format!("{} %", row.cached_percent()), row.compactions.to_string(), cost]
        };
        let rows: Vec<(&str, [String; 5])> =
            self.rows.iter().map(|row| (row.policy.as_str(), cells(row))).collect();
        let rooms: [usize; 5] = std::array::from_fn(|at| {
            rows.iter().map(|(_, cells)| cells[at].chars().count()).fold(HEADS[at].len(), usize::max)
        });
        let figures: usize = rooms.iter().sum();
        let is_narrow = 2 + name_chars + figures + 2 * rooms.len() > columns::of_stdout();
        let gap = if is_narrow { " " } else { "  " };
        let line = |name: &str, cells: [&str; 5]| {
            let cells = cells.iter().zip(rooms).map(|(cell, room)| format!("{gap}{cell:>room$}"));
            format!("  {name:<name_chars$}{}", cells.collect::<String>())
        };
        writeln!(page, "{}", paint.dim(&line("", HEADS)));
        for (name, cells) in &rows {
            writeln!(page, "{}", line(name, cells.each_ref().map(String::as_str)));
        }
        for row in self.rows.iter().filter(|row| !row.waits.is_empty()) {
            let text = format!("  {} would have waited before {}", row.policy, waits_text(&row.waits));
            writeln!(page, "{}", columns::wrap(&text, columns::of_stdout(), 4));
        }
    }
}

fn waits_text(waits: &[usize]) -> String {
    let named: Vec<String> = waits.iter().take(WAITS_MAX).map(ToString::to_string).collect();
    let more = match waits.len().saturating_sub(WAITS_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let calls = if waits.len() == 1 { "call" } else { "calls" };
    format!("{calls} {}{more} ({})", named.join(", "), draw::counted(waits.len(), "compaction"))
}
