//! Reading a session file, line by line.

use super::message::QUEUE_OPERATION;
use super::record::ClaudeRecord;
use super::session::ClaudeSession;
use super::shape::SUMMARY_MESSAGE;
use crate::detect::DetectSample;
use crate::jsonl::{JsonlObject, Problems, each_object};
use crate::qwen_code::is_record as is_qwen_record;
use crate::{ByteSource, Format, ReadError, Transcript};
use epitome_core::Measure;
use std::sync::Arc;

/// Records that stand outside the conversation.
const ASIDES: [&str; 8] = [
    "summary",
    "file-history-snapshot",
    "custom-title",
    "mode",
    "permission-mode",
    "last-prompt",
    "pr-link",
    "agent-name",
];

/// Whether a line is a record of a session file. Codex and Copilot CLI put what they say into a field of its
/// own, and may name their session beside it; qwen-code's records are of the same make, and say Gemini's parts.
pub(crate) fn is_record(sample: &DetectSample<'_>) -> bool {
    let is_named = ["sessionId", "uuid", "leafUuid"].iter().any(|key| sample.has(key));
    sample.line_kind().is_some_and(|kind| {
        (is_named || kind == "file-history-snapshot") && !kind.contains('.') && !sample.has("payload")
    }) && !is_qwen_record(&sample.object)
}

/// Reads a session file, or the file of a subagent.
pub(crate) fn read(source: Arc<dyn ByteSource>, measure: &dyn Measure) -> Result<Transcript, ReadError> {
    if source.is_empty() {
        return Err(ReadError::Empty);
    }
    let mut problems = Problems::default();
    let mut file =
        FileReader { measure, main: ClaudeSession::new(measure), side: None, side_records: 0, known: 0 };
    each_object(&*source, &mut problems, |object, problems| file.take(object, problems))?;
    file.finish(source, problems)
}

/// A file may hold the records of subagents between its own, or be a subagent's altogether.
struct FileReader<'m> {
    measure: &'m dyn Measure,
    main: ClaudeSession<'m>,
    /// The sidechain records, for as long as there are no others.
    side: Option<ClaudeSession<'m>>,
    side_records: u64,
    /// Lines that are of this format.
    known: u64,
}

impl FileReader<'_> {
    fn take(&mut self, object: JsonlObject<'_>, problems: &mut Problems) -> serde_json::Result<()> {
        let record: ClaudeRecord<'_> = serde_json::from_str(object.text)?;
        match &*record.kind {
            "user" | "assistant" if record.message.is_none() || record.uuid.is_none() => {
                problems.add_unknown(object.line, &format!("{} without a message", &*record.kind));
            }
            "user" | "assistant" | "attachment" | "system" | "progress" => {
                self.known += 1;
                self.take_in_chain(&record, object, problems);
            }
            QUEUE_OPERATION => {
                self.known += 1;
                self.main.take_queue_operation(&record, object);
            }
            SUMMARY_MESSAGE => {
                self.known += 1;
                self.main.take_summary_message(object.text);
            }
            kind if ASIDES.contains(&kind) => self.known += 1,
            kind => {
                problems.add_unknown(object.line, kind);
                self.main.take_link(&record);
            }
        }
        Ok(())
    }

    fn take_in_chain(&mut self, record: &ClaudeRecord<'_>, object: JsonlObject<'_>, problems: &mut Problems) {
        if !record.is_sidechain() {
            if matches!(&*record.kind, "user" | "assistant") {
                self.side = None;
            }
            return self.main.take(record, object, problems);
        }
        self.side_records += 1;
        self.main.take_side_call(record);
        if self.main.is_empty() {
            let side = self.side.get_or_insert_with(|| ClaudeSession::new(self.measure));
            side.take(record, object, problems);
        }
    }

    fn finish(self, source: Arc<dyn ByteSource>, mut problems: Problems) -> Result<Transcript, ReadError> {
        if self.known == 0 {
            let why = "no line is a record with a `type` it writes".into();
            return Err(ReadError::NotThis { format: Format::ClaudeCode, why });
        }
        let session = match self.side {
            Some(side) if self.main.is_empty() => side,
            Some(_) | None => {
                if self.side_records > 0 {
                    let count = self.side_records;
                    problems.add_overall(format!("{count} records of subagents stand between; left out"));
                }
                self.main
            }
        };
        let conversation = session.finish(source, &mut problems);
        Ok(Transcript {
            format: Format::ClaudeCode,
            conversations: vec![conversation],
            problems: problems.told(),
        })
    }
}
