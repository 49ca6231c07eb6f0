//! The way along a path from its first entry to its last, as a session went it: what each call sent, by our count and by the
//! provider's, and what compactions made of it.

use crate::transcript_file::TranscriptFile;
use anyhow::Result;
use epitome_core::{
    Budget, Compaction, Context, EntryId, Log, Mark, SizeTable, Tokens, fence, is_other_context,
};
use epitome_engine::{Assembly, Lens, Timeline};
use epitome_wire::{Conversation, ReportedUsage};
use serde::Serialize;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// A compaction that the file records: of what size the request before and after it was, in the provider's tokens.
#[derive(Serialize)]
pub struct FoundCompaction {
    pub id: EntryId,
    /// What the file holds of it, by our count.
    pub tokens_before: Tokens,
    /// The same after it.
    pub tokens_after: Tokens,
    pub summary: Option<Tokens>,
    /// What its own tool counted before it, with what the file does not record.
    pub reported_before: Option<u64>,
    /// What the provider counted for the next call.
    pub reported_after: Option<u64>,
    /// Whether its tool began it by itself, the window being nearly full.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub automatic: bool,
    /// Whether it was taken back, and no longer counts.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub undone: bool,
    /// What calls before and after it held beside what the file does, as far as that is known.
    #[serde(skip)]
    unrecorded: [Tokens; 2],
    /// Whether the call after it has been seen.
    #[serde(skip)]
    is_settled: bool,
}

impl FoundCompaction {
    /// The whole request before and after it, with what the file does not record: as it was reported, else as far as is known.
    pub fn requests(&self) -> [Tokens; 2] {
        let [before, after] = self.unrecorded;
        [
            self.reported_before.map_or(self.tokens_before + before, Tokens),
            self.reported_after.map_or(self.tokens_after + after, Tokens),
        ]
    }
}

/// A call whose prompt the provider counted.
#[derive(Clone)]
pub struct MeasuredCall {
    /// Its reply.
    pub entry: EntryId,
    /// What the provider said.
    pub usage: ReportedUsage,
    /// What the file holds of that prompt, by our count of the messages.
    pub counted: Tokens,
}

impl MeasuredCall {
    /// What the prompt held beside what the file does, in the provider's tokens.
    pub fn unrecorded(&self, budget: &Budget) -> Tokens {
        Tokens(self.usage.prompt).less(budget.request(self.counted))
    }
}

/// What is met on the way from the first entry to the last.
pub struct PathWalk {
    pub timeline: Timeline,
    /// The context before each message, in order, by our count.
    pub over_time: Vec<u64>,
    pub compactions: Vec<FoundCompaction>,
    /// Passes that only shortened messages, with the request before and after each, in the provider's tokens.
    pub edits: Vec<(EntryId, [Tokens; 2])>,
    /// The newest measured call of the context as it is now.
    pub measured: Option<MeasuredCall>,
    /// The newest measured call before a compaction of ours: its agent adds as much to the next one.
    before_ours: Option<MeasuredCall>,
    /// The measured call with the shortest prompt: of all, it says best what the file does not record.
    pub shortest: Option<MeasuredCall>,
    /// Each measured call, with its place in `over_time`.
    pub calls: Vec<(usize, MeasuredCall)>,
    /// The replies to calls: what a compaction wrote out again is none.
    replies: HashSet<EntryId>,
}

impl PathWalk {
    /// Along the path of conversation `number`, whose messages take `sizes` as `assembly` counts.
    pub fn along(
        file: &TranscriptFile,
        number: usize,
        assembly: &Assembly,
        sizes: &SizeTable,
        path: &[EntryId],
    ) -> Result<Self> {
        let conversation = file.conversation(number);
        let (log, sizes) = (Arc::new(conversation.log.clone()), Arc::new(sizes.clone()));
        let mut walk = Self {
            timeline: Timeline::new(log, sizes),
            over_time: Vec::new(),
            compactions: Vec::new(),
            edits: Vec::new(),
            measured: None,
            before_ours: None,
            shortest: None,
            calls: Vec::new(),
            replies: conversation.replies.iter().map(|reply| reply.entry).collect(),
        };
        let usages = file.usages(number);
        let lens = assembly.lens(&conversation.originals);
        for &id in path {
            walk.take(id, usages.get(&id).copied(), lens)?;
            conversation.log.marks_at(Some(id)).iter().try_for_each(|&mark| walk.take(mark, None, lens))?;
        }
        walk.settle(walk.context().tokens(), None);
        let counting = walk.timeline.compactions();
        walk.compactions.iter_mut().for_each(|found| found.undone = !counting.contains(&found.id));
        walk.tell_requests(conversation, &assembly.budget());
        Ok(walk)
    }

