//! The records of one session on their way into a log.

use super::branch::Links;
use super::message::{is_made_up, message_of};
use super::queue::PromptQueue;
use super::record::{ClaudeRecord, ClaudeUsage, RecordMessage};
use crate::jsonl::{JsonlObject, Problems};
use crate::log_builder::{LogBuilder, Pairing, ParsedMessage};
use crate::timestamp::unix_ms;
use crate::transcript::end_of_copied;
use crate::{
    ByteSource, Conversation, FixedParts, Format, RecordedCompaction, RecordedReply, ReportedUsage, SideCall,
};
use epitome_core::{CallId, EntryId, Measure, MeasuredItem};
use std::collections::HashMap;
use std::sync::Arc;

/// A session as far as it has been read.
pub(super) struct ClaudeSession<'m> {
    pub(super) measure: &'m dyn Measure,
    pub(super) assembly: LogBuilder,
    /// For each record the entry it is part of, or that it follows on; none above the first.
    pub(super) stands: HashMap<Box<str>, Option<EntryId>>,
    pub(super) ups: Vec<(EntryId, EntryId)>,
    /// Entries whose parent was not there yet: its `uuid`, and their line.
    astray: Vec<(EntryId, Box<str>, u64)>,
    replies: Vec<RecordedReply>,
    /// Calls of subagents, in the order they were met; and their places by `message.id`.
    side_calls: Vec<SideCall>,
    side_by_message: HashMap<Box<str>, usize>,
    /// What boundaries say of themselves.
    pub(super) compactions: Vec<RecordedCompaction>,
    /// Entries of replies by `message.id`, with their place among `replies`.
    by_message: HashMap<Box<str>, (EntryId, Option<usize>)>,
    newest_reply: Option<EntryId>,
    /// The entry of the newest message record.
    pub(super) last: Option<EntryId>,
    pub(super) queue: PromptQueue,
}

impl<'m> ClaudeSession<'m> {
    pub(super) fn new(measure: &'m dyn Measure) -> Self {
        Self {
            measure,
            assembly: LogBuilder::default(),
            stands: HashMap::new(),
            ups: Vec::new(),
            astray: Vec::new(),
            replies: Vec::new(),
            side_calls: Vec::new(),
            side_by_message: HashMap::new(),
            compactions: Vec::new(),
            by_message: HashMap::new(),
            newest_reply: None,
            last: None,
            queue: PromptQueue::default(),
        }
    }

    /// What was answered so far was answered in the session that this one is a copy of.
    pub(super) fn end_of_copied(&mut self) {
        end_of_copied(&mut self.replies);
        self.side_calls.iter_mut().for_each(|call| call.is_copied = true);
    }

    /// A record of a subagent's: of its replies, what they took. One that is written in several records says so in each, the
    /// last time in full.
    pub(super) fn take_side_call(&mut self, record: &ClaudeRecord<'_>) {
        let Some(body) = record.message.as_ref().filter(|body| !is_made_up(record, body)) else { return };
        let id = body.id.as_deref().or(record.uuid.as_deref());
        let Some(id) = id.filter(|_| &*record.kind == "assistant") else { return };
        let place = *self.side_by_message.entry(id.into()).or_insert(self.side_calls.len());
        if place == self.side_calls.len() {
            let model = body.model.as_ref().map(Arc::from);
            let time_ms = record.timestamp.as_deref().and_then(unix_ms);
            self.side_calls.push(SideCall { model, usage: None, time_ms, is_copied: false });
        }
        let call = &mut self.side_calls[place];
        call.usage = body.usage.and_then(usage_of).or(call.usage);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.last.is_none()
    }

