//! `prune.when = "compaction"`: what a compaction keeps is pruned with it.

use crate::sandbox::{Sandbox, reading};
use serde_json::Value;

fn pruned(when: &str) -> (usize, Value) {
    let sandbox = Sandbox::with(reading("gpt-5", 60));
    let set = format!("prune.when={when}");
    let args = ["compact", "session", "--window", "64000", "--json", "--set", &set];
    let more =
        ["--set", "prune.protect=1%", "--set", "prune.saving_min=0", "--set", "keep.newest=messages=40"];
    let record = sandbox.json(&[&args[..], &more].concat());
    (record["pruned"].as_array().expect("a list of pointers").len(), record["outcome"].clone())
}

#[test]
fn what_a_compaction_keeps_is_pruned_where_settings_say_so() {
    assert_eq!(pruned("never"), (0, "compacted".into()));
    let (count, outcome) = pruned("compaction");
    assert!(count > 0 && outcome == "compacted", "{count} pruned, {outcome}");
}
