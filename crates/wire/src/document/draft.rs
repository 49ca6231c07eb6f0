//! A conversation while it is being read: entries, where their originals are, and what was odd.

use super::pairs::Pairs;
use super::{ConversationView, Dialect, Document, Side, View};
use crate::jsonl::Problems;
use crate::originals::{BodyFrame, BodyPlace};
use crate::transcript::end_of_copied;
use crate::{
    ByteSource, Conversation, FixedParts, OriginalPlace, Originals, RecordedReply, ReportedUsage, Span,
};
use epitome_core::{CallId, Compaction, Entry, EntryId, Log, Measure, MeasuredItem, Message, SizeTable};
use std::collections::HashMap;
use std::marker::PhantomData;
use std::sync::Arc;

/// A conversation under construction.
pub(crate) struct ConversationDraft<'d, D> {
    /// What stands before the history.
    pub(crate) fixed: FixedParts,
    document: &'d Document,
    measure: &'d dyn Measure,
    log: Log,
    sizes: SizeTable,
    originals: Originals,
    replies: Vec<RecordedReply>,
    names: Vec<Option<Arc<str>>>,
    pairs: Pairs,
    /// The entry the next one follows.
    tip: Option<EntryId>,
    problems: &'d mut Problems,
    /// Which conversation of the file it is, where there are several.
    label: String,
    /// The element being read, counted from 1 as people do.
    element: usize,
    dialect: PhantomData<D>,
}

impl<'d, D: Dialect> ConversationDraft<'d, D> {
    pub(super) fn new(
        document: &'d Document,
        source: Arc<dyn ByteSource>,
        measure: &'d dyn Measure,
        label: String,
        problems: &'d mut Problems,
    ) -> Self {
        Self {
            fixed: FixedParts::default(),
            document,
            measure,
            log: Log::default(),
            sizes: SizeTable::default(),
            originals: Originals::new(source, D::FORMAT),
            replies: Vec::new(),
            names: Vec::new(),
            pairs: Pairs::default(),
            tip: None,
            problems,
            label,
            element: 0,
            dialect: PhantomData,
        }
    }

    /// Remembers where the body stands, so that it can be written again from its own bytes; the first `opening`
    /// elements are instructions. It is a request where its list is in the first of `fields` alone: the others are
    /// where responses and logs keep theirs.
    pub(crate) fn put_body(&mut self, body: &ConversationView<'_>, fields: &[&str], opening: usize) {
        let lists: Vec<Option<View<'_>>> = fields.iter().map(|field| body.around.get(field)).collect();
        let frame = match (body.around.whole(), &lists[..]) {
            (Some(whole), [Some(list), others @ ..]) if others.iter().all(Option::is_none) => {
                Some(BodyFrame { body: self.document.span(whole), list: self.document.span(*list) })
            }
            (Some(_) | None, _) => None,
        };
        let elements = body.elements.iter().map(|&element| self.document.span(element)).collect();
        self.originals.put_body(BodyPlace { frame, elements, opening });
    }

    /// Says which element is being read, so that a problem can name it.
    pub(crate) fn turn_to(&mut self, index: usize) {
        self.element = index + 1;
    }

    /// The number of the element being read.
    pub(crate) fn element(&self) -> usize {
        self.element
    }

