//! Totals of a few requests.

use super::{RequestSize, RequestTotals, TakenRequest, TrafficCounter};
use epitome_core::{Dollars, Tokens};
use epitome_tokens::{CacheUse, Catalog};

const MODEL: &str = "claude-sonnet-4-5";

fn taken(without: u64, sent: u64) -> TakenRequest {
    let (without, sent) = (Tokens(without), Tokens(sent));
    let size = RequestSize { whole: without, without, sent, observed: sent };
    TakenRequest { size, is_reported: true, ..TakenRequest::default() }
}

fn saved(requests: &[TakenRequest]) -> f64 {
    let counter = TrafficCounter::default();
    requests.iter().for_each(|request| counter.taken(Catalog::built_in(), MODEL, *request));
    counter.totals().all.dollars_saved.0.expect("it has a price")
}

#[test]
fn with_a_cache_what_was_not_sent_is_saved_at_its_price_less_what_rebuilding_takes() {
    let rebuilt = |cache| TakenRequest { rebuilt: Tokens(20_000), cache, ..taken(120_000, 20_000) };
    // 100,000 tokens at $0.30 a million, less 20,000 at the $3.45 between writing and reading them.
    let dollars = saved(&[taken(10_000, 10_000), rebuilt(CacheUse::Charged)]);
    assert!((dollars - (0.03 - 0.069)).abs() < 1e-9, "{dollars}");
    // Where writing costs nothing of its own, that is $2.70.
    let dollars = saved(&[rebuilt(CacheUse::Free)]);
    assert!((dollars - (0.03 - 0.054)).abs() < 1e-9, "{dollars}");
}

#[test]
fn without_a_cache_nothing_is_written_to_one_and_every_token_has_the_price_of_the_prompt() {
    let dollars = saved(&[TakenRequest { rebuilt: Tokens(20_000), ..taken(120_000, 20_000) }]);
    assert!((dollars - 0.3).abs() < 1e-9, "{dollars}");
}

#[test]
fn a_model_without_a_price_is_counted_beside_the_sum_of_the_others() {
    let (catalog, counter) = (Catalog::built_in(), TrafficCounter::default());
    counter.taken(catalog, MODEL, taken(120_000, 20_000));
    counter.taken(catalog, "m", taken(50_000, 8_000));
    counter.failed("m");
    counter.rebuilt(MODEL, Dollars(Some(0.01)));
    counter.rebuilt("m", Dollars::UNKNOWN);
    let totals = counter.totals();
    let dollars = totals.all.dollars_saved.0.expect("one of them has a price");
    assert!((dollars - 0.3).abs() < 1e-9, "{dollars}");
    let expected = RequestTotals {
        requests: 2,
        failed: 1,
        compactions: 2,
        tokens_without: 170_000,
        tokens_sent: 28_000,
        dollars_saved: Dollars(Some(dollars)),
        dollars_spent: Dollars(Some(0.01)),
        unpriced: 1,
        unreported: 0,
        observed: 0,
        tokens_observed: 28_000,
    };
    assert_eq!(totals.all, expected);
    assert_eq!(totals.models[1].totals.dollars_saved, Dollars::UNKNOWN);
    assert_eq!(
        totals.to_string(),
        "2 requests, 2 compactions; 28,000 tokens sent instead of 170,000, 142,000 fewer; saved about $0.30 (no price is known for 1 of them), spent $0.0100 on summaries; 1 failed"
    );
}

#[test]
fn a_line_tells_them() {
    let counter = TrafficCounter::default();
    assert_eq!(counter.totals().to_string(), "no requests");
    counter.taken(Catalog::built_in(), MODEL, taken(5_000, 5_000));
    counter.passed_through();
    assert_eq!(
        counter.totals().to_string(),
        "1 request, 0 compactions; 5,000 tokens sent instead of 5,000, 0 fewer; saved about $0.00, spent $0.00 on summaries; 1 passed through"
    );
}

#[test]
fn what_has_not_paid_yet_is_not_told_as_saved() {
    let counter = TrafficCounter::default();
    let rebuilt =
        TakenRequest { rebuilt: Tokens(20_000), cache: CacheUse::Charged, ..taken(120_000, 20_000) };
    counter.taken(Catalog::built_in(), MODEL, rebuilt);
    assert_eq!(
        counter.totals().to_string(),
        "1 request, 0 compactions; 20,000 tokens sent instead of 120,000, 100,000 fewer; about $0.0390 dearer so far, what was written to the cache is yet to pay, spent $0.00 on summaries"
    );
}
