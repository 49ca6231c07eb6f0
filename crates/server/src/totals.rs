//! What came of all requests since the server started: how many tokens they would have had without us, how many they
//! had, and what that saved and cost. Figures are our estimates of the provider's count, by model.

use epitome_core::{Dollars, Tokens};
use epitome_tokens::{CacheUse, Catalog, ReducedRequest};
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
    /// Requests of conversations that a provider took.
    pub requests: u64,
    /// Those that it refused or did not answer.
    pub failed: u64,
    /// Contexts that were rebuilt, those put to use again included.
    pub compactions: u64,
    /// Tokens that the prompts taken would have had, each at most its window: no provider takes more.
    pub tokens_without: u64,
    /// Tokens that they had.
    pub tokens_sent: u64,
    /// The difference at the price of the prompt. Where the provider says that it uses its cache, at the price of
    /// tokens read from that, less what it takes to write each rebuilt context to it.
    pub dollars_saved: Dollars,
    /// What summaries cost.
    pub dollars_spent: Dollars,
    /// Requests taken of models that have no price: the sum of all models is without them.
    pub unpriced: u64,
    /// Replies whose provider did not say what the call took: our own count stands for it.
    pub unreported: u64,
    /// Compactions that would have been made, where the server only observes.
    pub observed: u64,
    /// Tokens that the prompts taken would have had then; what they had where it does not only observe.
    pub tokens_observed: u64,
}

/// Those of one model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelTotals {
    /// Its name, as clients write it.
    pub model: String,
    #[serde(flatten)]
    pub(crate) totals: RequestTotals,
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

/// Counts what goes through, model by model.
pub(crate) struct TrafficCounter {
    since: Instant,
    table: Mutex<TrafficTable>,
}

#[derive(Default)]
struct TrafficTable {
    models: BTreeMap<String, RequestTotals>,
    passed_through: u64,
}

/// What one request has, and would have without us.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RequestSize {
    /// As its client sent it.
    pub(crate) whole: Tokens,
    /// The same, at most its window: no provider takes more.
    pub(crate) without: Tokens,
    pub(crate) sent: Tokens,
    /// What it would have, had all been done that was only observed.
    pub(crate) observed: Tokens,
}

/// What is known of a request once the provider has taken it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TakenRequest {
    pub(crate) size: RequestSize,
    /// The context that was rebuilt for it, where one was.
    pub(crate) rebuilt: Tokens,
    pub(crate) cache: CacheUse,
    /// Whether the provider said what it took.
    pub(crate) is_reported: bool,
}

impl Default for TrafficCounter {
    fn default() -> Self {
        Self { since: Instant::now(), table: Mutex::default() }
    }
}

impl TrafficCounter {
    /// Adds a request that a provider took.
    pub(crate) fn taken(&self, catalog: &Catalog, model: &str, request: TakenRequest) {
        let TakenRequest { size: RequestSize { without, sent, observed, .. }, is_reported, .. } = request;
        let saved = saved(catalog, model, &request);
        self.with(model, |totals| {
            totals.requests += 1;
            totals.unpriced += u64::from(catalog.find(model).prices.is_none());
            totals.tokens_without = totals.tokens_without.saturating_add(without.0);
            totals.tokens_sent = totals.tokens_sent.saturating_add(sent.0);
            totals.tokens_observed = totals.tokens_observed.saturating_add(observed.0);
            totals.unreported += u64::from(!is_reported);
            totals.dollars_saved += saved;
        });
    }

    /// Adds a request that no provider took.
    pub(crate) fn failed(&self, model: &str) {
        self.with(model, |totals| totals.failed += 1);
    }

    /// Adds a context that was rebuilt, and what that cost.
    pub(crate) fn rebuilt(&self, model: &str, cost: Dollars) {
        self.with(model, |totals| {
            totals.compactions += 1;
            totals.dollars_spent += cost;
        });
    }

    /// Adds a context that would have been rebuilt.
    pub(crate) fn observed(&self, model: &str) {
        self.with(model, |totals| totals.observed += 1);
    }

    /// Adds a request that is none of ours to change.
    pub(crate) fn passed_through(&self) {
        self.table().passed_through += 1;
    }

