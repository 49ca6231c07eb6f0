//! What there is to know about one conversation, as data: `--json` prints it, and the pages are drawn from it.

use super::fill::{Conversion, WindowFill};
use super::walk::{FoundCompaction, PathWalk};
use super::waste::Waste;
use crate::transcript_file::TranscriptFile;
use anyhow::Result;
use epitome_core::ledger::Ledger;
use epitome_core::{
    Archive, Context, ContextFill, EntryId, MemoryArchive, MessageShare, Scale, Sizes, Tokens,
};
use epitome_engine::{Assembly, WindowChoice};
use epitome_tokens::{Bill, BilledCall, Catalog, Usage};
use epitome_wire::{Conversation, Format, Problem, ReportedUsage};
use serde::Serialize;
use std::collections::HashSet;
use std::sync::Arc;

/// What there is to know about one conversation.
#[derive(Serialize)]
pub struct Survey {
    pub file: String,
    pub format: Format,
    pub conversation: usize,
    /// How many the file has.
    pub conversations: usize,
    /// The model the file says the conversation was last held with.
    pub model: Option<String>,
    /// The model it is counted for.
    pub counted_as: Option<String>,
    pub count_method: String,
    pub window: WindowChoice,
    /// What the window is filled with, in the provider's tokens.
    pub fill: WindowFill,
    /// What could be freed without a summary.
    pub waste: Waste,
    /// What its calls cost, those of other branches and of subagents too; of a copy those made since.
    pub cost: Bill,
    /// How many of its calls were made, and paid, in the session that it is a copy of.
    #[serde(skip_serializing_if = "is_zero")]
    pub copied_calls: usize,
    /// How many of the calls it cost were made by subagents that stand in the same file.
    #[serde(skip_serializing_if = "is_zero")]
    pub side_calls: usize,
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
    /// The newest prompt the provider measured of the context as it is now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<ReportedUsage>,
    /// The context before each message, in order.
    pub over_time: Vec<u64>,
    /// The messages that take most, largest first.
    pub largest: Vec<MessageShare>,
    /// Compactions found in the file.
    pub compactions: Vec<FoundCompaction>,
    pub ledger: Ledger,
    /// What was odd about the file; told with its first conversation.
    pub problems: Vec<Problem>,
    /// How our count is told in the provider's tokens.
    #[serde(skip)]
    pub conversion: Conversion,
}