    /// Takes a record of the chain.
    pub(super) fn take(
        &mut self,
        record: &ClaudeRecord<'_>,
        object: JsonlObject<'_>,
        problems: &mut Problems,
    ) {
        if let Some(uuid) = record.uuid.as_deref()
            && self.stands.contains_key(uuid)
        {
            return problems.add(object.line, format!("repeats the record {uuid}; the first one counts"));
        }
        match &*record.kind {
            "user" if *record.is_compact_summary == Some(true) => self.take_summary(record, object),
            "user" => self.take_user(record, object, problems),
            "assistant" => self.take_reply(record, object),
            "attachment" => self.take_attachment(record, object),
            "system" if record.subtype.as_deref() == Some("compact_boundary") => {
                self.take_boundary(record, object, problems);
            }
            "system" if record.subtype.as_deref() == Some("microcompact_boundary") => {
                self.take_microcompaction(record, object, problems);
            }
            _ => self.take_link(record),
        }
    }

    /// A record that is no message: whoever hangs off it follows what it follows.
    pub(super) fn take_link(&mut self, record: &ClaudeRecord<'_>) {
        let Some(uuid) = record.uuid.as_deref() else { return };
        let follows = match record.parent_uuid.as_deref() {
            Some(parent) => self.stands.get(parent).copied().unwrap_or_else(|| self.assembly.newest()),
            None => None,
        };
        self.stands.insert(uuid.into(), follows);
    }

    fn take_attachment(&mut self, record: &ClaudeRecord<'_>, object: JsonlObject<'_>) {
        let Some(message) = message_of(record, object.text, 0) else { return self.take_link(record) };
        self.queue.note_said(&message);
        let met = self.met(record, object, self.measure.weigh(&message), 0);
        let id = self.assembly.add(met);
        self.settle(id, record, object);
    }

    fn take_user(&mut self, record: &ClaudeRecord<'_>, object: JsonlObject<'_>, problems: &mut Problems) {
        let unpaired = self.unpaired(record, object, problems);
        let Some(message) = message_of(record, object.text, unpaired) else { return };
        self.queue.note_said(&message);
        let met = self.met(record, object, self.measure.weigh(&message), unpaired);
        let id = self.assembly.answer(met);
        self.settle(id, record, object);
    }

    /// Which results of a record have no call; bit n for the nth.
    fn unpaired(&self, record: &ClaudeRecord<'_>, object: JsonlObject<'_>, problems: &mut Problems) -> u32 {
        let blocks = record.message.as_ref().map_or(&[][..], |body| body.content.blocks());
        let answered = blocks.iter().filter(|block| block.kind.as_deref() == Some("tool_result"));
        let mut unpaired = 0;
        for (nth, result) in answered.enumerate() {
            let call = CallId(result.tool_use_id.as_deref().unwrap_or_default().into());
            match self.assembly.pairing(&call, self.newest_reply) {
                Pairing::Waiting => {}
                Pairing::Late => problems.add(
                    object.line,
                    format!("answers {call} after the next reply had begun; put back behind its call"),
                ),
                Pairing::Missing => {
                    unpaired |= 1 << nth.min(31);
                    problems
                        .add(object.line, format!("answers {call}, which waits for no answer; read as text"));
                }
            }
        }
        unpaired
    }

    fn take_reply(&mut self, record: &ClaudeRecord<'_>, object: JsonlObject<'_>) {
        let Some(body) = &*record.message else { return };
        let Some(message) = message_of(record, object.text, 0) else { return };
        let weighed = self.measure.weigh(&message);
        let begun = body.id.as_deref().and_then(|id| self.by_message.get(id)).copied();
        let (id, reply) = match begun {
            Some((id, reply)) => {
                self.assembly.extend(id, weighed, object.span);
                (id, reply)
            }
            None => {
                let met = self.met(record, object, weighed, 0);
                self.begin_reply(record, body, met)
            }
        };
        self.newest_reply = Some(id);
        if let Some(reply) = reply.and_then(|at| self.replies.get_mut(at)) {
            reply.usage = body.usage.and_then(usage_of).or(reply.usage);
        }
        self.settle(id, record, object);
    }