    /// All of it, by now.
    pub(crate) fn totals(&self) -> ServerTotals {
        let table = self.table();
        let all = table.models.values().copied().reduce(RequestTotals::merge).unwrap_or_default();
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

    fn table(&self) -> MutexGuard<'_, TrafficTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RequestTotals {
    /// Both together; of dollars, what is known.
    fn merge(self, other: Self) -> Self {
        Self {
            requests: self.requests + other.requests,
            failed: self.failed + other.failed,
            compactions: self.compactions + other.compactions,
            tokens_without: self.tokens_without.saturating_add(other.tokens_without),
            tokens_sent: self.tokens_sent.saturating_add(other.tokens_sent),
            dollars_saved: known_sum(self.dollars_saved, other.dollars_saved),
            dollars_spent: known_sum(self.dollars_spent, other.dollars_spent),
            unpriced: self.unpriced + other.unpriced,
            unreported: self.unreported + other.unreported,
            observed: self.observed + other.observed,
            tokens_observed: self.tokens_observed.saturating_add(other.tokens_observed),
        }
    }

    /// Tokens that were not sent.
    pub fn tokens_saved(&self) -> Tokens {
        Tokens(self.tokens_without.saturating_sub(self.tokens_sent))
    }
}

/// One line for whoever stops the server.
impl fmt::Display for ServerTotals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RequestTotals { requests, failed, compactions, tokens_without, tokens_sent, .. } = self.all;
        if requests + failed + compactions + self.passed_through == 0 {
            return f.write_str("no requests");
        }
        let plural = |count: u64| if count == 1 { "" } else { "s" };
        write!(
            f,
            "{} request{}, {} compaction{}; {} tokens sent instead of {}, {} fewer; ",
            Tokens(requests),
            plural(requests),
            Tokens(compactions),
            plural(compactions),
            Tokens(tokens_sent),
            Tokens(tokens_without),
            self.all.tokens_saved(),
        )?;
        match self.all.dollars_saved {
            // A new head is written to the cache at once, and pays with the requests that read it.
            Dollars(Some(saved)) if saved < 0.0 => write!(
                f,
                "about {} dearer so far, what was written to the cache is yet to pay",
                dollars_text(-saved)
            )?,
            Dollars(Some(saved)) => write!(f, "saved about {}", dollars_text(saved))?,
            Dollars(None) => f.write_str("saved an unknown amount")?,
        }
        if self.all.unpriced > 0 {
            write!(f, " (no price is known for {} of them)", Tokens(self.all.unpriced))?;
        }
        match self.all.dollars_spent {
            Dollars(Some(spent)) => write!(f, ", spent {} on summaries", dollars_text(spent))?,
            Dollars(None) => f.write_str(", spent an unknown amount on summaries")?,
        }
        if self.all.observed > 0 {
            write!(
                f,
                "; only observed: {} compaction{} would have been made, and {} tokens sent instead of {}",
                Tokens(self.all.observed),
                plural(self.all.observed),
                Tokens(self.all.tokens_observed),
                Tokens(tokens_sent),
            )?;
        }
        if failed > 0 {
            write!(f, "; {} failed", Tokens(failed))?;
        }
        if self.passed_through > 0 {
            write!(f, "; {} passed through", Tokens(self.passed_through))?;
        }
        Ok(())
    }
}

/// Cents, and what is below a cent where there is no more.
fn dollars_text(dollars: f64) -> String {
    let places = if dollars != 0.0 && dollars < 0.1 { 4 } else { 2 };
    format!("${dollars:.places$}")
}

/// What a request has saved.
fn saved(catalog: &Catalog, model: &str, request: &TakenRequest) -> Dollars {
    let TakenRequest { size: RequestSize { without, sent, .. }, rebuilt, cache, is_reported: _ } = *request;
    let request = ReducedRequest { without: without.0, sent: sent.0, rebuilt: rebuilt.0, cache };
    Dollars(request.dollars_saved(catalog.find(model).prices.map(|prices| prices.value).as_ref()))
}

fn known_sum(one: Dollars, other: Dollars) -> Dollars {
    match (one, other) {
        (Dollars(Some(one)), Dollars(Some(other))) => Dollars(Some(one + other)),
        (known @ Dollars(Some(_)), Dollars(None)) => known,
        (Dollars(None), other) => other,
    }
}

#[cfg(test)]
mod tests;
