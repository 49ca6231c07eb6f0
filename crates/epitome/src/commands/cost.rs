//! `epitome cost`: what stored sessions took, their own calls and those that wrote summaries apart, and what was saved.
//!
//! Calls are those the provider told the usage of, or that were counted by us where it said nothing: by marks in the store, or in the
//! file a session was read from. What was saved is what those calls did not send because of compactions before them; what a server
//! only observed saved nothing, and is told beside it.

mod items;

use super::entries::time_text;
use super::print_json;
use crate::cli::{CostArgs, CostKey};
use crate::draw::{Paint, grouped};
use crate::output::{self, Page};
use crate::stored_session::LoadedSession;
use crate::table::{Cell, Table};
use crate::transcript_file::catalog;
use anyhow::Result;
use items::{CostItem, CostPart, items};
use serde::Serialize;
use std::collections::BTreeMap;

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
    dollars: PriceSum,
}

/// A sum of prices, of which none may be unknown.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(transparent)]
struct PriceSum(Option<f64>);

impl Default for PriceSum {
    fn default() -> Self {
        Self(Some(0.0))
    }
}

impl PriceSum {
    fn add(&mut self, other: Option<f64>) {
        self.0 = self.0.zip(other).map(|(one, other)| one + other);
    }
}

/// What was not sent because of compactions.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct Saving {
    tokens: u64,
    /// What these would have cost, less what rebuilding took: below zero where it has not paid yet.
    dollars: PriceSum,
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
        let stored = match LoadedSession::outline(&open, listed.session) {
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

fn key(stored: &LoadedSession, item: &CostItem, by: CostKey) -> String {
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
                self.saved.dollars.add(*saved_dollars);
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
        let money = |price: PriceSum| price.0.map_or_else(|| "–".to_owned(), |price| format!("{price:.4}"));
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
        let saved = [grouped(line.saved.tokens), money(line.saved.dollars)];
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
