//! The formats we read and write: one row for each, and everything that depends on a format looks in it.
//!
//! Detection, reading, finding originals again, appending and undoing, the names on the command line, the
//! endings of files and the lists in the documentation are made from [`FORMATS`]. A format that is only read
//! is its module, its variant and row here, and its test. How it is recognised and read is in its module.

use crate::boundary::{Boundary, BoundaryUndo, SessionIdPlace, WriteError, record_session_id};
use crate::detect::DetectSample;
use crate::document::{self, Dialect};
use crate::held::HeldMessages;
use crate::protocol::read::{
    anthropic::Anthropic, openai_chat::OpenaiChat, openai_responses::OpenaiResponses,
};
use crate::{
    ByteSource, Protocol, ReadError, Transcript, claude_code, codex, copilot_cli,
    gemini_cli::GeminiCli,
    langgraph::Langgraph,
    mini_swe_agent::MiniSweAgent,
    native,
    opencode::Opencode,
    openhands::Openhands,
    pi,
    qwen_code::{self, QwenCode},
    swe_agent::SweAgent,
};
use epitome_core::{Expressible, Measure, Message};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// A way a transcript is written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "&'static str", try_from = "String")]
pub enum Format {
    /// Claude Code's session files.
    ClaudeCode,
    /// Codex rollouts.
    Codex,
    /// pi's session files, versions 1 to 3.
    Pi,
    /// opencode's exports.
    Opencode,
    /// Gemini CLI's session files.
    GeminiCli,
    /// Copilot CLI's event logs.
    CopilotCli,
    /// qwen-code's session files.
    QwenCode,
    /// SWE-agent trajectories.
    SweAgent,
    /// mini-swe-agent trajectories.
    MiniSweAgent,
    /// OpenHands event histories.
    Openhands,
    /// LangGraph threads.
    Langgraph,
    /// A provider's request bodies, message arrays, and lists of them.
    Body(Protocol),
    /// Ours: the original bytes, and what was added since.
    Native,
}

/// What there is to know of one format.
#[derive(Debug)]
pub struct FormatRow {
    /// Which format.
    pub format: Format,
    /// The name people and scripts use.
    pub name: &'static str,
    /// How its files end, without the dot: what is looked for in folders.
    pub endings: &'static [&'static str],
    /// Whether a value at the beginning of a file is of this format.
    pub(crate) recognize: fn(&DetectSample<'_>) -> bool,
    pub(crate) read: ReadFn,
    /// Makes a message again from the bytes it stands in.
    pub(crate) decode: DecodeFn,
    /// The provider's messages in its lines; none where they are in a form of the tool's own.
    pub(crate) holds: Option<HeldMessages>,
    /// How its tool goes on from a file we appended a compaction to; none where it is only read.
    pub(crate) resume: Option<ResumeRow>,
}

/// Reads a whole file.
pub(crate) type ReadFn = fn(Arc<dyn ByteSource>, &dyn Measure) -> Result<Transcript, ReadError>;

/// Makes a message from the bytes of its spans, `part` telling apart several made from the same.
pub(crate) type DecodeFn = fn(runs: &[Vec<u8>], part: u32) -> Result<Message, String>;

/// Appending to a format, and taking that back.
#[derive(Debug)]
pub(crate) struct ResumeRow {
    pub(crate) append: AppendFn,
    pub(crate) undo: fn(&dyn ByteSource) -> Result<BoundaryUndo, ReadError>,
    pub(crate) can: Expressible,
    /// Where the session's id stands.
    pub(crate) session_id: SessionIdPlace,
}

type AppendFn = fn(&Transcript, usize, &dyn ByteSource, &Boundary) -> Result<Vec<u8>, WriteError>;

/// Claude Code shows what it preserves after the summary and never before it, and pi everything from one
/// entry on. Neither shows a message otherwise than it was said.
const AFTER_ONLY: Expressible = Expressible { front: false, forms: false };
/// Codex and qwen-code are given the new history written out in full, so messages may stand before the summary.
const BEFORE_AND_AFTER: Expressible = Expressible { front: true, forms: false };

