//! What there is to know about one conversation, as `--json` prints it.

use crate::opened::{Opened, Window};
use anyhow::Result;
use epitome_core::{Archive, Context, Entry, EntryId, Log, Role, Sizes, Tokens, ledger::Ledger};
use epitome_wire::{Conversation, Format, Problem, ReportedUsage};
use serde::Serialize;

/// What there is to know about one conversation.
#[derive(Serialize)]
pub struct Survey {
    pub file: String,
    pub format: Format,
    pub conversation: usize,
    pub model: Option<String>,
    pub count_method: String,
    pub window: Window,
    /// System prompt and tools.
    pub fixed: Tokens,
    /// Kept free for the answer.
    pub reserve: Tokens,
    /// Everything ever said on this branch.
    pub history: Part,
    /// What the model sees of it now.
    pub context: Part,
    pub turns: usize,
    pub exchanges: usize,
    pub replies: usize,
    /// The newest prompt the provider measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<ReportedUsage>,
    /// The context before each message, in order.
    pub over_time: Vec<u64>,
    /// The messages that take most, largest first.
    pub largest: Vec<Large>,
    /// Compactions found in the file.
    pub compactions: Vec<Found>,
    pub ledger: Ledger,
    pub problems: Vec<Problem>,
}

/// A set of messages and what they take.
#[derive(Default, Serialize)]
pub struct Part {
    pub messages: usize,
    pub tokens: Tokens,
    pub by_kind: Sizes,
}

/// A large message.
#[derive(Serialize)]
pub struct Large {
    pub id: EntryId,
    pub role: Role,
    pub tokens: Tokens,
}

/// A compaction that the file records.
#[derive(Serialize)]
pub struct Found {
    pub id: EntryId,
    pub tokens_before: Tokens,
    pub tokens_after: Tokens,
    pub summary: Option<Tokens>,
    /// Whether the call after it has been seen.
    #[serde(skip)]
    is_settled: bool,
}

/// How many of the largest messages are named.
const LARGEST_MAX: usize = 5;

impl Survey {
    /// Surveys conversation `number`.
    pub fn of(opened: &Opened, number: usize) -> Result<Self> {
        let conversation = &opened.transcript.conversations[number];
        let branch = conversation.leaf.map(|leaf| conversation.log.branch(leaf)).unwrap_or_default();
        let walk = Walk::along(opened, conversation, &branch)?;
        let budget = opened.budget(conversation);
        Ok(Self {
            file: opened.path.display().to_string(),
            format: opened.transcript.format,
            conversation: number,
            model: conversation.fixed.model.as_deref().map(str::to_owned),
            count_method: opened.method(),
            window: opened.window.clone(),
            fixed: budget.fixed,
            reserve: budget.reserve,
            history: part(&conversation.log, branch.iter().copied()),
            context: part_in_view(&conversation.log, &walk.context),
            turns: branch
                .iter()
                .filter_map(|&id| conversation.log.item(id))
                .filter(|item| item.opens_turn())
                .count(),
            exchanges: branch
                .iter()
                .filter_map(|&id| conversation.log.item(id))
                .filter(|item| !item.calls.is_empty())
                .count(),
            replies: conversation.replies.len(),
            usage: conversation.replies.iter().rev().find_map(|reply| reply.usage),
            over_time: walk.over_time,
            largest: largest(&conversation.log, &walk.context),
            compactions: walk.compactions,
            ledger: ledger(conversation, &branch)?,
            problems: opened.transcript.problems.clone(),
        })
    }
}

/// What is met on the way from the first entry to the last.
#[derive(Default)]
struct Walk {
    context: Context,
    over_time: Vec<u64>,
    compactions: Vec<Found>,
}

impl Walk {
    fn along(opened: &Opened, conversation: &Conversation, branch: &[EntryId]) -> Result<Self> {
        let mut walk = Self::default();
        for &id in branch {
            let before = walk.context.tokens();
            walk.over_time.push(before.0);
            if conversation.log.item(id).is_some_and(|item| item.role == Role::Assistant) {
                walk.settle(before);
            }
            walk.context.take(&conversation.log, id, &opened.gauge, &conversation.originals)?;
            if let Some(Entry::Compaction(compaction)) = conversation.log.get(id) {
                let summary = compaction.summary.as_ref().map(|summary| summary.tokens);
                walk.compactions.push(Found {
                    id,
                    tokens_before: before,
                    tokens_after: walk.context.tokens(),
                    summary,
                    is_settled: false,
                });
            }
        }
        walk.settle(walk.context.tokens());
        Ok(walk)
    }

    /// What a compaction came down to is what the next call sent: some tools write the kept messages behind it.
    fn settle(&mut self, tokens: Tokens) {
        if let Some(found) = self.compactions.last_mut().filter(|found| !found.is_settled) {
            (found.tokens_after, found.is_settled) = (tokens, true);
        }
    }
}

fn part(log: &Log, ids: impl Iterator<Item = EntryId>) -> Part {
    let mut part = Part::default();
    for item in ids.filter_map(|id| log.item(id)) {
        part.messages += 1;
        part.by_kind += item.sizes;
    }
    part.tokens = part.by_kind.total();
    part
}

fn part_in_view(log: &Log, context: &Context) -> Part {
    let mut part = part(log, context.message_slots().map(|(id, ..)| id));
    if let Some((_, summary)) = context.summary(log) {
        part.by_kind.text += summary.tokens;
    }
    part.tokens = context.tokens();
    part
}

fn largest(log: &Log, context: &Context) -> Vec<Large> {
    let mut all: Vec<(EntryId, Tokens)> =
        context.message_slots().map(|(id, _, tokens)| (id, tokens)).collect();
    all.sort_by_key(|&(id, tokens)| (std::cmp::Reverse(tokens), id));
    all.truncate(LARGEST_MAX);
    all.into_iter().filter_map(|(id, tokens)| Some(Large { id, role: log.item(id)?.role, tokens })).collect()
}

fn ledger(conversation: &Conversation, branch: &[EntryId]) -> Result<Ledger> {
    let mut ledger = Ledger::default();
    for &id in branch.iter().filter(|&&id| conversation.log.item(id).is_some()) {
        ledger.update(id, &*conversation.originals.message(id)?);
    }
    Ok(ledger)
}
