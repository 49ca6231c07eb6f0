//! What a session cost as its transcript records it, and what it would cost as a replay holds it: calls, tokens, cache,
//! dollars. Contexts are counted in the model's own tokens, so that bills of several presets can be compared; what
//! begins as the call before did is taken to be read from the provider's cache.

use crate::model_count::ModelCount;
use anyhow::Result;
use epitome_core::{CallCost, Dollars, EntryId, RecordSource, Slot, Tokens};
use epitome_engine::ReplayedCall;
use epitome_tokens::{Catalog, Prices, Usage};
use epitome_wire::Conversation;
use serde::Serialize;
use std::collections::HashMap;

/// The sums of one way of holding a session.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct SessionBill {
    /// Whose it is: a preset's name, or what the row stands for.
    pub(super) policy: String,
    pub(super) calls: usize,
    /// Tokens of all prompts.
    pub(super) tokens: u64,
    /// The part of them that the provider has in its cache.
    pub(super) cached: u64,
    /// Tokens of all replies, as far as the transcript records them.
    pub(super) output: u64,
    /// What all of it costs, summaries included.
    pub(super) dollars: Dollars,
    /// What summaries took.
    pub(super) summaries: CallCost,
    /// Calls whose context was rebuilt; by the transcript's own tool where that recorded it.
    pub(super) compactions: usize,
    /// The calls that had to wait for a compaction of ours.
    pub(super) waits: Vec<usize>,
}

impl SessionBill {
    fn add(&mut self, usage: &Usage, prices: Option<Prices>) {
        self.calls += 1;
        self.tokens = self.tokens.saturating_add(usage.prompt);
        self.cached = self.cached.saturating_add(usage.cache_read);
        self.output = self.output.saturating_add(usage.output);
        self.dollars += Dollars(prices.map(|prices| prices.cost(usage)));
    }

    /// What the transcript records of its calls, each at the price of its own model.
    pub(super) fn recorded(
        conversation: &Conversation,
        usages: &HashMap<EntryId, Usage>,
        catalog: &Catalog,
        model: &str,
    ) -> Self {
        let mut bill = Self { policy: "as recorded".into(), ..Self::default() };
        let path = conversation.log.path_of(conversation.leaf);
        for reply in conversation.replies.iter().filter(|reply| path.binary_search(&reply.entry).is_ok()) {
            if let Some(usage) = usages.get(&reply.entry).filter(|usage| !usage.is_zero()) {
                let prices = catalog.find(reply.model.as_deref().unwrap_or(model)).prices;
                bill.add(usage, prices.map(|prices| prices.value));
            }
        }
        let rebuilds = |id: &&EntryId| conversation.log.compaction(**id).is_some();
        bill.compactions = path.iter().filter(rebuilds).count();
        bill
    }

    pub(super) fn cached_percent(&self) -> u64 {
        crate::draw::percent(self.cached, self.tokens)
    }
}

/// Makes a bill from the calls of a replay, one after the other.
pub(super) struct BillMaker<'a> {
    pub(super) count: &'a ModelCount,
    pub(super) prices: Option<Prices>,
    /// What the provider said of each reply.
    pub(super) usages: &'a HashMap<EntryId, Usage>,
    /// The replies' entries, by their number among the messages.
    pub(super) messages: &'a [EntryId],
    /// What the recorded calls held beside what the transcript records.
    pub(super) unrecorded: Tokens,
    /// Where the recorded calls paid for what they put into the cache, so do these.
    pays_for_cache: bool,
    /// The history of the call before, each thing in it with what all up to it takes: what begins alike is not counted
    /// again.
    sent: Vec<(Slot, Tokens)>,
    bill: SessionBill,
}

impl<'a> BillMaker<'a> {
    pub(super) fn new(
        policy: &str,
        count: &'a ModelCount,
        prices: Option<Prices>,
        usages: &'a HashMap<EntryId, Usage>,
        messages: &'a [EntryId],
        unrecorded: Tokens,
    ) -> Self {
        let bill = SessionBill { policy: policy.to_owned(), ..SessionBill::default() };
        let pays_for_cache = usages.values().any(|usage| usage.cache_write > 0);
        Self { count, prices, usages, messages, unrecorded, pays_for_cache, sent: Vec::new(), bill }
    }

    /// Takes one call up.
    pub(super) fn take(&mut self, call: &ReplayedCall<'_>) -> Result<()> {
        let slots = call.session.context().slots();
        let known = call.cached_slots.min(self.sent.len());
        let more = self.sent[known..].iter().zip(&slots[known..]).take_while(|((old, _), new)| old == *new);
        let common = known + more.count();
        self.sent.truncate(common);
        let begins_alike = self.request();
        for slot in &slots[common..] {
            self.sent.push((*slot, self.history() + self.count.slot(call.session, slot)?));
        }
        let prompt = self.request();
        let cached = if call.call == 0 { 0 } else { begins_alike };
        let told = self.messages.get(call.message).and_then(|id| self.usages.get(id));
        let output = told.map_or(0, |usage| usage.output);
        let cache_write = if self.pays_for_cache { prompt - cached } else { 0 };
        let usage = Usage { prompt, output, cache_read: cached, cache_write, reasoning: 0 };
        self.bill.add(&usage, self.prices);
        if let Some(record) = &call.compaction {
            self.bill.compactions += usize::from(record.tokens_after < record.tokens_before);
            self.bill.summaries.add(&record.spent);
            self.bill.dollars += record.spent.dollars;
            if record.source != RecordSource::Transcript {
                self.bill.waits.push(call.call);
            }
        }
        Ok(())
    }

    /// What a request takes whose history is what was sent.
    fn request(&self) -> u64 {
        (self.count.with_history(self.history()) + self.unrecorded).0
    }

    /// What all that was sent takes.
    fn history(&self) -> Tokens {
        self.sent.last().map_or(Tokens::ZERO, |(_, tokens)| *tokens)
    }

    /// The bill.
    pub(super) fn finish(self) -> SessionBill {
        self.bill
    }
}