/// Every format, in the order they are listed to people. A file is of the first that recognises it: bodies
/// stand behind the tools, many of whose documents are messages and something around them.
pub const FORMATS: &[FormatRow] = &[
    FormatRow {
        format: Format::ClaudeCode,
        name: "claude-code",
        endings: &["jsonl"],
        recognize: claude_code::is_record,
        read: claude_code::read,
        decode: claude_code::decode,
        holds: Some(HeldMessages { protocol: Protocol::Anthropic, pieces: claude_code::pieces }),
        resume: Some(ResumeRow {
            append: claude_code::append,
            undo: claude_code::undo,
            can: AFTER_ONLY,
            session_id: SessionIdPlace::EveryRecord(record_session_id),
        }),
    },
    FormatRow {
        format: Format::Codex,
        name: "codex",
        endings: &["jsonl"],
        recognize: codex::is_line,
        read: codex::read,
        decode: codex::decode,
        holds: Some(HeldMessages { protocol: Protocol::OpenaiResponses, pieces: codex::pieces }),
        resume: Some(ResumeRow {
            append: codex::append,
            undo: codex::undo,
            can: BEFORE_AND_AFTER,
            session_id: SessionIdPlace::Header(codex::session_ids),
        }),
    },
    FormatRow {
        format: Format::Pi,
        name: "pi",
        endings: &["jsonl"],
        recognize: pi::is_entry,
        read: pi::read,
        decode: pi::decode,
        holds: None,
        resume: Some(ResumeRow {
            append: pi::append,
            undo: pi::undo,
            can: AFTER_ONLY,
            session_id: SessionIdPlace::Header(pi::session_id),
        }),
    },
    document_row::<Opencode>("opencode", &["json"]),
    document_row::<GeminiCli>("gemini-cli", &["jsonl", "json"]),
    FormatRow {
        format: Format::CopilotCli,
        name: "copilot-cli",
        endings: &["jsonl"],
        recognize: copilot_cli::is_event,
        read: copilot_cli::read,
        decode: copilot_cli::decode,
        holds: None,
        resume: None,
    },
    FormatRow {
        resume: Some(ResumeRow {
            append: qwen_code::append,
            undo: qwen_code::undo,
            can: BEFORE_AND_AFTER,
            session_id: SessionIdPlace::EveryRecord(record_session_id),
        }),
        ..document_row::<QwenCode>("qwen-code", &["jsonl"])
    },
    document_row::<SweAgent>("swe-agent", &["traj", "json"]),
    document_row::<MiniSweAgent>("mini-swe-agent", &["traj", "json"]),
    document_row::<Openhands>("openhands", &["json", "jsonl"]),
    document_row::<Langgraph>("langgraph", &["json"]),
    document_row::<Anthropic>(Protocol::Anthropic.name(), &["json", "jsonl"]),
    document_row::<OpenaiChat>(Protocol::OpenaiChat.name(), &["json", "jsonl"]),
    document_row::<OpenaiResponses>(Protocol::OpenaiResponses.name(), &["json", "jsonl"]),
    FormatRow {
        format: Format::Native,
        name: native::NAME,
        // A transcript we wrapped keeps the name it had.
        endings: &["jsonl", "json", "traj"],
        recognize: native::is_header,
        read: read_native,
        decode: native::decode,
        holds: None,
        resume: None,
    },
];

