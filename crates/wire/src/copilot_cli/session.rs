//! The events of one session on their way into a log.

use super::event::{CopilotEvent, Data};
use super::message::{NO_CALL, message_of};
use crate::jsonl::{JsonlObject, Problems};
use crate::log_builder::{LogBuilder, Pairing, ParsedMessage};
use crate::{ByteSource, Conversation, FixedParts, Format, RecordedReply};
use epitome_core::{CallId, EntryId, Measure, Role};
use std::sync::Arc;

/// A session as far as it has been read.
pub(super) struct CopilotSession<'m> {
    measure: &'m dyn Measure,
    assembly: LogBuilder,
    fixed: FixedParts,
    replies: Vec<RecordedReply>,
}

impl<'m> CopilotSession<'m> {
    pub(super) fn new(measure: &'m dyn Measure) -> Self {
        Self { measure, assembly: LogBuilder::default(), fixed: FixedParts::default(), replies: Vec::new() }
    }

    /// The system prompt comes again, whole, with each turn; the newest counts.
    pub(super) fn take_system(&mut self, event: &CopilotEvent<'_>) -> serde_json::Result<()> {
        let data: Data<'_> = serde_json::from_str(event.data.get())?;
        self.fixed.system = data.content.as_ref().map(Arc::from).into_iter().collect();
        Ok(())
    }

    pub(super) fn take_model(&mut self, event: &CopilotEvent<'_>) -> serde_json::Result<()> {
        let data: Data<'_> = serde_json::from_str(event.data.get())?;
        self.fixed.model = data.new_model.as_ref().map(Arc::from).or(self.fixed.model.take());
        Ok(())
    }

    pub(super) fn take_message(
        &mut self,
        event: &CopilotEvent<'_>,
        object: JsonlObject<'_>,
        problems: &mut Problems,
    ) -> serde_json::Result<()> {
        let data: Data<'_> = serde_json::from_str(event.data.get())?;
        let no_call = &*event.kind == "tool.execution_complete" && self.lacks_call(&data, object, problems);
        let message = message_of(&event.kind, &data, no_call);
        let name = event.id.as_ref().map(Arc::from);
        let part = if no_call { NO_CALL } else { 0 };
        let met = ParsedMessage { weighed: self.measure.weigh(&message), span: object.span, part, name };
        let entry = self.assembly.answer(met);
        if message.role == Role::Assistant {
            self.note_reply(entry, &data);
        }
        Ok(())
    }

    fn lacks_call(&self, data: &Data<'_>, object: JsonlObject<'_>, problems: &mut Problems) -> bool {
        let call = CallId(data.tool_call_id.as_deref().unwrap_or_default().into());
        let newest = self.replies.last().map(|reply| reply.entry);
        let lacks = self.assembly.pairing(&call, newest) == Pairing::Missing;
        if lacks {
            problems.add(object.line, format!("answers {call}, which waits for no answer; read as text"));
        }
        lacks
    }

    /// Prompt tokens are not recorded, so there is no usage worth the name.
    fn note_reply(&mut self, entry: EntryId, data: &Data<'_>) {
        let model = data.model.as_ref().map(Arc::from).or_else(|| self.fixed.model.clone());
        self.fixed.model = model.clone();
        self.replies.push(RecordedReply { entry, model, usage: None });
    }

    pub(super) fn finish(self, source: Arc<dyn ByteSource>) -> Conversation {
        let leaf = self.assembly.newest();
        let made = self.assembly.in_line(source, Format::CopilotCli);
        Conversation {
            log: made.log,
            sizes: made.sizes,
            leaf,
            fixed: self.fixed,
            replies: self.replies,
            originals: made.originals,
            names: made.names,
        }
    }
}
