//! The items of a rollout on their way into a log.

use super::item::{CodexUsage, Item, RolloutEvent, TokenInfo};
use super::message::{BARE, ItemKind, NO_CALL, is_letter, kind_of, message_of};
use crate::jsonl::{JsonlObject, Problems};
use crate::log_builder::{LogBuilder, Pairing, ParsedMessage};
use crate::transcript::end_of_copied;
use crate::{ByteSource, Conversation, FixedParts, Format, RecordedReply, ReportedUsage};
use epitome_core::{Author, CallId, EntryId, Item as LogItem, Measure, Message, Role};
use std::collections::HashMap;
use std::sync::Arc;

/// A rollout as far as it has been read.
pub(super) struct Rollout<'m> {
    pub(super) measure: &'m dyn Measure,
    pub(super) assembly: LogBuilder,
    pub(super) fixed: FixedParts,
    replies: Vec<RecordedReply>,
    /// The reply whose items are still coming.
    open: Option<EntryId>,
    /// Where the turns of this branch begin.
    turns: Vec<EntryId>,
    /// The newest token count.
    counted: Option<TokenInfo>,
    /// When the line at hand was written.
    pub(super) time_ms: Option<u64>,
}

impl<'m> Rollout<'m> {
    pub(super) fn new(measure: &'m dyn Measure) -> Self {
        Self {
            measure,
            assembly: LogBuilder::default(),
            fixed: FixedParts::default(),
            replies: Vec::new(),
            open: None,
            turns: Vec::new(),
            counted: None,
            time_ms: None,
        }
    }

    /// Takes an item. `part` says how its span is to be read again.
    pub(super) fn take_item(
        &mut self,
        item: &Item<'_>,
        json: &str,
        object: JsonlObject<'_>,
        part: u32,
        problems: &mut Problems,
    ) {
        match kind_of(item) {
            ItemKind::Reply => self.take_reply(item, json, object, part),
            ItemKind::Output | ItemKind::CarriedOutput => {
                self.take_output(item, json, object, part, problems);
            }
            ItemKind::Said => self.take_said(item, json, object, part),
            ItemKind::Carried => drop(self.add(item, &message_of(item, json, false), object, part)),
            ItemKind::Unseen => {}
            ItemKind::Unknown => {
                problems.add_carried(object.line, item.kind.as_deref().unwrap_or("item without a type"));
                self.take_reply(item, json, object, part);
            }
        }
    }

    fn take_reply(&mut self, item: &Item<'_>, json: &str, object: JsonlObject<'_>, part: u32) {
        let weighed = self.measure.weigh(&message_of(item, json, false));
        if let Some(open) = self.open {
            return self.assembly.extend(open, weighed, object.span);
        }
        let name = item.id.as_ref().map(Arc::from);
        let entry = self.assembly.add(ParsedMessage { weighed, span: object.span, part, name });
        self.open = Some(entry);
        // What a compaction carries over was answered before; only what stands on its own line is a reply.
        if part == 0 {
            self.replies.push(RecordedReply {
                entry,
                model: self.fixed.model.clone(),
                usage: None,
                time_ms: self.time_ms,
                is_copied: false,
            });
        }
    }

    fn take_output(
        &mut self,
        item: &Item<'_>,
        json: &str,
        object: JsonlObject<'_>,
        part: u32,
        problems: &mut Problems,
    ) {
        let call = CallId(item.call_id.as_deref().unwrap_or_default().into());
        let newest = self.replies.last().map(|reply| reply.entry);
        let no_call = self.assembly.pairing(&call, newest) == Pairing::Missing;
        if no_call {
            problems.add(object.line, format!("answers {call}, which waits for no answer; read as text"));
        }
        let part = if no_call { part | NO_CALL } else { part };
        self.add(item, &message_of(item, json, no_call), object, part);
    }

