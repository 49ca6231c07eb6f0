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

/// The session without what the provider said of its calls: then nothing is known of what its agent adds, and all of the window
/// is there for the history.
fn without_usage(session: &[u8]) -> Vec<u8> {
    let lines = session.split_inclusive(|byte| *byte == b'\n');
    let told = br#""type":"token_count""#;
    lines.filter(|line| !line.windows(told.len()).any(|part| part == told)).flatten().copied().collect()
}

#[test]
fn the_embedded_summariser_does_not_fill_a_context_up_to_its_trigger() {
    let sandbox = Sandbox::with(without_usage(&corpus(CODEX)));
    // At 85 %: what kaged keeps leaves room for a summary, though for no long one.
    let made = record(&sandbox, "58000");
    let after = made["tokens_after"].as_u64().expect("a number");
    assert!((45_000..49_300).contains(&after) && !notes(&made).contains("is compacted at"), "{made}");
    let tight = record(&sandbox, "52000");
    let after = tight["tokens_after"].as_u64().expect("a number");
    assert!(after > 44_200, "{tight}");
    assert!(notes(&tight).contains("and a request is compacted at 44,"), "{tight}");
}
