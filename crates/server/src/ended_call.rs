//! Calls of models that have ended: what each took and who says so, and its reply until that is stored.

use epitome_core::{EntryId, Message};
use epitome_engine::Checkout;
use epitome_engine::store::ChainHash;
use epitome_tokens::Usage;

/// A call of a model that has ended.
pub(crate) struct EndedCall {
    pub(crate) model: String,
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
