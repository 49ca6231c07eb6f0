//! Reading a file of any format.

use crate::protocol::read::{anthropic, openai_chat, openai_responses};
use crate::{Format, ReadError, Source, Transcript, detect};
use crate::{
    claude_code, codex, copilot_cli, gemini_cli, langgraph, mini_swe_agent, native, opencode, openhands, pi,
    swe_agent,
};
use epitome_core::Measure;
use std::sync::Arc;

/// Reads a transcript in the format it is said to have, or in the one it looks like.
pub fn read(
    source: Arc<dyn Source>,
    from: Option<Format>,
    measure: &dyn Measure,
) -> Result<Transcript, ReadError> {
    let format = match from {
        Some(format) => format,
        None => detect(&[], &*source)?,
    };
    match format {
        Format::ClaudeCode => claude_code::read(source, measure),
        Format::Codex => codex::read(source, measure),
        Format::Pi => pi::read(source, measure),
        Format::Opencode => opencode::read(source, measure),
        Format::GeminiCli => gemini_cli::read(source, measure),
        Format::CopilotCli => copilot_cli::read(source, measure),
        Format::SweAgent => swe_agent::read(source, measure),
        Format::MiniSweAgent => mini_swe_agent::read(source, measure),
        Format::Openhands => openhands::read(source, measure),
        Format::Langgraph => langgraph::read(source, measure),
        Format::Anthropic => anthropic::read(source, measure),
        Format::OpenaiChat => openai_chat::read(source, measure),
        Format::OpenaiResponses => openai_responses::read(source, measure),
        Format::Native => {
            native::read(source, measure, |inner, from, measure| read(inner, Some(from), measure))
        }
    }
}