    fn begin_reply(
        &mut self,
        record: &ClaudeRecord<'_>,
        body: &RecordMessage<'_>,
        met: ParsedMessage,
    ) -> (EntryId, Option<usize>) {
        self.place_prompts();
        let entry = self.assembly.add(met);
        let reply = (!is_made_up(record, body)).then(|| {
            let model = body.model.as_ref().map(Arc::from);
            let time_ms = record.timestamp.as_deref().and_then(unix_ms);
            self.replies.push(RecordedReply { entry, model, usage: None, time_ms, is_copied: false });
            self.replies.len() - 1
        });
        if let Some(id) = body.id.as_deref() {
            self.by_message.insert(id.into(), (entry, reply));
        }
        (entry, reply)
    }

    fn met(
        &self,
        record: &ClaudeRecord<'_>,
        object: JsonlObject<'_>,
        weighed: MeasuredItem,
        part: u32,
    ) -> ParsedMessage {
        ParsedMessage { weighed, span: object.span, part, name: record.uuid.as_ref().map(Arc::from) }
    }

    /// Remembers where a message record has come to stand.
    fn settle(&mut self, id: EntryId, record: &ClaudeRecord<'_>, object: JsonlObject<'_>) {
        self.link(id, record.parent_uuid.as_deref(), object.line);
        self.stands.extend(record.uuid.as_deref().map(|uuid| (uuid.into(), Some(id))));
        self.last = Some(id);
    }

    pub(super) fn link(&mut self, id: EntryId, parent: Option<&str>, line: u64) {
        self.ups.extend(self.queue.take_newest_place().map(|place| (id, place)));
        let Some(parent) = parent else { return };
        match self.stands.get(parent) {
            Some(up) => self.ups.extend(up.filter(|up| *up != id).map(|up| (id, up))),
            None => self.astray.push((id, parent.into(), line)),
        }
    }

    /// The conversation these records make.
    pub(super) fn finish(mut self, source: Arc<dyn ByteSource>, problems: &mut Problems) -> Conversation {
        self.bring_home(problems);
        let (answers, newest) = (self.assembly.answered_replies(), self.assembly.newest());
        let links = Links { ups: self.ups, answers, newest };
        let tree = links.tree(self.last);
        let made = self.assembly.below(tree.parents, source, Format::ClaudeCode);
        let model = self.replies.iter().rev().find_map(|reply| reply.model.clone());
        Conversation {
            log: made.log,
            sizes: made.sizes,
            leaf: tree.leaf,
            fixed: FixedParts { model, ..FixedParts::default() },
            replies: self.replies,
            side_calls: self.side_calls,
            added_times: HashMap::new(),
            compactions: self.compactions,
            originals: made.originals,
            names: made.names,
        }
    }

    /// Links entries whose parent came after them, or never.
    fn bring_home(&mut self, problems: &mut Problems) {
        for (id, parent, line) in std::mem::take(&mut self.astray) {
            let up = self.stands.get(&*parent).copied().unwrap_or_else(|| {
                problems.add(
                    line,
                    format!(
                        "hangs off {parent}, which is not in the file; taken to follow the message before"
                    ),
                );
                id.0.checked_sub(1).map(EntryId)
            });
            self.ups.extend(up.filter(|up| *up != id).map(|up| (id, up)));
        }
    }
}

/// The normalised figures; none where all are zero, as on replies that were cut short.
fn usage_of(line: ClaudeUsage) -> Option<ReportedUsage> {
    let cache_read = line.cache_read_input_tokens.unwrap_or(0);
    let cache_write = line.cache_creation_input_tokens.unwrap_or(0);
    let usage = ReportedUsage {
        prompt: line.input_tokens.unwrap_or(0).saturating_add(cache_read).saturating_add(cache_write),
        output: line.output_tokens.unwrap_or(0),
        cache_read,
        cache_write,
    };
    (usage != ReportedUsage::default()).then_some(usage)
}
