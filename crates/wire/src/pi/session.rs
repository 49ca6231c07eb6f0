//! The entries of one session on their way into a log.
//!
//! pi writes results right behind their call, so file order is log order, and an entry's id is its
//! place among the messages and compactions before it: lines added later do not touch it.

use super::edit::ContextEdit;
use super::message::{MessageReading, message_of, shown_summary};
use super::record::{PiRecord, PiUsage};
use super::weigh::WeighedLine;
use crate::jsonl::{JsonlObject, Problems};
use crate::transcript::end_of_copied;
use crate::{
    Conversation, FixedParts, OriginalPlace, Originals, RecordedCompaction, RecordedReply, ReportedUsage,
    Span,
};
use epitome_core::{Archive, Compaction, Entry, EntryId, Log, Measure, MeasuredItem, Role, SizeTable, Tail};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// A session as far as it has been read.
pub(super) struct PiSession<'m> {
    pub(super) measure: &'m dyn Measure,
    pub(super) log: Log,
    pub(super) sizes: SizeTable,
    pub(super) originals: Originals,
    pub(super) names: Vec<Option<Arc<str>>>,
    /// Where pi's entries stand, by id.
    pub(super) stands: HashMap<Arc<str>, LogPlace>,
    /// The newest of them: the next entry mostly hangs off it.
    newest: Option<(Arc<str>, LogPlace)>,
    /// The same by position in the file, header included, as version 1 counts.
    positions: Vec<EntryId>,
    has_ids: bool,
    /// Whether each entry so far follows the one before it.
    is_line: bool,
    pub(super) leaf: Option<EntryId>,
    /// The first entry that the newest compaction keeps.
    kept_from: EntryId,
    calls: HashSet<Arc<str>>,
    fixed: FixedParts,
    replies: Vec<RecordedReply>,
    compactions: Vec<RecordedCompaction>,
    pub(super) edits: Vec<ContextEdit>,
}

/// About what a line of a long session takes: room is made for so many entries at once.
const ENTRY_BYTES: u64 = 2048;

/// Where an entry of pi's stands in the log, which holds messages and compactions only.
#[derive(Clone, Copy)]
pub(super) struct LogPlace {
    /// Itself, or the nearest above it.
    pub(super) at: Option<EntryId>,
    /// Itself, or whatever comes next.
    from: EntryId,
}

/// What an entry calls itself, and what it says it follows.
#[derive(Clone, Copy)]
pub(super) struct EntryNames<'a> {
    id: Option<&'a str>,
    parent_id: Option<&'a str>,
}

impl<'a> EntryNames<'a> {
    pub(super) fn of(record: &'a PiRecord<'_>) -> Self {
        Self { id: record.id.as_deref(), parent_id: record.parent_id.as_deref() }
    }
}

pub(super) fn place_of(span: Span, reading: MessageReading) -> OriginalPlace {
    OriginalPlace::Spans { spans: [span].into(), part: reading.part() }
}

impl<'m> PiSession<'m> {
    /// A session of which nothing has been read; there are `bytes` to read.
    pub(super) fn new(measure: &'m dyn Measure, originals: Originals, bytes: u64) -> Self {
        Self {
            measure,
            log: Log::default(),
            sizes: SizeTable::default(),
            originals,
            names: Vec::new(),
            stands: HashMap::with_capacity((bytes / ENTRY_BYTES) as usize),
            newest: None,
            positions: Vec::new(),
            has_ids: false,
            is_line: true,
            leaf: None,
            kept_from: EntryId(0),
            calls: HashSet::new(),
            fixed: FixedParts::default(),
            replies: Vec::new(),
            compactions: Vec::new(),
            edits: Vec::new(),
        }
    }

    pub(super) fn take_header(&mut self, record: &PiRecord<'_>) {
        self.positions.push(self.next_id());
        self.has_ids = record.version.is_some_and(|version| version > 1);
        self.fixed.model = record.model_id.as_ref().map(Arc::from).or(self.fixed.model.take());
    }

    /// An entry that is no part of the context: whatever hangs off it follows what it follows.
    pub(super) fn take_aside(
        &mut self,
        record: &PiRecord<'_>,
        object: JsonlObject<'_>,
        problems: &mut Problems,
    ) {
        if let Some(model) = &*record.model_id {
            self.fixed.model = Some(model.into());
        }
        if let Some(above) = self.place(EntryNames::of(record), object.line, problems) {
            self.settle(record.id.as_ref().map(Arc::from), above, None);
        }
    }

