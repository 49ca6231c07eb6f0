//! The corpus: each transcript whose lines hold a provider's messages, in that provider's protocol.

use serde_json::Value;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folders of the corpus whose formats hold messages of a protocol.
const HELD: [(&str, &str); 4] = [
    ("claude-code", "anthropic"),
    ("codex", "openai-responses"),
    ("mini-swe-agent", "openai-chat"),
    ("swe-agent", "openai-chat"),
];

fn packed(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus").join(folder);
    let all = std::fs::read_dir(&folder).expect("it is part of the corpus");
    let all = all.map(|entry| entry.expect("it can be listed").path());
    let mut found: Vec<PathBuf> =
        all.filter(|path| path.extension().is_some_and(|end| end == "zst")).collect();
    found.sort();
    assert!(!found.is_empty(), "{}", folder.display());
    found
}

/// What `context` lists for a file in a protocol.
fn listed(path: &Path, protocol: &str) -> Vec<Value> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_epitome"));
    let ran = command.args(["context", "--json", "--to", protocol]).arg(path).output().expect("it runs");
    let told = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(ran.status.success(), "{}: {told}", path.display());
    let told: Option<Value> = told.lines().next().map(|line| serde_json::from_str(line).expect("a list"));
    told.map(|told| told["substitutes"].as_array().expect("a list").clone()).unwrap_or_default()
}

/// Some pictures of the corpus are redacted, and what holds one is refused and written anew; marks for the provider's
/// cache are the sender's to place, and SWE-agent keeps its own.
#[test]
fn no_field_of_a_message_is_lost_in_its_own_protocol_unless_it_is_refused() {
    for (folder, protocol) in HELD {
        for path in packed(folder) {
            let listed = listed(&path, protocol);
            let said: HashSet<&str> = listed
                .iter()
                .filter(|one| one["words"].is_string())
                .filter_map(|one| one["message"].as_str())
                .collect();
            let is_lost = |one: &&Value| {
                one["kind"]
                    .as_str()
                    .is_some_and(|kind| kind.starts_with("field ") && kind != "field cache_control")
            };
            for field in listed.iter().filter(is_lost) {
                let is_refused = field["message"].as_str().is_some_and(|message| said.contains(message));
                assert!(is_refused, "{}: {field}", path.display());
            }
        }
    }
}
