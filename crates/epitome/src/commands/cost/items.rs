//! What a stored session took, call by call and compaction by compaction: from its marks, and from the file it was read from.

use crate::stored_session::LoadedSession;
use epitome_core::{Entry, EntryId, Mark, Record, Tokens, UsageMark};
use epitome_store::StoredEntry;
use epitome_tokens::{CacheUse, Catalog, ReducedRequest, Usage};
use epitome_wire::ReportedUsage;
use std::collections::HashSet;
use std::sync::Arc;

/// Something that took tokens, or saved some.
pub(super) struct CostItem {
    pub(super) time_ms: Option<u64>,
    pub(super) model: String,
    pub(super) part: CostPart,
}

/// What of it.
pub(super) enum CostPart {
    /// A call of the session's own, and what it did not send.
    Call {
        usage: Usage,
        dollars: Option<f64>,
        saved: u64,
        saved_dollars: Option<f64>,
        /// Whether its provider said nothing of it, and the figures are our own count.
        is_estimated: bool,
        /// What it would not have sent, had what was observed been done.
        observed: u64,
    },
    /// A compaction.
    Pass { record: Arc<Record> },
    /// A compaction that was not made.
    Observation,
}

/// What compactions before a call have changed in it.
#[derive(Clone, Copy, Default)]
struct CallReduction {
    /// What it did not send because of them.
    freed: u64,
    /// What it had to send anew, being the first behind one.
    rebuilt: u64,
    /// The window they were made for: no provider would have taken more.
    window: u64,
    /// What it would not have sent, had what was observed been done.
    observed: u64,
}

/// A call at list prices, with what it did not send.
fn priced(
    catalog: &Catalog,
    time_ms: Option<u64>,
    model: &str,
    usage: Usage,
    reduction: CallReduction,
) -> CostItem {
    let prices = catalog.find(model).prices.map(|prices| prices.value);
    let CallReduction { freed, rebuilt, window, observed } = reduction;
    let sent = usage.prompt;
    let without = sent.saturating_add(freed).min(window).max(sent);
    let reduced = ReducedRequest { without, sent, rebuilt, cache: CacheUse::of(&usage) };
    let part = CostPart::Call {
        usage,
        dollars: prices.map(|prices| prices.cost(&usage)),
        saved: without - sent,
        is_estimated: false,
        observed,
        saved_dollars: reduced.dollars_saved(prices.as_ref()),
    };
    CostItem { time_ms, model: model.to_owned(), part }
}

/// How much of a session was taken over from the one it is a fork of, and paid there.
fn taken_over(stored: &LoadedSession) -> usize {
    stored.listed.about.fork.map_or(0, |fork| fork.entries)
}

/// The calls that the file of a session tells of, those of subagents in it too. What a copy or a fork was made with was paid in the session it is of.
fn calls_of_file(stored: &LoadedSession, catalog: &Catalog) -> Vec<CostItem> {
    let known = stored.listed.about.model.as_str();
    let kept = stored.kept.iter().filter(|_| taken_over(stored) == 0);
    let conversations: Vec<_> = kept.map(|kept| kept.conversation()).collect();
    let own = conversations.iter().flat_map(|read| &read.replies).filter(|reply| !reply.is_copied);
    let own = own.map(|reply| (reply.time_ms, reply.model.as_deref(), reply.usage));
    let aside = conversations.iter().flat_map(|read| &read.side_calls).filter(|call| !call.is_copied);
    let aside = aside.map(|call| (call.time_ms, call.model.as_deref(), call.usage));
    let item = |(time_ms, model, used): (Option<u64>, Option<&str>, Option<ReportedUsage>)| {
        let ReportedUsage { prompt, output, cache_read, cache_write } = used?;
        let usage = Usage { prompt, output, cache_read, cache_write, ..Usage::default() };
        Some(priced(catalog, time_ms, model.unwrap_or(known), usage, CallReduction::default()))
    };
    own.chain(aside).filter_map(item).collect()
}

