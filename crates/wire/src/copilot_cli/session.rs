//! The events of one conversation on their way into a log.
//!
//! A compaction is made in the background: what is said between its beginning and its end is not in its summary and
//! stays in view. Which messages stay beyond that is not recorded, only how many, so they are taken to be the newest.

use super::event::CopilotEvent;
use super::in_view::{InView, ViewEntry};
use super::message::{NO_CALL, message_of};
use crate::document::{ObjectView, View};
use crate::jsonl::{JsonlObject, Problems};
use crate::log_builder::{LogBuilder, Pairing, ParsedMessage};
use crate::{ByteSource, Conversation, FixedParts, Format, RecordedReply, Span};
use epitome_core::{CallId, Compaction, EntryId, Measure, Role, Tail};
use std::collections::HashMap;
use std::sync::Arc;

/// An event that says something, and where it stands.
pub(super) struct EventLine<'l> {
    pub event: &'l CopilotEvent<'l>,
    pub object: JsonlObject<'l>,
    /// The lines of the files it names.
    pub assets: Vec<Span>,
}

/// A conversation as far as it has been read.
pub(super) struct CopilotSession<'m> {
    source: &'m dyn ByteSource,
    measure: &'m dyn Measure,
    assembly: LogBuilder,
    fixed: FixedParts,
    replies: Vec<RecordedReply>,
    /// The entry the next one follows.
    tip: Option<EntryId>,
    /// Entries that follow another than the one before them.
    turns: HashMap<EntryId, Option<EntryId>>,
    /// What each event followed, by its id.
    tips: HashMap<Box<str>, Option<EntryId>>,
    in_view: InView,
    /// The replies whose calls are not answered yet, by call.
    open: HashMap<CallId, EntryId>,
    /// The newest message that is no reply.
    newest_other: Option<EntryId>,
    /// The first entry that the compaction under way does not cover.
    uncovered: Option<EntryId>,
}

