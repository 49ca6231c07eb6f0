//! `epitome cost`: what stored sessions took, their own calls and those that wrote summaries apart, and what was saved.
//!
//! Calls are those the provider told the usage of, or that were counted by us where it said nothing: by marks in the store, or in the
//! file a session was read from. What was saved is what those calls did not send because of compactions before them; what a server
//! only observed saved nothing, and is told beside it.

use super::entries::time_text;
use super::print_json;
use crate::cli::{CostArgs, CostKey};
use crate::draw::{Paint, grouped};
use crate::output::{self, Page};
use crate::stored_session::StoredSession;
use crate::table::{Cell, Table};
use crate::transcript_file::catalog;
use anyhow::Result;
use epitome_core::{Entry, EntryId, Mark, Record, Tokens, UsageMark};
use epitome_store::StoredEntry;
use epitome_tokens::{Catalog, Usage};
use epitome_wire::RecordedReply;
use serde::Serialize;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// What calls took.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct Spending {
    calls: u64,
    /// Of these, the ones whose provider said nothing: what they took is our own count.
    estimated: u64,
    /// Prompt tokens, cached ones included.
    input: u64,
    cache_read: u64,
    output: u64,
    /// At list prices; none where one of them is not known.
    dollars: Price,
}

/// A sum of prices, of which none may be unknown.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(transparent)]
struct Price(Option<f64>);

impl Default for Price {
    fn default() -> Self {
        Self(Some(0.0))
    }
}

impl Price {
    fn add(&mut self, other: Option<f64>) {
        self.0 = self.0.zip(other).map(|(one, other)| one + other);
    }
}

/// What was not sent because of compactions.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct Saving {
    tokens: u64,
    /// What these would have cost from the provider's cache, which is the least.
    dollars_cached: Price,
}

/// One line of the list.
#[derive(Clone, Debug, Default, Serialize)]
struct CostLine {
    key: String,
    /// The sessions' own calls.
    primary: Spending,
    /// Calls that wrote summaries.
    compactor: Spending,
    saved: Saving,
    compactions: u64,
    /// Compactions that were not made, because a server only observed.
    observed: u64,
    /// What calls would not have sent, had they been.
    observed_tokens: u64,
}

/// What `--json` prints.
#[derive(Serialize)]
struct CostListing {
    by: &'static str,
    lines: Vec<CostLine>,
    total: CostLine,
}

/// Prints what was asked for.
pub fn run(args: &CostArgs) -> Result<()> {
    let catalog = catalog(args.models.as_deref())?;
    let open = args.store.open()?;
    let sessions = match args.session {
        Some(session) => vec![open.listed(session)?],
        None => open.sessions()?,
    };
    let mut lines = BTreeMap::new();
    let mut total = CostLine { key: "total".to_owned(), ..CostLine::default() };
    for listed in sessions {
        let stored = match StoredSession::outline(&open, listed.session) {
            Ok(stored) => stored,
            // Of many, one that cannot be read is told and passed over.
            Err(error) if args.session.is_none() => {
                output::tell(format_args!("note: {} is left out: {error:#}", listed.session));
                continue;
            }
            Err(error) => return Err(error),
        };
        for item in items(&stored, &catalog) {
            let key = key(&stored, &item, args.by);
            let line = lines.entry(key.clone()).or_insert_with(|| CostLine { key, ..CostLine::default() });
            line.add(&item);
            total.add(&item);
        }
    }
    let by = match args.by {
        CostKey::Session => "session",
        CostKey::Agent => "agent",
        CostKey::Model => "model",
        CostKey::Day => "day",
    };
    let listing = CostListing { by, lines: lines.into_values().collect(), total };
    if args.json { print_json(&listing) } else { page(&listing).print() }
}

/// Something that took tokens, or saved some.
struct CostItem {
    time_ms: Option<u64>,
    model: String,
    part: CostPart,
}

enum CostPart {
    /// A call of the session's own, and what it did not send.
    Call {
        usage: Usage,
        dollars: Option<f64>,
        saved: u64,
        saved_dollars: Option<f64>,
        /// Whether its provider said nothing of it, and the figures are our own count.
        is_estimated: bool,
        /// What it would not have sent, had what was observed been done.
        observed: u64,
    },
    /// A compaction.
    Pass { record: std::sync::Arc<Record> },
    /// A compaction that was not made.
    Observation,
}

/// A call at list prices, with what it did not send.
fn priced(catalog: &Catalog, time_ms: Option<u64>, model: &str, usage: Usage, saved: u64) -> CostItem {
    let prices = catalog.find(model).prices.map(|prices| prices.value);
    let cached = Usage { prompt: saved, cache_read: saved, ..Usage::default() };
    let part = CostPart::Call {
        usage,
        dollars: prices.map(|prices| prices.cost(&usage)),
        saved,
        is_estimated: false,
        observed: 0,
        saved_dollars: if saved == 0 { Some(0.0) } else { prices.map(|prices| prices.cost(&cached)) },
    };
    CostItem { time_ms, model: model.to_owned(), part }
}

