//! Which messages a compaction keeps, spelled out.

use super::{Boundary, WriteError};
use crate::Conversation;
use epitome_core::{Context, EntryId, Image, Measure, Tokens};

/// The messages of the branch that ends in the conversation's leaf.
pub(crate) fn branch_messages(conversation: &Conversation) -> Vec<EntryId> {
    let branch = conversation.leaf.map_or_else(Vec::new, |leaf| conversation.log.branch(leaf));
    branch.into_iter().filter(|id| conversation.log.item(*id).is_some()).collect()
}

/// The messages that stand after the summary, in order.
pub(crate) fn kept_tail(
    conversation: &Conversation,
    boundary: &Boundary,
) -> Result<Vec<EntryId>, WriteError> {
    let Some(leaf) = conversation.leaf else { return Ok(Vec::new()) };
    let context = Context::of(&conversation.log, leaf, &Uncounted, &conversation.originals)?;
    let tail = context.tail_ids(&boundary.tail).into_iter();
    Ok(tail.filter(|id| !boundary.before.contains(id)).collect())
}

/// Which messages are in view does not hang on what they take.
struct Uncounted;

impl Measure for Uncounted {
    fn text(&self, _: &str) -> Tokens {
        Tokens::ZERO
    }
    fn image(&self, _: &Image) -> Tokens {
        Tokens::ZERO
    }
    fn framing(&self) -> Tokens {
        Tokens::ZERO
    }
}