impl<'m> CopilotSession<'m> {
    pub(super) fn new(source: &'m dyn ByteSource, measure: &'m dyn Measure) -> Self {
        Self {
            source,
            measure,
            assembly: LogBuilder::default(),
            fixed: FixedParts::default(),
            replies: Vec::new(),
            tip: None,
            turns: HashMap::new(),
            tips: HashMap::new(),
            in_view: InView::default(),
            open: HashMap::new(),
            newest_other: None,
            uncovered: None,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.assembly.newest().is_none()
    }

    /// Remembers what an event follows, for a rewind to it.
    pub(super) fn note_event(&mut self, event: &CopilotEvent<'_>) {
        self.tips.extend(event.id.as_deref().map(|id| (id.into(), self.tip)));
    }

    /// The system prompt comes again, whole, with each turn; the newest counts.
    pub(super) fn take_system(&mut self, event: &CopilotEvent<'_>) {
        self.fixed.system = event.data.text("content").map(Into::into).into_iter().collect();
    }

    pub(super) fn take_settings(&mut self, event: &CopilotEvent<'_>) {
        let model = ["newModel", "selectedModel"].into_iter().find_map(|key| event.data.text(key));
        self.fixed.model = model.map(Into::into).or(self.fixed.model.take());
        self.fixed.window = event.data.number("tokenLimit").or(self.fixed.window);
    }

    pub(super) fn take_message(&mut self, line: &EventLine<'_>) {
        self.add(line, 0);
    }

    pub(super) fn take_result(&mut self, line: &EventLine<'_>, problems: &mut Problems) {
        let call = CallId(line.event.data.shared("toolCallId"));
        let lacks_call = self.assembly.pairing(&call, None) == Pairing::Missing;
        if lacks_call {
            problems
                .add(line.object.line, format!("answers {call}, which waits for no answer; read as text"));
        }
        self.add(line, if lacks_call { NO_CALL } else { 0 });
    }

    fn add(&mut self, line: &EventLine<'_>, part: u32) {
        let EventLine { event, object, assets } = line;
        let named: Vec<Vec<u8>> = assets.iter().filter_map(|&span| self.source.slice(span).ok()).collect();
        let message = message_of(event, part == NO_CALL, &named);
        let weighed = self.measure.weigh(&message);
        let (calls, answers) = (weighed.item.calls.clone(), weighed.item.answers.clone());
        let name = event.id.as_deref().map(Arc::from);
        let next = self.assembly.next_id();
        let id = self.assembly.answer(ParsedMessage { weighed, span: object.span, part, name });
        assets.iter().for_each(|&span| self.assembly.add_span(id, span));
        if id == next {
            self.follow(next);
        }
        let exchange = answers.iter().filter_map(|call| self.open.remove(call)).min().unwrap_or(id);
        self.in_view.add(ViewEntry { id, exchange });
        if message.role == Role::Assistant {
            // A reply may come in several pieces. Behind anything else, nobody waits for what was called before.
            self.open.retain(|_, reply| Some(*reply) > self.newest_other);
            self.note_reply(id, event);
        } else {
            self.newest_other = self.newest_other.max(Some(id));
        }
        self.open.extend(calls.into_iter().map(|call| (call, id)));
    }

    /// Hangs an entry that was just added behind the tip.
    fn follow(&mut self, id: EntryId) {
        if self.tip != id.0.checked_sub(1).map(EntryId) {
            self.turns.insert(id, self.tip);
        }
        self.tip = self.assembly.newest();
    }

    /// Prompt tokens are not recorded, so there is no usage worth the name.
    fn note_reply(&mut self, entry: EntryId, event: &CopilotEvent<'_>) {
        let model = event.data.text("model").map(Into::into).or_else(|| self.fixed.model.clone());
        self.fixed.model.clone_from(&model);
        self.replies.push(RecordedReply {
            entry,
            model,
            usage: None,
            time_ms: event.time_ms,
            is_copied: false,
        });
    }

    /// From here on nothing is covered by the compaction that begins, nor is an exchange that is not whole yet.
    pub(super) fn begin_compaction(&mut self) {
        let open = self.open.values().min().copied();
        self.uncovered = Some(open.unwrap_or_else(|| self.assembly.next_id()));
    }

    pub(super) fn take_compaction(
        &mut self,
        event: &CopilotEvent<'_>,
        object: JsonlObject<'_>,
        problems: &mut Problems,
    ) {
        if self.uncovered.is_none() {
            self.begin_compaction();
        }
        let uncovered = self.uncovered.take().unwrap_or_else(|| self.assembly.next_id());
        if !event.data.is_true("success") {
            return;
        }
        let Some(summary) = event.data.text("summaryContent").filter(|text| !text.is_empty()) else {
            return problems
                .add(object.line, "compacts and leaves no summary; the history before it is kept");
        };
        let first = self.in_view.newest(kept_count(&event.data), uncovered);
        let kept = self.compact(event, Some(summary.into()), first);
        let what = format!("compacts; what it keeps is not recorded, taken to be the newest {kept} messages");
        problems.add(object.line, what);
    }

    /// The oldest messages were dropped. A summary before them is taken to have stayed.
    pub(super) fn take_truncation(
        &mut self,
        event: &CopilotEvent<'_>,
        object: JsonlObject<'_>,
        problems: &mut Problems,
    ) {
        let removed = event.data.number("messagesRemovedDuringTruncation").unwrap_or(0);
        let Some(left) = event.data.number("postTruncationMessagesLength").filter(|_| removed > 0) else {
            return;
        };
        let left = usize::try_from(left).unwrap_or(usize::MAX);
        if left >= self.in_view.len() {
            return;
        }
        let first = self.in_view.newest(left, self.assembly.next_id());
        let kept = self.compact(event, self.in_view.summary(), first);
        let what =
            format!("truncates; what went is not recorded, taken to be all but the newest {kept} messages");
        problems.add(object.line, what);
    }

    pub(super) fn clear(&mut self, event: &CopilotEvent<'_>) {
        self.compact(event, None, self.assembly.next_id());
    }

    /// Records that the messages from `first` on stay, behind `summary`; says how many they are.
    fn compact(&mut self, event: &CopilotEvent<'_>, summary: Option<Arc<str>>, first: EntryId) -> usize {
        let at = self.assembly.next_id();
        let kept = self.in_view.keep_from(first, at, summary.clone());
        let tail = if kept == 0 { Tail::Nothing } else { Tail::From(first) };
        let name = event.id.as_deref().map(Arc::from);
        self.assembly.compact(Compaction { summary, tail, ..Compaction::default() }, name);
        self.follow(at);
        kept
    }

    /// An event and all behind it are taken back.
    pub(super) fn rewind(
        &mut self,
        event: &CopilotEvent<'_>,
        object: JsonlObject<'_>,
        problems: &mut Problems,
    ) {
        let to = event.data.text("upToEventId").unwrap_or_default();
        let Some(&tip) = self.tips.get(&*to) else {
            return problems.add(
                object.line,
                format!("rewinds to {to}, which is not in the file; nothing is taken back"),
            );
        };
        self.tip = tip;
        self.in_view.go_back(tip);
        self.open.retain(|_, reply| Some(*reply) <= tip);
        self.uncovered = None;
    }

    /// The conversation these events make; nothing is left of them here.
    pub(super) fn finish(&mut self, source: Arc<dyn ByteSource>) -> Conversation {
        let assembly = std::mem::take(&mut self.assembly);
        let parent = |at: u32| {
            let turn = self.turns.get(&EntryId(at)).copied();
            turn.unwrap_or_else(|| at.checked_sub(1).map(EntryId))
        };
        let parents = (0..assembly.next_id().0).map(parent).collect();
        let made = assembly.below(parents, source, Format::CopilotCli);
        Conversation {
            log: made.log,
            sizes: made.sizes,
            leaf: self.tip,
            fixed: std::mem::take(&mut self.fixed),
            replies: std::mem::take(&mut self.replies),
            side_calls: Vec::new(),
            added_times: HashMap::new(),
            compactions: Vec::new(),
            originals: made.originals,
            names: made.names,
        }
    }
}

/// How many of the messages before a compaction it keeps: all but those removed, and one more that its summary is.
fn kept_count(data: &ObjectView<'_>) -> usize {
    let counts =
        ["preCompactionMessagesLength", "messagesRemoved"].map(|key| data.get(key).and_then(View::number));
    let [Some(before), Some(removed)] = counts else { return 0 };
    usize::try_from(before.saturating_sub(removed).saturating_sub(1)).unwrap_or(0)
}