/// How much of a session was taken over from the one it is a fork of, and paid there.
fn taken_over(stored: &StoredSession) -> usize {
    stored.listed.about.fork.map_or(0, |fork| fork.entries)
}

/// The calls that the file of a session tells of. What a copy or a fork was made with was paid in the session it is of.
fn calls_of_file(stored: &StoredSession, catalog: &Catalog) -> Vec<CostItem> {
    let known = stored.listed.about.model.as_str();
    let kept = stored.kept.iter().filter(|_| taken_over(stored) == 0);
    let replies = kept.flat_map(|kept| &kept.conversation().replies).filter(|reply| !reply.is_copied);
    let item = |reply: &RecordedReply| {
        let used = reply.usage?;
        let usage = Usage {
            prompt: used.prompt,
            output: used.output,
            cache_read: used.cache_read,
            cache_write: used.cache_write,
            ..Usage::default()
        };
        Some(priced(catalog, reply.time_ms, reply.model.as_deref().unwrap_or(known), usage, 0))
    };
    replies.filter_map(item).collect()
}

/// A call as a mark tells of it, which did not send what was `freed`, and would not have sent what was `observed`.
fn marked_call(
    catalog: &Catalog,
    one: &StoredEntry,
    mark: &UsageMark,
    known: &str,
    freed: u64,
    would: u64,
) -> CostItem {
    let model = if mark.model.is_empty() { known } else { &mark.model };
    let (prompt, output) = (mark.prompt.0, mark.tokens.less(mark.prompt).0);
    let (cache_read, cache_write) = (mark.cache_read.0, mark.cache_write.0);
    let usage = Usage { prompt, output, cache_read, cache_write, ..Usage::default() };
    let mut item = priced(catalog, one.time_ms, model, usage, freed);
    if let CostPart::Call { is_estimated, observed, .. } = &mut item.part {
        (*is_estimated, *observed) = (mark.is_estimated, would);
    }
    item
}

/// Everything of a session that took tokens, in the order it happened.
fn items(stored: &StoredSession, catalog: &Catalog) -> Vec<CostItem> {
    let mut items = calls_of_file(stored, catalog);
    let (mut freed, mut observed) = (0_u64, 0_u64);
    let (undone, taken_over) = (undone(stored), taken_over(stored));
    let known = stored.listed.about.model.as_str();
    for (one, mark) in marks(stored) {
        match mark {
            Mark::Usage(usage) if usage.prompt > Tokens::ZERO && one.id.index() >= taken_over => {
                items.push(marked_call(catalog, one, usage, known, freed, observed));
            }
            Mark::Compaction { record, .. } | Mark::Edit { record, .. } => {
                if !undone.contains(&one.id) {
                    freed = freed.saturating_add(record.tokens_before.less(record.tokens_after).0);
                }
                if one.id.index() < taken_over {
                    continue;
                }
                let time_ms = record.time_ms.or(one.time_ms);
                items.push(CostItem {
                    time_ms,
                    model: summarizer(record),
                    part: CostPart::Pass { record: record.clone() },
                });
            }
            Mark::Usage(_)
            | Mark::Apply { .. }
            | Mark::Undo { .. }
            | Mark::Redo { .. }
            | Mark::Pin { .. }
            | Mark::Unpin { .. }
            | Mark::Label { .. }
            | Mark::Judgement { .. }
            | Mark::Failure
            | Mark::Floor { .. }
            | Mark::Refill
            | Mark::Hold { .. }
            | Mark::Reset
            | Mark::Request { .. } => {}
            Mark::Observation { record, saved } => {
                observed = saved.0;
                let time_ms = record.time_ms.or(one.time_ms);
                items.push(CostItem { time_ms, model: summarizer(record), part: CostPart::Observation });
            }
        }
    }
    items
}

/// The marks of a session. A reply that its client sent back in other words is in it twice, and what its provider said of it once.
fn marks(stored: &StoredSession) -> Vec<(&StoredEntry, &Mark)> {
    let mut calls = HashSet::new();
    let mut is_news = |one: &StoredEntry, mark: &Mark| match mark {
        Mark::Usage(usage) => calls.insert(call_of(stored, one, usage)),
        Mark::Compaction { .. }
        | Mark::Edit { .. }
        | Mark::Apply { .. }
        | Mark::Undo { .. }
        | Mark::Redo { .. }
        | Mark::Pin { .. }
        | Mark::Unpin { .. }
        | Mark::Label { .. }
        | Mark::Judgement { .. }
        | Mark::Failure
        | Mark::Floor { .. }
        | Mark::Refill
        | Mark::Hold { .. }
        | Mark::Reset
        | Mark::Request { .. }
        | Mark::Observation { .. } => true,
    };
    stored.entries.iter().filter_map(with_mark).filter(|(one, mark)| is_news(one, mark)).collect()
}

fn with_mark(entry: &StoredEntry) -> Option<(&StoredEntry, &Mark)> {
    match &entry.entry {
        Entry::Mark(mark) => Some((entry, mark)),
        Entry::Message(_) | Entry::Recorded(_) | Entry::Note { .. } => None,
    }
}

