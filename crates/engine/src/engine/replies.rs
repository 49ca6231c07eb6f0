//! Replies that are taken up before whoever sends a history has sent them back: a proxy hears them first. They have no hash of the
//! history then, since nobody knows how the client will write them; the same reply, when it comes, is found by what it says, and where
//! no store has that, by a hash of it.

use super::act::Reach;
use super::tree::SessionTree;
use super::{Checkout, Engine, HashedMessages, PreparedSession};
use crate::error::EngineError;
use crate::store::{ChainHash, Store, StoreError};
use epitome_core::{Block, EntryId, Message, Role};
use epitome_tokens::Usage;
use std::sync::Arc;

impl Engine {
    /// Takes up what the provider said of the call whose reply the path ends in.
    pub async fn reply(&self, checkout: &Checkout, usage: Usage) -> Result<PreparedSession, EngineError> {
        let tree = self.tree(checkout.session).await?;
        let mut session = self.check_out(&tree, checkout, Reach::Live).await?;
        let acted = session.record_usage(usage).map(|()| session.step(None));
        self.finish(&tree, checkout, session, acted).await
    }

    /// The same of a call whose provider said nothing: our own count of it, which measures nothing.
    pub async fn reply_estimated(
        &self,
        checkout: &Checkout,
        usage: Usage,
    ) -> Result<PreparedSession, EngineError> {
        let tree = self.tree(checkout.session).await?;
        let mut session = self.check_out(&tree, checkout, Reach::Live).await?;
        let acted = session.record_estimate(usage).map(|()| session.step(None));
        self.finish(&tree, checkout, session, acted).await
    }

    /// Takes up the reply to the request that a path ends in, with a hash of what it says where its text is not stored, and what its
    /// provider said of the call; its entry. None where it was taken up before, or others have the session by now. The path stays
    /// ready for its next request as it is: the client may send the reply in other words.
    pub async fn take_reply(
        &self,
        checkout: &Checkout,
        reply: (Message, Option<ChainHash>),
        usage: Option<Usage>,
    ) -> Result<Option<EntryId>, EngineError> {
        let Some(tree) = self.live_tree(checkout.session) else { return Ok(None) };
        let before = self.glance(checkout).await?;
        let Some(reply) = self.append_reply(&tree, checkout, reply).await? else { return Ok(None) };
        if let Some(usage) = usage {
            self.reply(&Checkout { leaf: Some(reply), ..checkout.clone() }, usage).await?;
        }
        tree.put_back(&before);
        Ok(Some(reply))
    }

    async fn append_reply(
        &self,
        tree: &Arc<SessionTree>,
        checkout: &Checkout,
        reply: (Message, Option<ChainHash>),
    ) -> Result<Option<EntryId>, EngineError> {
        let _writer = tree.writer().await;
        let parent = checkout.leaf;
        if !tree.has_path(parent) || tree.same_reply(&*self.store, parent, &reply.0).await?.is_some() {
            return Ok(None);
        }
        let arrival = HashedMessages {
            messages: vec![reply],
            is_repeated: true,
            time_ms: checkout.driver.ports().clock.unix_ms(),
            ..HashedMessages::default()
        };
        let appended = tree.append(&*self.store, parent, arrival, Vec::new()).await;
        let ids = self.forget_unless_stored(tree, appended).await?;
        Ok(ids.last().copied())
    }
}

/// A reply stands right behind what it answers, but for what others append meanwhile.
const NEARBY_ENTRIES_MAX: u32 = 256;

impl SessionTree {
    /// The reply below `parent` that says the same as `message`.
    pub(super) async fn same_reply(
        &self,
        store: &dyn Store,
        parent: Option<EntryId>,
        message: &Message,
    ) -> Result<Option<EntryId>, EngineError> {
        let Some(parent) = parent.filter(|_| message.role == Role::Assistant) else { return Ok(None) };
        for id in self.replies_to(parent) {
            let known = match self.archive.held(id) {
                Some(known) => Some(known),
                None => match store.originals(self.id, &[id]).await {
                    Ok(found) => found.into_iter().next(),
                    // What it said nobody knows any more, or not now.
                    Err(
                        StoreError::NotKept { .. }
                        | StoreError::OutOfReach { .. }
                        | StoreError::NoMessage { .. },
                    ) => None,
                    Err(error) => return Err(error.into()),
                },
            };
            if known.is_some_and(|known| says_the_same(&known, message)) {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    /// Whether an entry is a reply right below `parent`.
    pub(super) fn is_reply_to(&self, parent: Option<EntryId>, id: EntryId) -> bool {
        parent.is_some_and(|parent| self.replies_to(parent).contains(&id))
    }

    fn replies_to(&self, parent: EntryId) -> Vec<EntryId> {
        let state = self.state();
        let is_reply = |id: &EntryId| {
            state.log.item(*id).is_some_and(|item| item.role == Role::Assistant)
                && state.log.parent(*id) == Some(parent)
        };
        (parent.0 + 1..=parent.0.saturating_add(NEARBY_ENTRIES_MAX)).map(EntryId).filter(is_reply).collect()
    }
}

/// Whether two messages say the same: the arguments of calls are JSON, and clients write that in their own way.
fn says_the_same(one: &Message, other: &Message) -> bool {
    let is_alike = |(one, other): (&Block, &Block)| match (one, other) {
        (Block::Call(one), Block::Call(other)) => {
            let is_input_alike = one.input == other.input
                || json(&one.input).is_some_and(|input| Some(input) == json(&other.input));
            (&one.id, &one.name, one.freeform) == (&other.id, &other.name, other.freeform) && is_input_alike
        }
        (one, other) => one == other,
    };
    one.role == other.role
        && one.blocks.len() == other.blocks.len()
        && one.blocks.iter().zip(&other.blocks).all(is_alike)
}

fn json(text: &str) -> Option<serde_json::Value> {
    serde_json::from_str(text).ok()
}

#[cfg(test)]
mod tests {
    use super::says_the_same;
    use epitome_core::{Author, Block, Call, Message, Role};

    fn reply(name: &str, input: &str) -> Message {
        let call = Call { id: "c1".into(), name: name.into(), input: input.into(), freeform: false };
        Message { role: Role::Assistant, author: Author::Model, blocks: vec![Block::Call(call)] }
    }

    #[test]
    fn arguments_may_be_written_in_another_way_and_nothing_else_may() {
        let said = reply("read", r#"{"path": "a", "line": 1}"#);
        assert!(says_the_same(&said, &reply("read", r#"{"line":1,"path":"a"}"#)));
        assert!(!says_the_same(&said, &reply("read", r#"{"line":2,"path":"a"}"#)));
        assert!(!says_the_same(&said, &reply("write", r#"{"path": "a", "line": 1}"#)));
        assert!(!says_the_same(&said, &Message::text(Role::Assistant, Author::Model, "read")));
    }
}
