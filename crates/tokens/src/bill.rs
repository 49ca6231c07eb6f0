//! What a session cost: its calls, summed by day and model, at the catalog's prices. A model without a price leaves a sum
//! without one: half a bill is none.

use crate::catalog::Catalog;
use crate::usage::Usage;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

/// One call of a model.
#[derive(Clone, Copy, Debug)]
pub struct BilledCall<'a> {
    /// The day it was made on, as `2026-01-31`; none where nobody knows.
    pub day: Option<&'a str>,
    /// The model, as the transcript names it; none where it does not.
    pub model: Option<&'a str>,
    /// What it took.
    pub usage: Usage,
}

/// Calls of one model on one day, or of all.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BillLine {
    /// How many.
    pub calls: u64,
    /// What they took together.
    pub usage: Usage,
    /// What they cost; none where the price of a model among them is not known.
    pub dollars: Option<f64>,
}

/// The line of a day and a model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DayLine {
    /// As `2026-01-31`; none where nobody knows.
    pub day: Option<String>,
    /// The model; none where the transcript names none.
    pub model: Option<String>,
    /// What it came to.
    #[serde(flatten)]
    pub line: BillLine,
}

/// What a session cost.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Bill {
    /// By day and model, the oldest day first.
    pub lines: Vec<DayLine>,
    /// All of them.
    pub total: BillLine,
}

impl Bill {
    /// The bill of `calls` at the prices of `catalog`. Cache writes are charged at the five-minute rate.
    pub fn of<'a>(calls: impl IntoIterator<Item = BilledCall<'a>>, catalog: &Catalog) -> Self {
        let mut prices = HashMap::new();
        let mut lines: BTreeMap<(Option<&str>, Option<&str>), BillLine> = BTreeMap::new();
        for BilledCall { day, model, usage } in calls {
            let price =
                prices.entry(model).or_insert_with(|| model.and_then(|name| catalog.find(name).prices));
            let dollars = price.map(|price| price.value.cost(&usage));
            lines.entry((day, model)).or_default().add(&BillLine { calls: 1, usage, dollars });
        }
        let mut total = BillLine::default();
        lines.values().for_each(|line| total.add(line));
        let line = |((day, model), line): ((Option<&str>, Option<&str>), BillLine)| DayLine {
            day: day.map(str::to_owned),
            model: model.map(str::to_owned),
            line,
        };
        Self { lines: lines.into_iter().map(line).collect(), total }
    }
}

impl BillLine {
    fn add(&mut self, other: &Self) {
        let is_first = self.calls == 0;
        self.dollars = match (self.dollars, other.dollars) {
            (None, dollars) if is_first => dollars,
            (Some(one), Some(two)) => Some(one + two),
            (None | Some(_), None) | (None, Some(_)) => None,
        };
        self.calls += other.calls;
        let (sum, more) = (&mut self.usage, &other.usage);
        sum.prompt = sum.prompt.saturating_add(more.prompt);
        sum.output = sum.output.saturating_add(more.output);
        sum.cache_read = sum.cache_read.saturating_add(more.cache_read);
        sum.cache_write = sum.cache_write.saturating_add(more.cache_write);
        sum.reasoning = sum.reasoning.saturating_add(more.reasoning);
    }
}

#[cfg(test)]
mod tests {
    use super::{Bill, BillLine, BilledCall, DayLine};
    use crate::{Catalog, Usage};

    const USAGE: Usage =
        Usage { prompt: 1_000_000, output: 100_000, cache_read: 0, cache_write: 0, reasoning: 0 };

    fn bill(calls: &[(&'static str, &'static str)]) -> Bill {
        let call = |&(day, model): &(&'static str, &'static str)| BilledCall {
            day: Some(day),
            model: Some(model),
            usage: USAGE,
        };
        Bill::of(calls.iter().map(call), Catalog::built_in())
    }

    fn times(calls: u64, dollars: Option<f64>) -> BillLine {
        let usage = Usage { prompt: calls * 1_000_000, output: calls * 100_000, ..USAGE };
        BillLine { calls, usage, dollars }
    }

    #[test]
    fn calls_are_summed_by_day_and_model_the_oldest_day_first() {
        let day = |day: &str, model: &str, line| DayLine {
            day: Some(day.to_owned()),
            model: Some(model.to_owned()),
            line,
        };
        let (opus, haiku) = ("claude-opus-4-5", "claude-haiku-4-5");
        let bill = bill(&[("2026-01-31", opus), ("2026-01-30", haiku), ("2026-01-31", opus)]);
        let lines =
            [day("2026-01-30", haiku, times(1, Some(1.5))), day("2026-01-31", opus, times(2, Some(15.0)))];
        assert_eq!(bill, Bill { lines: lines.into(), total: times(3, Some(16.5)) });
    }

    #[test]
    fn a_price_that_is_not_known_is_no_nought() {
        let known = bill(&[("2026-01-30", "claude-haiku-4-5"), ("2026-01-30", "oracle-9")]);
        assert_eq!(known.total, times(2, None));
        let dollars: Vec<Option<f64>> = known.lines.iter().map(|line| line.line.dollars).collect();
        assert_eq!(dollars, [Some(1.5), None]);
        assert_eq!(Bill::of([], Catalog::built_in()), Bill::default());
    }
}