/// A set of messages and what they take.
#[derive(Default, Serialize)]
pub struct Share {
    pub messages: usize,
    pub tokens: Tokens,
    pub by_kind: Sizes,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// How many of the largest messages are named.
const LARGEST_MAX: usize = 5;

impl Survey {
    /// Surveys conversation `number`, at the prices of `catalog`.
    pub fn of(file: &TranscriptFile, number: usize, catalog: &Catalog) -> Result<Self> {
        let conversation = file.conversation(number);
        let path = conversation.log.path_of(conversation.leaf);
        let assembly = file.assembly(&conversation.fixed);
        file.calibrate(number, &assembly)?;
        let walk = PathWalk::along(file, number, &assembly, &file.conversation(number).sizes, &path)?;
        let budget = assembly.budget();
        let read = PathReading::of(conversation, walk.context(), &path)?;
        let held = held(&walk, &read, &assembly)?;
        let items = || path.iter().filter_map(|&id| conversation.log.item(id));
        let on_path: HashSet<EntryId> = path.iter().copied().collect();
        let named = |name: &str| Some(name.to_owned()).filter(|name| !name.is_empty());
        Ok(Self {
            file: file.path.display().to_string(),
            format: file.transcript.format,
            conversation: number,
            conversations: file.transcript.conversations.len(),
            model: conversation.fixed.model.as_deref().map(str::to_owned),
            counted_as: named(&file.model().id),
            count_method: assembly.count_method().to_string(),
            window: assembly.window(),
            waste: Waste::of(file, number, &assembly, read.archive.clone(), held.repeated)?,
            cost: bill(conversation, catalog),
            copied_calls: conversation.replies.iter().filter(|reply| reply.is_copied).count()
                + conversation.side_calls.iter().filter(|call| call.is_copied).count(),
            side_calls: conversation.side_calls.iter().filter(|call| !call.is_copied).count(),
            fixed: budget.fixed,
            reserve: budget.reserve,
            history: share(conversation, path.iter().copied()),
            context: Share {
                messages: held.messages.len(),
                tokens: walk.context().tokens(),
                by_kind: Sizes { text: held.kinds.text + held.summary, ..held.kinds },
            },
            request: budget.request(walk.context().tokens()),
            scale: budget.scale,
            turns: items().filter(|item| item.opens_turn()).count(),
            exchanges: items().filter(|item| !item.calls.is_empty()).count(),
            replies: conversation.replies.iter().filter(|reply| on_path.contains(&reply.entry)).count(),
            usage: walk.measured.as_ref().map(|call| call.usage),
            largest: largest(&held),
            conversion: Conversion::of(walk.measured.as_ref(), &budget),
            fill: WindowFill::of(&walk, held, &budget),
            over_time: walk.over_time,
            compactions: walk.compactions,
            ledger: read.ledger,
            problems: if number == 0 { file.transcript.problems.clone() } else { Vec::new() },
        })
    }
}

/// All messages of a path read once: what they did, and those in view to be looked at again.
struct PathReading {
    ledger: Ledger,
    archive: Arc<MemoryArchive>,
}

impl PathReading {
    fn of(conversation: &Conversation, context: &Context, path: &[EntryId]) -> Result<Self> {
        let originals = Arc::new(conversation.originals.clone());
        let (mut ledger, archive) = (Ledger::default(), MemoryArchive::in_front_of(originals));
        let in_view: HashSet<EntryId> = context.message_slots().map(|(id, ..)| id).collect();
        for &id in path.iter().filter(|&&id| conversation.log.item(id).is_some()) {
            let message = conversation.originals.message(id)?;
            ledger.update(id, &message);
            if in_view.contains(&id) {
                archive.put_shared(id, message);
            }
        }
        Ok(Self { ledger, archive: Arc::new(archive) })
    }
}

fn held(walk: &PathWalk, read: &PathReading, assembly: &Assembly) -> Result<ContextFill> {
    let lens = assembly.lens(&*read.archive);
    Ok(ContextFill::of(walk.context(), &read.ledger, walk.timeline.reader(lens))?)
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

fn largest(held: &ContextFill) -> Vec<MessageShare> {
    let mut all: Vec<&MessageShare> = held.messages.iter().collect();
    all.sort_by_key(|message| (std::cmp::Reverse(message.tokens), message.id));
    all.into_iter().take(LARGEST_MAX).cloned().collect()
}

/// What the calls of a conversation cost, by day of the calendar in Greenwich: a file does not say where its reader lives.
fn bill(conversation: &Conversation, catalog: &Catalog) -> Bill {
    let day = |time_ms: Option<u64>| {
        let time = jiff::Timestamp::from_millisecond(i64::try_from(time_ms?).ok()?).ok()?;
        Some(time.strftime("%Y-%m-%d").to_string())
    };
    let Conversation { replies, side_calls, .. } = conversation;
    let own = replies.iter().filter(|reply| !reply.is_copied);
    let own = own.map(|reply| (reply.time_ms, reply.model.as_deref(), reply.usage));
    let aside = side_calls.iter().filter(|call| !call.is_copied);
    let aside = aside.map(|call| (call.time_ms, call.model.as_deref(), call.usage));
    let all: Vec<_> = own.chain(aside).map(|(time_ms, model, usage)| (day(time_ms), model, usage)).collect();
    let calls = all.iter().filter_map(|(day, model, usage)| {
        let ReportedUsage { prompt, output, cache_read, cache_write } = (*usage)?;
        let usage = Usage { prompt, output, cache_read, cache_write, reasoning: 0 };
        Some(BilledCall { day: day.as_deref(), model: *model, usage })
    });
    Bill::of(calls, catalog)
}
