//! Calls of models that have ended: what each took and who says so, and its reply until that is stored. Each goes by what it was sent
//! with: an agent's side requests have the same messages as its own, and other words around them.

use crate::prefix_hashes::AgentHashes;
use epitome_core::{EntryId, Message};
use epitome_engine::Checkout;
use epitome_engine::store::ChainHash;
use epitome_tokens::Usage;
use std::sync::Arc;

/// What a call was sent with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CallKey {
    /// The message its list ended with.
    pub(crate) leaf: EntryId,
    pub(crate) model: Arc<str>,
    pub(crate) agent: AgentHashes,
}

/// A call of a model that has ended.
pub(crate) struct EndedCall {
    /// What it took, and who says so.
    pub(crate) usage: Option<(Usage, UsageSource)>,
    /// Its reply, until that is stored.
    pub(crate) reply: Option<UnstoredReply>,
    /// The entry that its reply was stored as, with its usage.
    pub(crate) stored_as: Option<EntryId>,
}

/// Who says what a call took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UsageSource {
    /// Its provider.
    Provider,
    /// Its provider said nothing: our own count.
    Estimate,
}

/// A reply, and how the path that it answers is worked on.
pub(crate) struct UnstoredReply {
    pub(crate) message: Message,
    /// A hash of what it says, where its text is not stored.
    pub(crate) said: Option<ChainHash>,
    pub(crate) checkout: Checkout,
}

/// Calls whose reply the client has not sent back yet.
#[derive(Default)]
pub(crate) struct EndedCalls {
    /// Oldest first.
    calls: Vec<(CallKey, EndedCall)>,
}

/// So many calls may be unanswered at once: a client that hangs up leaves one behind.
const ENDED_CALLS_MAX: usize = 64;

impl EndedCalls {
    /// Keeps what came of a call until its reply comes back; whether an earlier reply to the same request waits to be stored, whose
    /// place it takes.
    pub(crate) fn keep(&mut self, key: CallKey, call: EndedCall) -> bool {
        let earlier = self.position(&key).map(|at| self.calls.remove(at).1);
        if self.calls.len() >= ENDED_CALLS_MAX {
            self.calls.remove(0);
        }
        self.calls.push((key, call));
        earlier.is_some_and(|earlier| earlier.reply.is_some())
    }

    /// The call that was sent with this.
    pub(crate) fn get_mut(&mut self, key: &CallKey) -> Option<&mut EndedCall> {
        let at = self.position(key)?;
        Some(&mut self.calls[at].1)
    }

    /// Takes the call that a request goes on from, which has its list and more. Where system prompt, tools and model are none that
    /// the list was sent with, they change from request to request: then it is the only call with the same tools, or the only one.
    pub(crate) fn take_answered(&mut self, request: &CallKey) -> Option<(CallKey, EndedCall)> {
        let has_tools = |key: &CallKey| key.agent.tools == request.agent.tools;
        let at = self
            .position(request)
            .or_else(|| self.only(request.leaf, &has_tools))
            .or_else(|| self.only(request.leaf, &|_| true))?;
        Some(self.calls.remove(at))
    }

    /// Those whose reply is not stored.
    pub(crate) fn unstored(&self) -> Vec<CallKey> {
        let unstored = self.calls.iter().filter(|(_, call)| call.reply.is_some());
        unstored.map(|(key, _)| key.clone()).collect()
    }

    fn position(&self, key: &CallKey) -> Option<usize> {
        self.calls.iter().position(|(known, _)| known == key)
    }

    fn only(&self, leaf: EntryId, is_meant: &dyn Fn(&CallKey) -> bool) -> Option<usize> {
        let mut found = (0..self.calls.len()).filter(|at| {
            let key = &self.calls[*at].0;
            key.leaf == leaf && is_meant(key)
        });
        found.next().filter(|_| found.next().is_none())
    }
}