/// A call as a mark tells of it.
fn marked_call(
    catalog: &Catalog,
    one: &StoredEntry,
    mark: &UsageMark,
    known: &str,
    reduction: CallReduction,
) -> CostItem {
    let model = if mark.model.is_empty() { known } else { &mark.model };
    let (prompt, output) = (mark.prompt.0, mark.tokens.less(mark.prompt).0);
    let (cache_read, cache_write) = (mark.cache_read.0, mark.cache_write.0);
    let usage = Usage { prompt, output, cache_read, cache_write, ..Usage::default() };
    let mut item = priced(catalog, one.time_ms, model, usage, reduction);
    if let CostPart::Call { is_estimated, .. } = &mut item.part {
        *is_estimated = mark.is_estimated;
    }
    item
}

/// Everything of a session that took tokens, in the order it happened.
pub(super) fn items(stored: &LoadedSession, catalog: &Catalog) -> Vec<CostItem> {
    let mut items = calls_of_file(stored, catalog);
    let mut reduction = CallReduction::default();
    let (undone, taken_over) = (undone(stored), taken_over(stored));
    let known = stored.listed.about.model.as_str();
    let mut calls = HashSet::new();
    for (one, mark) in stored.entries.iter().filter_map(with_mark) {
        match mark {
            Mark::Usage(usage) => {
                // A reply that its client sent back in other words is in the session twice, and its call was one.
                let is_news = calls.insert(call_of(stored, one, usage));
                if is_news && usage.prompt > Tokens::ZERO && one.id.index() >= taken_over {
                    items.push(marked_call(catalog, one, usage, known, reduction));
                    reduction.rebuilt = 0;
                }
            }
            Mark::Compaction { record, .. } | Mark::Edit { record, .. } => {
                if !undone.contains(&one.id) {
                    let freed = record.tokens_before.less(record.tokens_after).0;
                    reduction.freed = reduction.freed.saturating_add(freed);
                    (reduction.rebuilt, reduction.window) = (record.tokens_after.0, record.budget.window.0);
                }
                if one.id.index() < taken_over {
                    continue;
                }
                let time_ms = record.time_ms.or(one.time_ms);
                items.push(CostItem {
                    time_ms,
                    model: summarizer(record),
                    part: CostPart::Pass { record: record.clone() },
                });
            }
            Mark::Apply { .. }
            | Mark::Undo { .. }
            | Mark::Redo { .. }
            | Mark::Pin { .. }
            | Mark::Unpin { .. }
            | Mark::Label { .. }
            | Mark::Judgement { .. }
            | Mark::Failure
            | Mark::Floor { .. }
            | Mark::Refill
            | Mark::Hold { .. }
            | Mark::Reset
            | Mark::Request { .. } => {}
            Mark::Observation { record, saved } => {
                reduction.observed = saved.0;
                let time_ms = record.time_ms.or(one.time_ms);
                items.push(CostItem { time_ms, model: summarizer(record), part: CostPart::Observation });
            }
        }
    }
    items
}

fn with_mark(entry: &StoredEntry) -> Option<(&StoredEntry, &Mark)> {
    match &entry.entry {
        Entry::Mark(mark) => Some((entry, mark)),
        Entry::Message(_) | Entry::Recorded(_) | Entry::Note { .. } => None,
    }
}

/// What tells a call from all others: what it was asked behind, and what its provider said of it.
fn call_of(
    stored: &LoadedSession,
    mark: &StoredEntry,
    usage: &UsageMark,
) -> (Option<EntryId>, [Tokens; 4], Arc<str>) {
    let place = |reply| stored.entries.binary_search_by_key(&reply, |one| one.id).ok();
    let asked = mark.parent.and_then(place).and_then(|at| stored.entries[at].parent);
    let UsageMark { tokens, prompt, cache_read, cache_write, model, .. } = usage;
    (asked, [*tokens, *prompt, *cache_read, *cache_write], model.clone())
}

/// Compactions that were taken back, and not used again since.
fn undone(stored: &LoadedSession) -> HashSet<EntryId> {
    let mut undone = HashSet::new();
    for one in &stored.entries {
        match &one.entry {
            Entry::Mark(Mark::Undo { of }) => drop(undone.insert(*of)),
            Entry::Mark(Mark::Redo { of } | Mark::Apply { of }) => drop(undone.remove(of)),
            Entry::Mark(_) | Entry::Message(_) | Entry::Recorded(_) | Entry::Note { .. } => {}
        }
    }
    undone
}

/// Who wrote the summary of a compaction.
fn summarizer(record: &Record) -> String {
    record.change().and_then(|change| change.summarizer.clone()).unwrap_or_else(|| "embedded".to_owned())
}
