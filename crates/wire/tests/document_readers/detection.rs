//! Telling formats apart: every file of the corpus, and one too large to be looked at whole.

use crate::corpus::files;
use epitome_wire::detect;

fn detected(bytes: &[u8]) -> String {
    match detect(&bytes[..bytes.len().min(512)], &bytes.to_vec()) {
        Ok(format) => format.name().into(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn every_file_of_the_corpus_is_recognised() {
    let folders = [
        "claude-code",
        "codex",
        "copilot-cli",
        "gemini-cli",
        "langgraph",
        "mini-swe-agent",
        "openai-chat",
        "opencode",
        "openhands",
        "pi",
        "swe-agent",
    ];
    for folder in folders {
        for (name, bytes) in files(folder) {
            assert_eq!(detected(&bytes), folder, "{name}");
        }
    }
}

#[test]
fn a_document_larger_than_what_is_looked_at_is_judged_by_its_beginning() {
    let long = "x".repeat(6 << 20);
    let export =
        format!(r#"{{"info":{{"id":"ses"}},"messages":[{{"info":{{"role":"user"}},"parts":[]}},"{long}"]}}"#);
    let line = format!(r#"{{"type":"user","uuid":"x","message":{{"content":"{long}"}}}}"#);
    assert_eq!([detected(export.as_bytes()), detected(line.as_bytes())], ["opencode", "claude-code"]);
}