/// The row of a format that is one JSON document and only read.
const fn document_row<D: Dialect>(name: &'static str, endings: &'static [&'static str]) -> FormatRow {
    FormatRow {
        format: D::FORMAT,
        name,
        endings,
        recognize: D::is_document,
        read: document::read::<D>,
        decode: document::decode::<D>,
        holds: D::HOLDS,
        resume: None,
    }
}

fn read_native(source: Arc<dyn ByteSource>, measure: &dyn Measure) -> Result<Transcript, ReadError> {
    native::read(source, measure, |inner, from, measure| (from.row().read)(inner, measure))
}

impl Format {
    /// What there is to know of it.
    pub(crate) fn row(self) -> &'static FormatRow {
        FORMATS.iter().find(|row| row.format == self).expect("a format is added with its row")
    }

    /// The name people and scripts use.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Whether the tool that wrote it can go on from a file we appended a compaction to.
    pub fn is_resumable(self) -> bool {
        self.row().resume.is_some()
    }

    /// The protocol whose request bodies it is; none where it is a tool's own file.
    pub fn protocol(self) -> Option<Protocol> {
        let Self::Body(protocol) = self else { return None };
        Some(protocol)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that no format has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is no format; there are {}", names(FORMATS.iter().map(|row| row.name)))]
pub struct UnknownFormat {
    /// What was asked for.
    pub name: String,
}

/// Names in a sentence.
pub(crate) fn names<'n>(all: impl Iterator<Item = &'n str>) -> String {
    all.collect::<Vec<_>>().join(", ")
}

impl FromStr for Format {
    type Err = UnknownFormat;
    fn from_str(name: &str) -> Result<Self, UnknownFormat> {
        let row = FORMATS.iter().find(|row| row.name == name);
        row.map(|row| row.format).ok_or_else(|| UnknownFormat { name: name.to_owned() })
    }
}

impl From<Format> for &'static str {
    fn from(format: Format) -> Self {
        format.name()
    }
}

impl TryFrom<String> for Format {
    type Error = UnknownFormat;
    fn try_from(name: String) -> Result<Self, UnknownFormat> {
        name.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::{FORMATS, Format};
    use crate::Protocol;
    use std::collections::HashSet;

    #[test]
    fn a_name_is_one_formats_and_reads_back() {
        let names: HashSet<&str> = FORMATS.iter().map(|row| row.name).collect();
        assert_eq!(names.len(), FORMATS.len());
        for row in FORMATS {
            assert_eq!((row.name.parse(), row.format.name()), (Ok(row.format), row.name));
            let json = serde_json::to_string(&row.format).expect("a name is JSON");
            assert_eq!(serde_json::from_str::<Format>(&json).ok(), Some(row.format), "{json}");
        }
    }

    #[test]
    fn every_protocol_has_its_bodies_in_the_table() {
        let bodies: Vec<Protocol> = FORMATS.iter().filter_map(|row| row.format.protocol()).collect();
        assert_eq!(bodies, Protocol::ALL);
    }

    /// A new format says here whose messages it holds, and `crates/epitome/tests/held_messages` shows that they stay.
    #[test]
    fn each_format_says_whose_messages_it_holds() {
        let holding = FORMATS.iter().filter_map(|row| Some((row.name, row.holds?.protocol)));
        let expected = [
            ("claude-code", Protocol::Anthropic),
            ("codex", Protocol::OpenaiResponses),
            ("swe-agent", Protocol::OpenaiChat),
            ("mini-swe-agent", Protocol::OpenaiChat),
        ];
        assert_eq!(holding.collect::<Vec<_>>(), expected);
        let own = ["pi", "opencode", "gemini-cli", "copilot-cli", "qwen-code", "openhands", "langgraph"];
        let others = FORMATS.iter().filter(|row| row.holds.is_none() && row.format.protocol().is_none());
        let others: Vec<&str> = others.map(|row| row.name).filter(|name| *name != "native").collect();
        assert_eq!(others, own, "these have a form of their own, and native has whatever it wraps");
    }

    #[test]
    fn a_name_nobody_has_is_refused_with_those_there_are() {
        let refused = "word".parse::<Format>().expect_err("there is none").to_string();
        insta::assert_snapshot!(refused, @"`word` is no format; there are claude-code, codex, pi, opencode, gemini-cli, copilot-cli, qwen-code, swe-agent, mini-swe-agent, openhands, langgraph, anthropic, openai-chat, openai-responses, native");
        let refused = "pi".parse::<Protocol>().expect_err("it is a file's").to_string();
        insta::assert_snapshot!(refused, @"`pi` is no protocol; there are anthropic, openai-chat, openai-responses");
    }
}
