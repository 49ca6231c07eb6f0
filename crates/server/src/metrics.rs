//! The totals in the text format of Prometheus: sums over all models, and under names of their own those of each, so
//! that nobody who adds up a series counts a request twice.

use crate::totals::{RequestTotals, ServerTotals};
use epitome_core::Dollars;

/// One sum of requests.
struct Series {
    name: &'static str,
    kind: &'static str,
    help: &'static str,
    value: fn(&RequestTotals) -> String,
}

const SERIES: [Series; 11] = [
    counter("requests_total", "requests of conversations that a provider took", |all| {
        all.requests.to_string()
    }),
    counter("failed_total", "requests that a provider refused or did not answer", |all| {
        all.failed.to_string()
    }),
    counter("compactions_total", "contexts that were rebuilt", |all| all.compactions.to_string()),
    counter("tokens_without_total", "tokens that prompts would have had with nothing done", |all| {
        all.tokens_without.to_string()
    }),
    counter("tokens_sent_total", "tokens that they had", |all| all.tokens_sent.to_string()),
    counter("unpriced_total", "requests of models without a price", |all| all.unpriced.to_string()),
    counter("unreported_total", "requests whose provider did not say what they took", |all| {
        all.unreported.to_string()
    }),
    counter(
        "observed_total",
        "contexts that would have been rebuilt, of a server that only observes",
        |all| all.observed.to_string(),
    ),
    counter("tokens_observed_total", "tokens that prompts would have had then", |all| {
        all.tokens_observed.to_string()
    }),
    gauge("dollars_saved", "about what that saved, of models with a price", |all| dollars(all.dollars_saved)),
    gauge("dollars_spent", "what summaries cost", |all| dollars(all.dollars_spent)),
];

const fn counter(name: &'static str, help: &'static str, value: fn(&RequestTotals) -> String) -> Series {
    Series { name, kind: "counter", help, value }
}

const fn gauge(name: &'static str, help: &'static str, value: fn(&RequestTotals) -> String) -> Series {
    Series { name, kind: "gauge", help, value }
}

fn dollars(Dollars(dollars): Dollars) -> String {
    dollars.map_or_else(|| "NaN".to_owned(), |dollars| dollars.to_string())
}

/// All of it.
pub(crate) fn text(totals: &ServerTotals) -> String {
    let sums = SERIES.iter().map(|Series { name, kind, help, value }| {
        family(name, kind, help, &[(String::new(), value(&totals.all))])
    });
    let passed = [(String::new(), totals.passed_through.to_string())];
    let passed = family("passed_through_total", "counter", "requests that went out as they came", &passed);
    let by_model = SERIES.iter().map(|Series { name, kind, help, value }| {
        let rows = totals.models.iter().map(|model| (label(&model.model), value(&model.totals)));
        family(&format!("model_{name}"), kind, &format!("{help}, by model"), &rows.collect::<Vec<_>>())
    });
    sums.chain([passed]).chain(by_model).collect()
}

/// One name with its values, each behind its labels.
fn family(name: &str, kind: &str, help: &str, rows: &[(String, String)]) -> String {
    let head = format!("# HELP epitome_{name} {help}\n# TYPE epitome_{name} {kind}\n");
    let rows = rows.iter().map(|(labels, value)| format!("epitome_{name}{labels} {value}\n"));
    std::iter::once(head).chain(rows).collect()
}

/// The label of a model, whose name a client wrote.
fn label(model: &str) -> String {
    let name = model.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n");
    format!("{{model=\"{name}\"}}")
}

#[cfg(test)]
mod tests {
    use super::label;

    #[test]
    fn a_name_cannot_leave_its_label() {
        assert_eq!(label("a\"b\\c\nd"), r#"{model="a\"b\\c\nd"}"#);
    }
}
