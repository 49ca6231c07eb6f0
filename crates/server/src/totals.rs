//! What came of all requests since the server started: how many tokens they would have had without us, how many they
//! had, and what that saved and cost. Figures are our estimates of the provider's count, by model.

use epitome_core::{Dollars, Tokens};
use epitome_tokens::{Catalog, Usage};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Names of models come from clients. So many are told apart; others are counted together.
const MODELS_MAX: usize = 64;
/// The name that those go by.
const OTHER_MODELS: &str = "others";

/// Sums over requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct RequestTotals {
    /// Requests of conversations that were sent on.
    pub requests: u64,
    /// Contexts that were rebuilt, those put to use again included.
    pub compactions: u64,
    /// Tokens that their prompts would have had.
    pub tokens_without: u64,
    /// Tokens that they had.
    pub tokens_sent: u64,
    /// The difference at the price of tokens read from the provider's cache, the lowest there is, less what it takes to
    /// write each rebuilt context to that cache.
    pub dollars_saved: Dollars,
    /// What summaries cost.
    pub dollars_spent: Dollars,
}

/// Those of one model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelTotals {
    /// Its name, as clients write it.
    pub model: String,
    #[serde(flatten)]
    totals: RequestTotals,
}

/// Everything that was counted.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ServerTotals {
    /// How long the server has run.
    pub seconds: u64,
    /// Over all models.
    #[serde(flatten)]
    pub all: RequestTotals,
    /// Requests that went out as they came, because they are none that we change.
    pub passed_through: u64,
    /// Model by model.
    pub models: Vec<ModelTotals>,
}

/// Counts.
pub(crate) struct Counter {
    since: Instant,
    table: Mutex<CounterTable>,
}

#[derive(Default)]
struct CounterTable {
    models: BTreeMap<String, RequestTotals>,
    passed_through: u64,
}

/// What one request has, and would have without us.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RequestSize {
    pub(crate) without: Tokens,
    pub(crate) sent: Tokens,
}

impl Default for Counter {
    fn default() -> Self {
        Self { since: Instant::now(), table: Mutex::default() }
    }
}

impl Counter {
    /// Adds a request that is sent.
    pub(crate) fn sent(&self, catalog: &Catalog, model: &str, size: RequestSize) {
        self.with(model, |totals| {
            totals.requests += 1;
            totals.add(catalog, model, size);
        });
    }

    /// Puts what is sent in the place of what the provider refused: that cost nothing.
    pub(crate) fn sent_again(&self, catalog: &Catalog, model: &str, refused: RequestSize, size: RequestSize) {
        let more = RequestSize { without: refused.sent, sent: size.sent };
        self.with(model, |totals| {
            totals.tokens_without = totals.tokens_without.saturating_sub(refused.sent.0);
            totals.tokens_sent = totals.tokens_sent.saturating_sub(refused.sent.0);
            totals.add(catalog, model, more);
        });
    }

    /// Adds a context that was rebuilt to `after` tokens, and what that cost.
    pub(crate) fn rebuilt(&self, catalog: &Catalog, model: &str, after: Tokens, cost: Dollars) {
        let Tokens(prompt) = after;
        let written = price(catalog, model, Usage { prompt, cache_write: prompt, ..Usage::default() });
        let read = price(catalog, model, Usage { prompt, cache_read: prompt, ..Usage::default() });
        self.with(model, |totals| {
            totals.compactions += 1;
            totals.dollars_saved += difference(read, written);
            totals.dollars_spent += cost;
        });
    }

    /// Adds a request that is none of ours to change.
    pub(crate) fn passed_through(&self) {
        self.table().passed_through += 1;
    }

    /// All of it, by now.
    pub(crate) fn totals(&self) -> ServerTotals {
        let table = self.table();
        let mut all = RequestTotals::default();
        table.models.values().for_each(|one| all.merge(one));
        let models =
            table.models.iter().map(|(model, totals)| ModelTotals { model: model.clone(), totals: *totals });
        ServerTotals {
            seconds: self.since.elapsed().as_secs(),
            all,
            passed_through: table.passed_through,
            models: models.collect(),
        }
    }

    fn with(&self, model: &str, act: impl FnOnce(&mut RequestTotals)) {
        let mut table = self.table();
        let is_known = table.models.contains_key(model) || table.models.len() < MODELS_MAX;
        act(table.models.entry(if is_known { model } else { OTHER_MODELS }.to_owned()).or_default());
    }

    fn table(&self) -> MutexGuard<'_, CounterTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RequestTotals {
    fn add(&mut self, catalog: &Catalog, model: &str, RequestSize { without, sent }: RequestSize) {
        let read =
            |Tokens(prompt)| price(catalog, model, Usage { prompt, cache_read: prompt, ..Usage::default() });
        self.tokens_without = self.tokens_without.saturating_add(without.0);
        self.tokens_sent = self.tokens_sent.saturating_add(sent.0);
        // A model without a price has saved nothing of unknown price as long as nothing was saved.
        if without != sent {
            self.dollars_saved += difference(read(without), read(sent));
        }
    }

