//! What a compaction leaves is not due at once where a shorter summary can help, and where it cannot that is said.

use crate::sandbox::{CODEX, Sandbox, corpus};
use serde_json::Value;

/// The record of a compaction of a session of Codex, as kaged does it in such a window.
fn record(sandbox: &Sandbox, window: &str) -> Value {
    sandbox.json(&["compact", "session", "--preset", "kaged", "--window", window, "--dry-run", "--json"])
}

fn notes(record: &Value) -> String {
    record["notes"].to_string()
}

#[test]
fn the_embedded_summariser_does_not_fill_a_context_up_to_its_trigger() {
    let sandbox = Sandbox::with(corpus(CODEX));
    // At 85 %: what kaged keeps leaves room for a summary, though for no long one.
    let made = record(&sandbox, "64000");
    let after = made["tokens_after"].as_u64().expect("a number");
    assert!((50_000..54_400).contains(&after) && !notes(&made).contains("is compacted at"), "{made}");
    let tight = record(&sandbox, "58000");
    let after = tight["tokens_after"].as_u64().expect("a number");
    assert!(after > 49_300, "{tight}");
    assert!(notes(&tight).contains("and a request is compacted at 49,"), "{tight}");
}