    fn take_said(&mut self, item: &Item<'_>, json: &str, object: JsonlObject<'_>, part: u32) {
        let message = message_of(item, json, false);
        if message.role == Role::System && self.assembly.newest().is_none() {
            return self.fixed.system.push(message.said().into());
        }
        let entry = self.add(item, &message, object, part);
        // What a compaction carries over is of no turn: taking turns back goes to before the compaction.
        if part & BARE == 0 && (message.author == Author::Person || is_letter(item)) {
            self.turns.push(entry);
        }
    }

    fn add(&mut self, item: &Item<'_>, message: &Message, object: JsonlObject<'_>, part: u32) -> EntryId {
        self.open = None;
        let name = item.id.as_ref().map(Arc::from);
        let met = ParsedMessage { weighed: self.measure.weigh(message), span: object.span, part, name };
        self.assembly.answer(met)
    }

    /// Takes an event, of which most are for the screen.
    pub(super) fn take_event(&mut self, event: &RolloutEvent<'_>) {
        match (event.kind.as_deref(), *event.info, *event.num_turns) {
            (Some("token_count"), Some(info), _) => self.take_count(info),
            (Some("thread_rolled_back"), _, Some(turns)) => self.roll_back(turns),
            _ => {}
        }
    }

    /// A token count ends the reply it counts. Counts are repeated when rate limits change, before the next
    /// reply and in the middle of it: what adds nothing to the total is none.
    fn take_count(&mut self, info: TokenInfo) {
        self.fixed.window = info.model_context_window.or(self.fixed.window);
        let Some(usage) = *info.last_token_usage else { return };
        let is_repeat = self.counted.is_some_and(|counted| {
            counted.total_token_usage == info.total_token_usage
                && (info.total_token_usage.is_some() || *counted.last_token_usage == Some(usage))
        });
        self.counted = Some(info);
        if is_repeat {
            return;
        }
        self.open = None;
        if let Some(reply) = self.replies.last_mut() {
            reply.usage = reply.usage.or_else(|| usage_of(usage));
        }
    }

    /// Takes back the newest turns, with what the harness said at their beginning. What came before the first
    /// turn stays.
    fn roll_back(&mut self, turns: u64) {
        let kept = self.turns.len().saturating_sub(turns as usize);
        let (Some(&first), Some(&cut)) = (self.turns.first(), self.turns.get(kept)) else { return };
        let mut to = self.assembly.parent(cut);
        while let Some(id) = to.filter(|id| *id > first && self.is_beginning(*id)) {
            to = self.assembly.parent(id);
        }
        self.turns.truncate(kept);
        self.assembly.go_back(to);
        self.end_reply();
    }

    /// Whether a message is one of those the harness puts before what a person says.
    fn is_beginning(&self, id: EntryId) -> bool {
        let is_harness = |item: &LogItem| item.author == Author::Harness && item.role != Role::Assistant;
        self.assembly.item(id).is_some_and(is_harness)
    }

    /// Items from here on belong to no reply that has begun.
    pub(super) fn end_reply(&mut self) {
        self.open = None;
    }

    /// What was answered so far was answered in the session that this one is a copy of.
    pub(super) fn end_of_copied(&mut self) {
        end_of_copied(&mut self.replies);
    }

    pub(super) fn finish(self, source: Arc<dyn ByteSource>) -> Conversation {
        let leaf = self.assembly.leaf();
        let made = self.assembly.in_line(source, Format::Codex);
        Conversation {
            log: made.log,
            sizes: made.sizes,
            leaf,
            fixed: self.fixed,
            replies: self.replies,
            side_calls: Vec::new(),
            added_times: HashMap::new(),
            compactions: Vec::new(),
            originals: made.originals,
            names: made.names,
        }
    }
}

/// The normalised figures; none where all are zero.
fn usage_of(line: CodexUsage) -> Option<ReportedUsage> {
    let usage = ReportedUsage {
        prompt: line.input_tokens.unwrap_or(0),
        output: line.output_tokens.unwrap_or(0),
        cache_read: line.cached_input_tokens.unwrap_or(0),
        cache_write: 0,
    };
    (usage != ReportedUsage::default()).then_some(usage)
}