    /// What the next call would hold beside what the file does, in the provider's tokens: by the newest measured call of
    /// the context as it is now, or before a compaction of ours, else by the shortest of all. None where the file records no
    /// usage.
    pub fn unrecorded(&self, budget: &Budget) -> Option<Tokens> {
        let known = self.measured.as_ref().or(self.before_ours.as_ref()).or(self.shortest.as_ref());
        known.map(|call| call.unrecorded(budget))
    }

    pub fn context(&self) -> &Context {
        self.timeline.context()
    }

    fn take(&mut self, id: EntryId, usage: Option<ReportedUsage>, lens: Lens<'_>) -> Result<()> {
        let before = self.context().tokens();
        self.over_time.push(before.0);
        let is_reply = self.replies.contains(&id);
        // What stands once it is taken back is not what it came down to.
        let is_undo = matches!(self.timeline.log().mark_of(id), Some(Mark::Undo { .. }));
        if is_reply || is_undo {
            self.settle(before, usage.filter(|_| is_reply));
        }
        if let Some(usage) = usage {
            self.measure(MeasuredCall { entry: id, usage, counted: before });
        }
        self.timeline.absorb(id, lens)?;
        if self.timeline.log().get(id).is_some_and(is_other_context) {
            // What was told of the context before says nothing of this one. An agent that compacts puts files and plans back
            // into view without recording it; a file that we compacted is the same agent's as before.
            let newest = self.measured.take().or(self.before_ours.take());
            self.before_ours = newest.filter(|_| is_ours(self.timeline.log(), id));
        }
        if let Some(Mark::Edit { .. }) = self.timeline.log().mark_of(id) {
            self.edits.push((id, [before, self.context().tokens()]));
        }
        if let Some(compaction) = self.timeline.log().compaction(id) {
            let summary =
                compaction.summary.as_deref().map(|text| lens.measure.text(text) + lens.measure.framing());
            self.compactions.push(FoundCompaction {
                id,
                tokens_before: before,
                tokens_after: self.context().tokens(),
                summary,
                reported_before: None,
                reported_after: None,
                automatic: false,
                undone: false,
                unrecorded: [Tokens::ZERO; 2],
                is_settled: false,
            });
        }
        Ok(())
    }

    fn measure(&mut self, call: MeasuredCall) {
        if self.shortest.as_ref().is_none_or(|shortest| call.usage.prompt < shortest.usage.prompt) {
            self.shortest = Some(call.clone());
        }
        self.calls.push((self.over_time.len() - 1, call.clone()));
        self.measured = Some(call);
    }

    /// What a compaction came down to is what the next call sent: some tools write the kept messages behind it.
    fn settle(&mut self, tokens: Tokens, usage: Option<ReportedUsage>) {
        if let Some(found) = self.compactions.last_mut().filter(|found| !found.is_settled) {
            (found.tokens_after, found.is_settled) = (tokens, true);
            found.reported_after = usage.map(|usage| usage.prompt);
        }
    }

    /// Makes requests of what was found by the history alone, and adds what the file says of its own.
    fn tell_requests(&mut self, conversation: &Conversation, budget: &Budget) {
        let told: HashMap<EntryId, _> =
            conversation.compactions.iter().map(|told| (told.entry, told)).collect();
        let unrecorded = |call: &MeasuredCall| call.unrecorded(budget);
        let newest_before = |id: EntryId| {
            let before = self.calls.iter().rev().find(|(_, call)| call.entry < id);
            before.map(|(_, call)| call).or(self.shortest.as_ref())
        };
        for (id, sizes) in &mut self.edits {
            let beside = newest_before(*id).map_or(Tokens::ZERO, unrecorded);
            *sizes = sizes.map(|history| budget.request(history) + beside);
        }
        for found in &mut self.compactions {
            [found.tokens_before, found.tokens_after] =
                [found.tokens_before, found.tokens_after].map(|history| budget.request(history));
            found.summary = found.summary.map(|tokens| budget.scale.theirs(tokens));
            let before = newest_before(found.id);
            let after = if is_ours(&conversation.log, found.id) { before } else { self.shortest.as_ref() };
            found.unrecorded = [before, after].map(|call| call.map_or(Tokens::ZERO, unrecorded));
            let told = told.get(&found.id);
            found.reported_before = told.and_then(|told| told.tokens_before);
            found.automatic = told.is_some_and(|told| told.is_automatic);
        }
    }
}

/// Whether a compaction is ours, in whatever tool's form it is written; any mark is.
fn is_ours(log: &Log, id: EntryId) -> bool {
    log.mark_of(id).is_some() || log.compaction(id).is_some_and(is_epitomes)
}

/// Whether a compaction that a tool's file records was written there by epitome.
pub fn is_epitomes(recorded: &Compaction) -> bool {
    recorded.summary.as_deref().is_some_and(fence::is_ours)
}