/// What tells a call from all others: what it was asked behind, and what its provider said of it.
fn call_of(
    stored: &StoredSession,
    mark: &StoredEntry,
    usage: &UsageMark,
) -> (Option<EntryId>, [Tokens; 4], Arc<str>) {
    let place = |reply| stored.entries.binary_search_by_key(&reply, |one| one.id).ok();
    let asked = mark.parent.and_then(place).and_then(|at| stored.entries[at].parent);
    let UsageMark { tokens, prompt, cache_read, cache_write, model, .. } = usage;
    (asked, [*tokens, *prompt, *cache_read, *cache_write], model.clone())
}

/// Compactions that were taken back, and not used again since.
fn undone(stored: &StoredSession) -> HashSet<EntryId> {
    let mut undone = HashSet::new();
    for one in &stored.entries {
        match &one.entry {
            Entry::Mark(Mark::Undo { of }) => drop(undone.insert(*of)),
            Entry::Mark(Mark::Redo { of } | Mark::Apply { of }) => drop(undone.remove(of)),
            Entry::Mark(_) | Entry::Message(_) | Entry::Recorded(_) | Entry::Note { .. } => {}
        }
    }
    undone
}

/// Who wrote the summary of a compaction.
fn summarizer(record: &Record) -> String {
    record.change().and_then(|change| change.summarizer.clone()).unwrap_or_else(|| "embedded".to_owned())
}

fn key(stored: &StoredSession, item: &CostItem, by: CostKey) -> String {
    let or_dash = |text: &str| if text.is_empty() { "–".to_owned() } else { text.to_owned() };
    match by {
        CostKey::Session => stored.listed.session.to_string(),
        CostKey::Agent => or_dash(&stored.listed.about.agent),
        CostKey::Model => or_dash(&item.model),
        CostKey::Day => time_text(item.time_ms).split(' ').next().unwrap_or_default().to_owned(),
    }
}

impl CostLine {
    fn add(&mut self, item: &CostItem) {
        match &item.part {
            CostPart::Call { usage, dollars, saved, saved_dollars, is_estimated, observed } => {
                self.primary.calls += 1;
                self.primary.estimated += u64::from(*is_estimated);
                self.observed_tokens = self.observed_tokens.saturating_add(*observed);
                self.primary.input = self.primary.input.saturating_add(usage.prompt);
                self.primary.cache_read = self.primary.cache_read.saturating_add(usage.cache_read);
                self.primary.output = self.primary.output.saturating_add(usage.output);
                self.primary.dollars.add(*dollars);
                self.saved.tokens = self.saved.tokens.saturating_add(*saved);
                self.saved.dollars_cached.add(*saved_dollars);
            }
            CostPart::Observation => self.observed += 1,
            CostPart::Pass { record } => {
                self.compactions += 1;
                self.compactor.calls += u64::from(record.spent.calls);
                self.compactor.input = self.compactor.input.saturating_add(record.spent.input.0);
                self.compactor.cache_read =
                    self.compactor.cache_read.saturating_add(record.spent.cache_read.0);
                self.compactor.output = self.compactor.output.saturating_add(record.spent.output.0);
                self.compactor.dollars.add(record.cost.0);
            }
        }
    }
}

fn page(listing: &CostListing) -> Page {
    let mut table = Table::new(&[
        Cell::left(listing.by),
        Cell::left("who"),
        Cell::right("calls"),
        Cell::right("tokens in"),
        Cell::right("out"),
        Cell::right("dollars"),
        Cell::right("saved tokens").from(80),
        Cell::right("saved dollars").from(100),
    ]);
    for line in listing.lines.iter().chain([&listing.total]) {
        let money = |price: Price| price.0.map_or_else(|| "–".to_owned(), |price| format!("{price:.4}"));
        let cells = |key: &str, who: &str, spent: &Spending, saved: [String; 2]| {
            let [saved_tokens, saved_dollars] = saved;
            [
                key.to_owned(),
                who.to_owned(),
                grouped(spent.calls),
                grouped(spent.input),
                grouped(spent.output),
                money(spent.dollars),
                saved_tokens,
                saved_dollars,
            ]
        };
        let saved = [grouped(line.saved.tokens), money(line.saved.dollars_cached)];
        table.add(cells(&line.key, "primary", &line.primary, saved), false);
        // The embedded summariser calls nobody.
        if line.compactor.calls > 0 || line.compactor.dollars.0 != Some(0.0) {
            table.add(cells("", "compactor", &line.compactor, [String::new(), String::new()]), false);
        }
    }
    let mut page = Page::default();
    table.write(&mut page, Paint::stdout());
    writeln!(
        page,
        "\nat list prices, – where one is not known; saved is what calls did not send after compactions"
    );
    let CostLine { primary, observed, observed_tokens, .. } = &listing.total;
    if primary.estimated > 0 {
        writeln!(
            page,
            "{} of the calls by our own count: their provider said nothing",
            grouped(primary.estimated)
        );
    }
    if *observed > 0 {
        let (observed, tokens) = (grouped(*observed), grouped(*observed_tokens));
        writeln!(
            page,
            "only observed, not done: {observed} compactions, which would have saved {tokens} tokens"
        );
    }
    page
}