    pub(super) fn take_message(
        &mut self,
        record: &PiRecord<'_>,
        object: JsonlObject<'_>,
        problems: &mut Problems,
    ) {
        let call = record.message.as_ref().filter(|body| body.role() == "toolResult");
        let call = call.and_then(|body| body.tool_call_id.as_deref());
        let reading = self.reading(call, object.line, problems);
        let Some(message) = message_of(record, object.text, reading) else {
            return self.take_aside(record, object, problems);
        };
        if message.role == Role::System && self.log.is_empty() {
            self.fixed.system.push(message.said().into());
            return self.take_aside(record, object, problems);
        }
        let Some(above) = self.place(EntryNames::of(record), object.line, problems) else { return };
        let weighed = self.measure.weigh(&message);
        if let Some(body) = record.message.as_ref().filter(|_| message.role == Role::Assistant) {
            self.note_reply(body.model.as_deref(), *body.usage, record.time_ms());
        }
        self.originals.put(self.next_id(), place_of(object.span, reading));
        self.settle_message(record.id.as_ref().map(Arc::from), above, weighed);
    }

    /// A message that was weighed ahead, as it is.
    pub(super) fn take_weighed(
        &mut self,
        weighed: WeighedLine,
        line: u64,
        span: Span,
        problems: &mut Problems,
    ) {
        let WeighedLine { id: name, parent_id, model, usage, time_ms, mut weighed } = weighed;
        let reading = self.reading(weighed.item.answers.first().map(|call| &*call.0), line, problems);
        let ids = EntryNames { id: name.as_deref(), parent_id: parent_id.as_deref() };
        let Some(above) = self.place(ids, line, problems) else { return };
        self.originals.put(self.next_id(), place_of(span, reading));
        if reading.is_unpaired {
            // Shown as text after all, it has to be weighed again.
            match self.originals.message(self.next_id()) {
                Ok(message) => weighed = self.measure.weigh(&message),
                Err(error) => problems.add(line, error.to_string()),
            }
        }
        if weighed.item.role == Role::Assistant {
            self.note_reply(model.as_deref(), usage, time_ms);
        }
        self.settle_message(name, above, weighed);
    }

    pub(super) fn settle_message(
        &mut self,
        name: Option<Arc<str>>,
        above: Option<EntryId>,
        weighed: MeasuredItem,
    ) {
        let MeasuredItem { item, sizes } = weighed;
        self.sizes.set(self.next_id(), sizes);
        self.calls.extend(item.calls.iter().map(|call| call.0.clone()));
        self.settle(name, above, Some(Entry::Message(item)));
    }

    /// Whether the result of `call`, if it is one, can be shown as one: its call has been made.
    pub(super) fn reading(&self, call: Option<&str>, line: u64, problems: &mut Problems) -> MessageReading {
        let Some(call) = call.filter(|call| !self.calls.contains(*call)) else {
            return MessageReading::default();
        };
        problems.add(line, format!("answers {call}, which was never called; read as text"));
        MessageReading { is_unpaired: true, ..MessageReading::default() }
    }

    fn note_reply(&mut self, model: Option<&str>, usage: Option<PiUsage>, time_ms: Option<u64>) {
        // Replies mostly name one model: they share the name.
        let same = self.fixed.model.clone().filter(|newest| Some(&**newest) == model);
        let model = same.or_else(|| model.map(Arc::from));
        self.fixed.model = model.clone().or(self.fixed.model.take());
        let usage = usage.and_then(usage_of);
        self.replies.push(RecordedReply { entry: self.next_id(), model, usage, time_ms, is_copied: false });
    }

    pub(super) fn take_compaction(
        &mut self,
        record: &PiRecord<'_>,
        object: JsonlObject<'_>,
        problems: &mut Problems,
    ) {
        if record.system_message.is_some() {
            problems.add(object.line, "carries a system message of its own, which is passed over");
        }
        let Some(above) = self.place(EntryNames::of(record), object.line, problems) else { return };
        if record.ends_copied() {
            end_of_copied(&mut self.replies);
        }
        let text: Arc<str> = shown_summary(record.summary.as_deref().unwrap_or_default()).into();
        let tail = self.tail_of(record, above);
        let compaction = Compaction { summary: Some(text), tail, ..Compaction::default() };
        let name: Option<Arc<str>> = record.id.as_ref().map(Arc::from);
        let entry = self.next_id();
        self.settle(name.clone(), above, Some(Entry::Recorded(Box::new(compaction))));
        // pi does not say whether somebody asked for it.
        self.compactions.push(RecordedCompaction {
            entry,
            tokens_before: record.tokens_before(),
            is_automatic: false,
        });
        if let Some(tail) = record.retained_tail {
            self.take_retained(tail, object, problems);
            // Whatever hangs off the compaction follows the messages it wrote out.
            self.newest = name.map(|name| (name, LogPlace { at: self.leaf, from: self.next_id() }));
            self.stands.extend(self.newest.clone());
        }
    }

