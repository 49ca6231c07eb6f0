//! Small files of every shape: each is recognised, and no two tools claim one, so that among them the order
//! of the table decides nothing.

use super::{DetectSample, detect};
use crate::FORMATS;
use crate::Format::{self, *};
use crate::Protocol::{Anthropic, OpenaiChat, OpenaiResponses};
use crate::document::View;

/// The tools that take a whole text for a file of theirs. Bodies are what no tool claims: many a document is
/// messages and something around them.
fn claims(json: &str) -> Vec<Format> {
    let Ok(value) = View::parse(json) else { return Vec::new() };
    let sample = DetectSample::from(value);
    let claiming = FORMATS.iter().filter(|row| row.format.protocol().is_none() && (row.recognize)(&sample));
    claiming.map(|row| row.format).collect()
}

#[test]
fn small_files_of_every_shape_are_recognised_and_claimed_by_one_tool_at_most() {
    let samples: [(&str, Format); 29] = [
        (r#"{"epitome":"native","version":1,"from":"native"}"#, Native),
        (r#"{"type":"session","id":"x","cwd":"/"}"#, Pi),
        (r#"{"timestamp":"t","type":"session_meta","payload":{}}"#, Codex),
        (r#"{"type":"session.start","data":{},"id":"x"}"#, CopilotCli),
        (r#"{"type":"summary","summary":"s","leafUuid":"x"}"#, ClaudeCode),
        ("oops\n{\"type\":\"user\",\"uuid\":\"x\",\"message\":{}}\n", ClaudeCode),
        ("{\"broken\":\n{\"type\":\"user\",\"uuid\":\"x\",\"message\":{}}\n", ClaudeCode),
        ("\u{feff}{\"sessionId\":\"x\",\"projectHash\":\"h\",\"messages\":[]}", GeminiCli),
        (r#"{"sessionId":"x","projectHash":"h","startTime":"t","kind":"main"}"#, GeminiCli),
        ("{\"sess\n{\"id\":\"a\",\"type\":\"gemini\",\"content\":\"\"}\n", GeminiCli),
        (r#"{"$set":{"messages":[]}}"#, GeminiCli),
        (r#"{"uuid":"a","sessionId":"s","type":"user","message":{"role":"user","parts":[]}}"#, QwenCode),
        (r#"{"uuid":"a","sessionId":"s","type":"system","subtype":"x","systemPayload":{}}"#, QwenCode),
        (r#"{"info":{"id":"ses"},"messages":[]}"#, Opencode),
        (r#"{"values":{"messages":[]}}"#, Langgraph),
        (r#"{"history":[{"role":"system","content":""}]}"#, SweAgent),
        (r#"{"history":[{"source":"agent","action":"run"}]}"#, Openhands),
        (r#"[{"role":"user","content":"hi"}]"#, Body(OpenaiChat)),
        (
            "{\"role\":\"user\",\"content\":\"hi\"}\n{\"role\":\"assistant\",\"content\":\"ho\"}\n",
            Body(OpenaiChat),
        ),
        (r#"[[{"role":"user","content":"hi"}]]"#, Body(OpenaiChat)),
        (r#"{"messages":[{"role":"user","content":"hi"}]}"#, Body(OpenaiChat)),
        (r#"{"model":"claude-x","messages":[{"role":"user","content":"hi"}]}"#, Body(Anthropic)),
        (r#"{"system":"s","messages":[{"role":"user","content":"hi"}]}"#, Body(Anthropic)),
        (
            r#"[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use"}]}]"#,
            Body(Anthropic),
        ),
        (r#"{"model":"m","input":"hi"}"#, Body(OpenaiResponses)),
        (r#"[{"role":"user","content":"hi"},{"type":"function_call","call_id":"c"}]"#, Body(OpenaiResponses)),
        (r#"{"object":"response","output":[]}"#, Body(OpenaiResponses)),
        (
            r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"x"}]}"#,
            Body(OpenaiResponses),
        ),
        (r#"[{"traj":[{"role":"tool","content":"x"}]}]"#, Body(OpenaiChat)),
    ];
    for (json, format) in samples {
        assert_eq!(detect(&[], &json.as_bytes().to_vec()).ok(), Some(format), "{json}");
        let claims = claims(json);
        assert!(claims.is_empty() || claims == [format], "{json} is claimed by {claims:?}");
    }
}
