//! Telling formats apart: every file of the corpus, and small ones of each shape.

use crate::corpus::files;
use epitome_wire::{Format, detect};

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
fn small_files_of_every_shape_are_recognised() {
    let samples: [(&str, Format); 24] = [
        (r#"{"epitome":"native","version":1,"from":"native"}"#, Format::Native),
        (r#"{"type":"session","id":"x","cwd":"/"}"#, Format::Pi),
        (r#"{"timestamp":"t","type":"session_meta","payload":{}}"#, Format::Codex),
        (r#"{"type":"session.start","data":{},"id":"x"}"#, Format::CopilotCli),
        (r#"{"type":"summary","summary":"s","leafUuid":"x"}"#, Format::ClaudeCode),
        ("oops\n{\"type\":\"user\",\"uuid\":\"x\",\"message\":{}}\n", Format::ClaudeCode),
        ("{\"broken\":\n{\"type\":\"user\",\"uuid\":\"x\",\"message\":{}}\n", Format::ClaudeCode),
        ("\u{feff}{\"sessionId\":\"x\",\"projectHash\":\"h\",\"messages\":[]}", Format::GeminiCli),
        (r#"{"info":{"id":"ses"},"messages":[]}"#, Format::Opencode),
        (r#"{"values":{"messages":[]}}"#, Format::Langgraph),
        (r#"{"history":[{"role":"system","content":""}]}"#, Format::SweAgent),
        (r#"{"history":[{"source":"agent","action":"run"}]}"#, Format::Openhands),
        (r#"[{"role":"user","content":"hi"}]"#, Format::OpenaiChat),
        (
            "{\"role\":\"user\",\"content\":\"hi\"}\n{\"role\":\"assistant\",\"content\":\"ho\"}\n",
            Format::OpenaiChat,
        ),
        (r#"[[{"role":"user","content":"hi"}]]"#, Format::OpenaiChat),
        (r#"{"messages":[{"role":"user","content":"hi"}]}"#, Format::OpenaiChat),
        (r#"{"model":"claude-x","messages":[{"role":"user","content":"hi"}]}"#, Format::Anthropic),
        (r#"{"system":"s","messages":[{"role":"user","content":"hi"}]}"#, Format::Anthropic),
        (
            r#"[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use"}]}]"#,
            Format::Anthropic,
        ),
        (r#"{"model":"m","input":"hi"}"#, Format::OpenaiResponses),
        (
            r#"[{"role":"user","content":"hi"},{"type":"function_call","call_id":"c"}]"#,
            Format::OpenaiResponses,
        ),
        (r#"{"object":"response","output":[]}"#, Format::OpenaiResponses),
        (
            r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"x"}]}"#,
            Format::OpenaiResponses,
        ),
        (r#"[{"traj":[{"role":"tool","content":"x"}]}]"#, Format::OpenaiChat),
    ];
    for (json, format) in samples {
        assert_eq!(detected(json.as_bytes()), format.name(), "{json}");
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