    fn merge(&mut self, other: &Self) {
        self.requests += other.requests;
        self.compactions += other.compactions;
        self.tokens_without = self.tokens_without.saturating_add(other.tokens_without);
        self.tokens_sent = self.tokens_sent.saturating_add(other.tokens_sent);
        self.dollars_saved += other.dollars_saved;
        self.dollars_spent += other.dollars_spent;
    }

    /// Tokens that were not sent.
    pub fn tokens_saved(&self) -> Tokens {
        Tokens(self.tokens_without.saturating_sub(self.tokens_sent))
    }
}

/// One line for whoever stops the server.
impl fmt::Display for ServerTotals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RequestTotals {
            requests,
            compactions,
            tokens_without,
            tokens_sent,
            dollars_saved,
            dollars_spent,
        } = self.all;
        let plural = |count: u64| if count == 1 { "" } else { "s" };
        write!(
            f,
            "{} request{}, {} compaction{}; {} tokens sent instead of {}, {} fewer; saved ",
            Tokens(requests),
            plural(requests),
            Tokens(compactions),
            plural(compactions),
            Tokens(tokens_sent),
            Tokens(tokens_without),
            self.all.tokens_saved(),
        )?;
        match dollars_saved {
            Dollars(Some(saved)) => write!(f, "about {}", dollars_text(saved))?,
            Dollars(None) => f.write_str("an unknown amount (no price for some model)")?,
        }
        match dollars_spent {
            Dollars(Some(spent)) => write!(f, ", spent {} on summaries", dollars_text(spent))?,
            Dollars(None) => f.write_str(", spent an unknown amount on summaries")?,
        }
        if self.passed_through > 0 {
            write!(f, "; {} passed through", Tokens(self.passed_through))?;
        }
        Ok(())
    }
}

/// Cents, and what is below a cent where there is no more.
fn dollars_text(dollars: f64) -> String {
    let sign = if dollars < 0.0 { "-" } else { "" };
    let places = if dollars != 0.0 && dollars.abs() < 0.1 { 4 } else { 2 };
    format!("{sign}${:.places$}", dollars.abs())
}

fn price(catalog: &Catalog, model: &str, usage: Usage) -> Dollars {
    Dollars(catalog.find(model).prices.map(|prices| prices.value.cost(&usage)))
}

fn difference(one: Dollars, other: Dollars) -> Dollars {
    Dollars(one.0.zip(other.0).map(|(one, other)| one - other))
}

#[cfg(test)]
mod tests {
    use super::{Counter, RequestSize, RequestTotals};
    use epitome_core::{Dollars, Tokens};
    use epitome_tokens::Catalog;

    fn size(without: u64, sent: u64) -> RequestSize {
        RequestSize { without: Tokens(without), sent: Tokens(sent) }
    }

    #[test]
    fn what_was_not_sent_is_saved_at_the_price_of_the_cache_less_what_rebuilding_takes() {
        let (catalog, counter) = (Catalog::built_in(), Counter::default());
        let model = "claude-sonnet-4-5";
        counter.sent(catalog, model, size(10_000, 10_000));
        counter.rebuilt(catalog, model, Tokens(20_000), Dollars(Some(0.01)));
        counter.sent(catalog, model, size(120_000, 20_000));
        let told = counter.totals();
        // 100,000 tokens at $0.30 a million, less 20,000 at the $3.45 between writing and reading them.
        let saved = told.all.dollars_saved.0.expect("it has a price");
        assert!((saved - (0.03 - 0.069)).abs() < 1e-9, "{saved}");
        let expected = RequestTotals {
            requests: 2,
            compactions: 1,
            tokens_without: 130_000,
            tokens_sent: 30_000,
            dollars_saved: Dollars(Some(saved)),
            dollars_spent: Dollars(Some(0.01)),
        };
        assert_eq!(told.all, expected);
    }

    #[test]
    fn a_request_that_was_refused_counts_once() {
        let (catalog, counter) = (Catalog::built_in(), Counter::default());
        counter.sent(catalog, "m", size(50_000, 50_000));
        counter.sent_again(catalog, "m", size(50_000, 50_000), size(50_000, 8_000));
        let all = counter.totals().all;
        assert_eq!((all.requests, all.tokens_without, all.tokens_sent), (1, 50_000, 8_000));
        assert_eq!(all.dollars_saved, Dollars::UNKNOWN, "nobody knows what `m` costs");
    }

    #[test]
    fn a_line_tells_them() {
        let counter = Counter::default();
        counter.sent(Catalog::built_in(), "m", size(5_000, 5_000));
        counter.passed_through();
        assert_eq!(
            counter.totals().to_string(),
            "1 request, 0 compactions; 5,000 tokens sent instead of 5,000, 0 fewer; saved about $0.00, spent $0.00 on summaries; 1 passed through"
        );
    }
}
