//! What there is to know about one conversation, as `--json` prints it.

use crate::transcript_file::TranscriptFile;
use anyhow::Result;
use epitome_core::{Archive, Budget, Context, EntryId, Mark, Role, Scale, Sizes, Tokens, ledger::Ledger};
use epitome_engine::{Assembly, Lens, Timeline, WindowChoice};
use epitome_wire::{Conversation, Format, Problem, ReportedUsage};
use serde::Serialize;
use std::sync::Arc;

/// What there is to know about one conversation.
#[derive(Serialize)]
pub struct Survey {
    pub file: String,
    pub format: Format,
    pub conversation: usize,
    pub model: Option<String>,
    pub count_method: String,
    pub window: WindowChoice,
    /// System prompt and tools, in the provider's tokens.
    pub fixed: Tokens,
    /// Kept free for the answer.
    pub reserve: Tokens,
    /// Everything ever said on this branch.
    pub history: Share,
    /// What the model sees of it now.
    pub context: Share,
    /// The same with what stands before it, as the provider counts it by what it reported of the session's calls.
    pub request: Tokens,
    /// So many of the provider's tokens for a thousand of ours.
    #[serde(skip_serializing_if = "Scale::is_same")]
    pub scale: Scale,
    pub turns: usize,
    pub exchanges: usize,
    pub replies: usize,
    /// The newest prompt the provider measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<ReportedUsage>,
    /// The context before each message, in order.
    pub over_time: Vec<u64>,
    /// The messages that take most, largest first.
    pub largest: Vec<LargeMessage>,
    /// Compactions found in the file.
    pub compactions: Vec<FoundCompaction>,
    pub ledger: Ledger,
    pub problems: Vec<Problem>,
}

/// A set of messages and what they take.
#[derive(Default, Serialize)]
pub struct Share {
    pub messages: usize,
    pub tokens: Tokens,
    pub by_kind: Sizes,
}

/// A large message.
#[derive(Serialize)]
pub struct LargeMessage {
    pub id: EntryId,
    pub role: Role,
    pub tokens: Tokens,
}

/// A compaction that the file records: of what size the request before and after it was, in the provider's tokens.
#[derive(Serialize)]
pub struct FoundCompaction {
    pub id: EntryId,
    pub tokens_before: Tokens,
    pub tokens_after: Tokens,
    pub summary: Option<Tokens>,
    /// Whether it was taken back, and no longer counts.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub undone: bool,
    /// Whether the call after it has been seen.
    #[serde(skip)]
    is_settled: bool,
}

impl FoundCompaction {
    /// The same, found by the history alone, as the request it was part of.
    fn of_request(self, budget: &Budget) -> Self {
        let [tokens_before, tokens_after] =
            [self.tokens_before, self.tokens_after].map(|history| budget.request(history));
        let summary = self.summary.map(|tokens| budget.scale.theirs(tokens));
        Self { tokens_before, tokens_after, summary, ..self }
    }
}

/// How many of the largest messages are named.
const LARGEST_MAX: usize = 5;

impl Survey {
    /// Surveys conversation `number`.
    pub fn of(file: &TranscriptFile, number: usize) -> Result<Self> {
        let conversation = file.conversation(number);
        let path = conversation.log.path_of(conversation.leaf);
        let assembly = file.assembly(&conversation.fixed);
        file.calibrate(number, &assembly)?;
        let walk = PathWalk::along(conversation, &assembly, &path)?;
        let budget = assembly.budget();
        let items = || path.iter().filter_map(|&id| conversation.log.item(id));
        Ok(Self {
            file: file.path.display().to_string(),
            format: file.transcript.format,
            conversation: number,
            model: conversation.fixed.model.as_deref().map(str::to_owned),
            count_method: assembly.count_method().to_string(),
            window: assembly.window(),
            fixed: budget.fixed,
            reserve: budget.reserve,
            history: share(conversation, path.iter().copied()),
            context: share_in_view(conversation, walk.context()),
            request: budget.request(walk.context().tokens()),
            scale: budget.scale,
            turns: items().filter(|item| item.opens_turn()).count(),
            exchanges: items().filter(|item| !item.calls.is_empty()).count(),
            replies: conversation.replies.len(),
            usage: conversation.replies.iter().rev().find_map(|reply| reply.usage),
            largest: largest(conversation, walk.context()),
            over_time: walk.over_time,
            compactions: walk.compactions.into_iter().map(|found| found.of_request(&budget)).collect(),
            ledger: ledger(conversation, &path)?,
            problems: file.transcript.problems.clone(),
        })
    }
}

