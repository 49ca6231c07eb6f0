//! SWE-agent's demonstrations (`*.demo.yaml`), read as the trajectory they were made from: a list of messages in YAML, each
//! marked as a demonstration, since nothing of it was said or done in a conversation of its own.

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use std::path::Path;

/// How the names of demonstrations end.
const ENDINGS: [&str; 2] = [".demo.yaml", ".demo.yml"];

/// A demonstration is written by hand or made from a run of a few dozen steps.
const DEMO_BYTES_MAX: u64 = 64 << 20;

/// Whether a file is a demonstration, by its name: a list in YAML may be anything.
pub fn is_demo(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// The demonstration at `path` as a trajectory.
pub fn trajectory(path: &Path) -> Result<Vec<u8>> {
    let told = || format!("cannot read {}", path.display());
    let length = std::fs::metadata(path).with_context(told)?.len();
    anyhow::ensure!(
        length <= DEMO_BYTES_MAX,
        "{}: it has more than {DEMO_BYTES_MAX} bytes; name the trajectory it was made from (`.traj`)",
        told()
    );
    let text = std::fs::read_to_string(path).with_context(told)?;
    // `no` is a word here, as SWE-agent's own reader has it.
    let options = serde_saphyr::options! { strict_booleans: true };
    let messages: Vec<Value> = serde_saphyr::from_str_with_options(&text, options)
        .context("it is no list of messages in YAML; make it anew (`sweagent traj-to-demo`)")
        .with_context(told)?;
    let history: Vec<Value> = messages.into_iter().map(marked).collect();
    Ok(serde_json::to_vec(&json!({ "history": history, "trajectory": [] }))?)
}

fn marked(mut message: Value) -> Value {
    if let Value::Object(fields) = &mut message {
        fields.insert("is_demo".to_owned(), true.into());
    }
    message
}