    /// Adds the message that `runs` say on `side`. One that cannot be read is left out, and that is said.
    pub(crate) fn say(&mut self, runs: &[View<'_>], side: Side) -> Option<EntryId> {
        match D::message(runs, side) {
            Ok(message) => Some(self.put(runs, side, &message)),
            Err(why) => {
                self.leave_out(&why);
                None
            }
        }
    }

    /// Says that the element being read is left out, and why.
    pub(crate) fn leave_out(&mut self, why: &str) {
        self.odd(&format!("message {}: {why}; it is left out", self.element));
    }

    /// Adds a message already made from `runs` on `side`.
    pub(crate) fn put(&mut self, runs: &[View<'_>], side: Side, message: &Message) -> EntryId {
        let MeasuredItem { item, sizes } = self.measure.weigh(message);
        let id = self.next_id();
        for fault in self.pairs.take(id, &item) {
            self.odd(&format!("message {}: {fault}", self.element));
        }
        self.push(Entry::Message(item));
        self.sizes.set(id, sizes);
        let spans: Box<[Span]> = runs.iter().map(|&run| self.document.span(run)).collect();
        self.originals.put(id, OriginalPlace::Spans { spans, part: side as u32 });
        id
    }

    /// Adds something that belongs to the session and not to the context.
    pub(crate) fn note(&mut self, kind: &str) {
        self.push(Entry::Note { kind: kind.into() });
    }

    /// Adds a compaction the tool itself had done, with the summary as the model saw it.
    pub(crate) fn compact(&mut self, summary: Option<&str>, mut compaction: Compaction) {
        compaction.summary = summary.map(Into::into);
        self.push(Entry::Recorded(Box::new(compaction)));
    }

    /// The same where the tool writes its new history out behind the summary: what was called before is out of
    /// view, and may be called again.
    pub(crate) fn compact_whole(&mut self, summary: Option<&str>, front: Vec<EntryId>) {
        self.pairs.leave();
        self.compact(summary, Compaction { front, ..Compaction::default() });
    }

    fn push(&mut self, entry: Entry) {
        let id = self.log.append(self.tip, entry).expect("what it follows is in the log");
        self.names.push(None);
        self.tip = Some(id);
    }

    /// The entry the next one will follow.
    pub(crate) fn tip(&self) -> Option<EntryId> {
        self.tip
    }

    /// Takes the conversation up again behind `tip`: what was said since stays in the log, off the path.
    pub(crate) fn go_back(&mut self, tip: Option<EntryId>) {
        self.tip = tip;
        self.pairs.go_back(tip);
    }

    /// Whether a call of this path has its result.
    pub(crate) fn is_answered(&self, call: &CallId) -> bool {
        self.pairs.is_answered(call)
    }

    /// The id the next entry will have.
    pub(crate) fn next_id(&self) -> EntryId {
        EntryId(self.log.len() as u32)
    }

    /// Records that `entry` is an answer of the model.
    pub(crate) fn reply(&mut self, entry: EntryId, model: Option<Arc<str>>, usage: Option<ReportedUsage>) {
        if model.is_some() {
            self.fixed.model.clone_from(&model);
        }
        let usage = usage.filter(|usage| *usage != ReportedUsage::default());
        self.replies.push(RecordedReply { entry, model, usage, time_ms: None, is_copied: false });
    }

    /// Records when the newest answer came, in milliseconds since 1970.
    pub(crate) fn reply_came_at(&mut self, time_ms: Option<u64>) {
        if let Some(reply) = self.replies.last_mut() {
            reply.time_ms = time_ms;
        }
    }

    /// Records that all answers so far were made in the session that this one is a copy of.
    pub(crate) fn end_of_copied(&mut self) {
        end_of_copied(&mut self.replies);
    }

    /// Remembers what the tool itself calls an entry.
    pub(crate) fn name(&mut self, entry: EntryId, name: &str) {
        if let Some(slot) = self.names.get_mut(entry.index()).filter(|_| !name.is_empty()) {
            *slot = Some(name.into());
        }
    }

    /// Counts a record of a kind nobody knows.
    pub(crate) fn pass_over(&mut self, kind: &str) {
        self.problems.add_unknown(self.element as u64, kind);
    }

    /// Remembers something odd that was survived.
    pub(crate) fn odd(&mut self, what: &str) {
        self.problems.add_overall(format!("{}{what}", self.label));
    }

    /// The conversation.
    pub(super) fn finish(mut self) -> Conversation {
        for fault in std::mem::take(&mut self.pairs).finish() {
            self.odd(&fault);
        }
        Conversation {
            leaf: self.tip,
            log: self.log,
            sizes: self.sizes,
            fixed: self.fixed,
            replies: self.replies,
            side_calls: Vec::new(),
            added_times: HashMap::new(),
            compactions: Vec::new(),
            originals: self.originals,
            names: self.names,
        }
    }
}