/// What is met on the way from the first entry to the last.
struct PathWalk {
    timeline: Timeline,
    over_time: Vec<u64>,
    compactions: Vec<FoundCompaction>,
}

impl PathWalk {
    fn along(conversation: &Conversation, assembly: &Assembly, path: &[EntryId]) -> Result<Self> {
        let (log, sizes) = (Arc::new(conversation.log.clone()), Arc::new(conversation.sizes.clone()));
        let mut walk =
            Self { timeline: Timeline::new(log, sizes), over_time: Vec::new(), compactions: Vec::new() };
        let lens = assembly.lens(&conversation.originals);
        for &id in path {
            walk.take(id, lens)?;
            conversation.log.marks_at(Some(id)).iter().try_for_each(|&mark| walk.take(mark, lens))?;
        }
        walk.settle(walk.context().tokens());
        let counting = walk.timeline.compactions();
        walk.compactions.iter_mut().for_each(|found| found.undone = !counting.contains(&found.id));
        Ok(walk)
    }

    fn context(&self) -> &Context {
        self.timeline.context()
    }

    fn take(&mut self, id: EntryId, lens: Lens<'_>) -> Result<()> {
        let before = self.context().tokens();
        self.over_time.push(before.0);
        let is_reply = self.timeline.log().item(id).is_some_and(|item| item.role == Role::Assistant);
        // What stands once it is taken back is not what it came down to.
        let is_undo = matches!(self.timeline.log().mark_of(id), Some(Mark::Undo { .. }));
        if is_reply || is_undo {
            self.settle(before);
        }
        self.timeline.absorb(id, lens)?;
        if let Some(compaction) = self.timeline.log().compaction(id) {
            let summary =
                compaction.summary.as_deref().map(|text| lens.measure.text(text) + lens.measure.framing());
            self.compactions.push(FoundCompaction {
                id,
                tokens_before: before,
                tokens_after: self.context().tokens(),
                summary,
                undone: false,
                is_settled: false,
            });
        }
        Ok(())
    }

    /// What a compaction came down to is what the next call sent: some tools write the kept messages behind it.
    fn settle(&mut self, tokens: Tokens) {
        if let Some(found) = self.compactions.last_mut().filter(|found| !found.is_settled) {
            (found.tokens_after, found.is_settled) = (tokens, true);
        }
    }
}

fn share(conversation: &Conversation, ids: impl Iterator<Item = EntryId>) -> Share {
    let mut share = Share::default();
    for id in ids.filter(|&id| conversation.log.item(id).is_some()) {
        share.messages += 1;
        share.by_kind += conversation.sizes.of(id);
    }
    share.tokens = share.by_kind.total();
    share
}

fn share_in_view(conversation: &Conversation, context: &Context) -> Share {
    let mut share = share(conversation, context.message_slots().map(|(id, ..)| id));
    let messages: Tokens = context.message_slots().map(|(.., tokens)| tokens).sum();
    // What is no message in view is the summary.
    share.by_kind.text += context.tokens().less(messages);
    share.tokens = context.tokens();
    share
}

fn largest(conversation: &Conversation, context: &Context) -> Vec<LargeMessage> {
    let mut all: Vec<(EntryId, Tokens)> =
        context.message_slots().map(|(id, _, tokens)| (id, tokens)).collect();
    all.sort_by_key(|&(id, tokens)| (std::cmp::Reverse(tokens), id));
    all.truncate(LARGEST_MAX);
    let large = |(id, tokens)| Some(LargeMessage { id, role: conversation.log.item(id)?.role, tokens });
    all.into_iter().filter_map(large).collect()
}

fn ledger(conversation: &Conversation, path: &[EntryId]) -> Result<Ledger> {
    let mut ledger = Ledger::default();
    for &id in path.iter().filter(|&&id| conversation.log.item(id).is_some()) {
        ledger.update(id, &*conversation.originals.message(id)?);
    }
    Ok(ledger)
}