    /// What a compaction keeps: everything on its branch from the entry it names. Nothing, where that
    /// entry is not on the branch, as pi has it.
    fn tail_of(&mut self, record: &PiRecord<'_>, above: Option<EntryId>) -> Tail {
        let next = self.next_id();
        if record.retained_tail.is_some() {
            self.kept_from = next;
            return Tail::Nothing;
        }
        let first = match (&*record.first_kept_entry_id, *record.first_kept_entry_index) {
            (Some(id), _) => self.stands.get(&**id).map(|stand| stand.from),
            (None, Some(at)) => self.positions.get(at).filter(|_| at > 0).copied(),
            (None, None) => None,
        };
        let Some(first) = first.filter(|first| *first < next) else { return Tail::Nothing };
        let is_in_view = self.is_line && first >= self.kept_from;
        self.kept_from = first;
        if is_in_view {
            return Tail::From(first);
        }
        // An older compaction may have taken some of these out of view; this one shows them again.
        let branch = above.map_or_else(Vec::new, |above| self.log.path(above));
        Tail::These(branch.into_iter().filter(|id| *id >= first && self.log.item(*id).is_some()).collect())
    }

    /// What an entry hangs off; none where it repeats an id, and does not count.
    pub(super) fn place(
        &self,
        ids: EntryNames<'_>,
        line: u64,
        problems: &mut Problems,
    ) -> Option<Option<EntryId>> {
        let Some(id) = ids.id.filter(|_| self.has_ids) else { return Some(self.leaf) };
        if self.stands.contains_key(id) {
            problems.add(line, format!("repeats the id {id}; the first entry of that id counts"));
            return None;
        }
        let Some(parent) = ids.parent_id else { return Some(None) };
        let newest = self.newest.as_ref().filter(|(name, _)| **name == *parent).map(|(_, stand)| stand);
        let found = newest.or_else(|| self.stands.get(parent)).map(|stand| stand.at);
        if found.is_none() {
            problems.add(
                line,
                format!("hangs off {parent}, which is not before it; taken to follow the entry before"),
            );
        }
        Some(found.unwrap_or(self.leaf))
    }

    /// Gives an entry its place, and remembers it.
    pub(super) fn settle(&mut self, name: Option<Arc<str>>, above: Option<EntryId>, entry: Option<Entry>) {
        let from = self.next_id();
        self.positions.push(from);
        self.is_line &= above == self.leaf;
        self.leaf = above;
        if let Some(entry) = entry {
            self.leaf = Some(self.log.append(above, entry).expect("what it hangs off is in the log"));
            self.names.push(name.clone());
        }
        self.newest = name.map(|name| (name, LogPlace { at: self.leaf, from }));
        self.stands.extend(self.newest.clone());
    }

    pub(super) fn next_id(&self) -> EntryId {
        EntryId(self.log.len() as u32)
    }

    pub(super) fn finish(mut self) -> Conversation {
        self.apply_edits();
        Conversation {
            log: self.log,
            sizes: self.sizes,
            leaf: self.leaf,
            fixed: self.fixed,
            replies: self.replies,
            side_calls: Vec::new(),
            added_times: HashMap::new(),
            compactions: self.compactions,
            originals: self.originals,
            names: self.names,
        }
    }
}

/// The normalised figures; none where all are zero, as on replies that were cut short.
fn usage_of(line: PiUsage) -> Option<ReportedUsage> {
    let (cache_read, cache_write) = (line.cache_read.unwrap_or(0), line.cache_write.unwrap_or(0));
    let output = line.output.unwrap_or(0);
    let parts = line.input.unwrap_or(0).saturating_add(cache_read).saturating_add(cache_write);
    // pi goes by the total where there is one; less than its parts it cannot be.
    let total = line.total_tokens.unwrap_or(0).saturating_sub(output);
    let usage = ReportedUsage { prompt: parts.max(total), output, cache_read, cache_write };
    (usage != ReportedUsage::default()).then_some(usage)
}
