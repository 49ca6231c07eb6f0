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
        let head = format!(
            "  {:<name_chars$} {:>6} {:>13} {:>7} {:>9} {:>10}",
            "", "calls", "tokens sent", "cached", "compacted", "cost"
        );
        writeln!(page, "{}", paint.dim(&head));
        for row in &self.rows {
            let SessionBill { policy, calls, tokens, compactions, dollars, .. } = row;
            let cost = match dollars {
                Dollars(Some(dollars)) => format!("${dollars:.2}"),
                Dollars(None) => "unknown".to_owned(),
            };
            writeln!(
                page,
                "  {policy:<name_chars$} {:>6} {:>13} {:>6}% {compactions:>9} {cost:>10}",
                grouped(*calls as u64),
                grouped(*tokens),
                row.cached_percent()
            );
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
