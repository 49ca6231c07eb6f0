//! `epitome tree`: the paths of a stored session, each run of entries without a fork in a line, with the marks on it.

use super::entries::{EntryStanding, ListedEntry};
use super::history::ViewedSession;
use super::print_json;
use crate::cli::TreeArgs;
use crate::columns::{self, cut, width};
use crate::draw::{self, Paint};
use crate::output::Page;
use anyhow::Result;
use epitome_core::{Entry, EntryId};
use epitome_engine::store::SessionId;
use serde::Serialize;
use std::collections::HashMap;

/// What `--json` prints.
#[derive(Serialize)]
struct TreeListing {
    session: SessionId,
    leaf: Option<EntryId>,
    runs: Vec<EntryRun>,
}

/// Entries one below the other, up to a fork or an end.
#[derive(Serialize)]
struct EntryRun {
    first: EntryId,
    last: EntryId,
    /// The entry it goes on from.
    parent: Option<EntryId>,
    entries: usize,
    /// How many times one branches off the path the session is on to come to it.
    depth: usize,
    /// Whether the session is in it, or goes through it.
    on_path: bool,
    /// What was said first.
    text: String,
    /// Marks anchored in it: compactions, labels, undos; and compactions that came with its file.
    marks: Vec<ListedEntry>,
}

/// Prints the tree.
pub fn run(args: &TreeArgs) -> Result<()> {
    let viewed = ViewedSession::load(&args.store, args.session)?;
    let (leaf, rows) = (viewed.stored.listed.leaf, viewed.rows()?);
    let listing = TreeListing { session: args.session, leaf, runs: runs(&viewed, &rows) };
    if args.json { print_json(&listing) } else { page(&listing).print() }
}

/// The runs of all paths, each behind the one it goes on from.
fn runs(viewed: &ViewedSession, rows: &[ListedEntry]) -> Vec<EntryRun> {
    let log = viewed.session.log();
    let is_mark = |row: &&ListedEntry| log.mark_of(row.id).is_some();
    let mut children: HashMap<Option<EntryId>, Vec<EntryId>> = HashMap::new();
    for row in rows.iter().filter(|row| !is_mark(row)) {
        children.entry(row.parent).or_default().push(row.id);
    }
    let below = |parent: Option<EntryId>| children.get(&parent).map(Vec::as_slice).unwrap_or_default();
    let mut runs = Vec::new();
    let on_path = |id: EntryId| rows.get(id.index()).is_some_and(|row| row.on_path);
    let leaf = viewed.stored.listed.leaf;
    // What comes next is on the end. The path the session is on goes straight on, others branch off before it.
    let next = |parent: Option<EntryId>, depth: usize| {
        let ids = below(parent);
        let main = ids.iter().rposition(|&id| on_path(id)).unwrap_or(ids.len().saturating_sub(1));
        let sides =
            ids.iter().enumerate().filter(move |(at, _)| *at != main).map(move |(_, &id)| (id, depth + 1));
        ids.get(main).map(|&id| (id, depth)).into_iter().chain(sides.rev()).collect::<Vec<_>>()
    };
    let mut waiting = next(None, 0);
    while let Some((first, depth)) = waiting.pop() {
        let (mut ids, mut last) = (vec![first], first);
        while let ([only], false) = (below(Some(last)), leaf == Some(last)) {
            last = *only;
            ids.push(last);
        }
        waiting.extend(next(Some(last), depth));
        // What its own tool did lies on the path itself.
        let recorded = |id: EntryId| matches!(log.get(id), Some(Entry::Recorded(_))).then_some(id);
        let marks =
            ids.iter().flat_map(|&id| recorded(id).into_iter().chain(log.marks_at(Some(id)).iter().copied()));
        let marks = marks.filter_map(|id| rows.get(id.index())).filter(|row| row.kind != "usage").cloned();
        let said = ids.iter().filter_map(|id| rows.get(id.index())).find(|row| row.kind == "user");
        runs.push(EntryRun {
            first,
            last,
            parent: log.parent(first),
            entries: ids.len(),
            depth,
            on_path: on_path(first),
            text: said.or(rows.get(first.index())).map(|row| row.text.clone()).unwrap_or_default(),
            marks: marks.collect(),
        });
    }
    runs
}

fn page(listing: &TreeListing) -> Page {
    let (paint, mut page, columns) = (Paint::stdout(), Page::default(), columns::of_table());
    for run in &listing.runs {
        let indent = "  ".repeat(run.depth);
        let sign = if run.on_path { "●" } else { "○" };
        let head = format!("{indent}{sign} {}–{}, {}: ", run.first, run.last, draw::entries(run.entries));
        let line = format!("{head}{}", cut(&run.text, columns.saturating_sub(width(&head))));
        writeln!(page, "{}", if run.on_path { line } else { paint.dim(&line) });
        for mark in &run.marks {
            let at = mark.parent.map(|at| format!(" at {at}")).unwrap_or_default();
            let standing = match mark.standing {
                EntryStanding::Undone => " (undone)",
                EntryStanding::Superseded => " (followed by another)",
                EntryStanding::Live | EntryStanding::Shortened | EntryStanding::Elsewhere => "",
            };
            let head = format!("{indent}    {} {}{at}{standing}: ", mark.id, mark.kind);
            writeln!(page, "{head}{}", cut(&mark.text, columns.saturating_sub(width(&head))));
        }
        if let Some(leaf) = listing.leaf.filter(|leaf| run.holds(*leaf)) {
            writeln!(page, "{}", paint.bold(&format!("{indent}  → the session is at {leaf}")));
        }
    }
    page
}

impl EntryRun {
    /// Whether an entry of the path the session is on lies in it.
    fn holds(&self, id: EntryId) -> bool {
        self.on_path && (self.first..=self.last).contains(&id)
    }
}
