//! Input that arrives while a session is compacted, here or by another process: it waits in the store, and is appended once, in its order,
//! in the commit that takes it out of the queue. Whoever ends a compaction delivers what waits by then, and so does whoever speaks next.

use super::tree::SessionTree;
use super::{Engine, HashedMessages};
use crate::error::EngineError;
use crate::session::Phase;
use crate::store::{SessionId, StoreError};
use epitome_core::{EntryId, Message};
use std::sync::Arc;

/// What became of something that was said to a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputPlace {
    /// It is where the session has got to.
    Appended(EntryId),
    /// It waits, under this number, until the compaction under way has ended.
    Queued(u64),
}

impl Engine {
    /// What is going on in a session as far as this process knows: whether it is being compacted.
    pub fn phase(&self, session: SessionId) -> Phase {
        match self.live_tree(session) {
            Some(tree) if tree.is_compacting() => Phase::Compacting,
            Some(_) | None => Phase::Idle,
        }
    }

    /// Says something to a session: behind all that waits where nobody compacts it, else in its queue.
    pub async fn say(
        &self,
        session: SessionId,
        input: Message,
        time_ms: Option<u64>,
    ) -> Result<InputPlace, EngineError> {
        let tree = match self.tree(session).await {
            Ok(tree) if !tree.is_compacting() => tree,
            Ok(tree) => return self.queue(&tree, input, time_ms).await,
            // Another process works on it, and was told that it is wanted here.
            Err(EngineError::Store(StoreError::Leased(_))) => {
                return Ok(InputPlace::Queued(self.store.enqueue(session, Arc::new(input)).await?));
            }
            Err(error) => return Err(error),
        };
        self.deliver_to(&tree, time_ms).await?;
        let _writer = tree.writer().await;
        let messages = vec![(input, None)];
        let arrival = HashedMessages { messages, time_ms, ..HashedMessages::default() };
        let appended = tree.append(&*self.store, tree.leaf(), arrival, Vec::new()).await;
        let ids = self.forget_unless_stored(&tree, appended).await?;
        Ok(InputPlace::Appended(ids[0]))
    }

    /// Appends what waits for a session, each once; the messages it has become.
    pub async fn deliver(
        &self,
        session: SessionId,
        time_ms: Option<u64>,
    ) -> Result<Vec<EntryId>, EngineError> {
        let tree = self.tree(session).await?;
        self.deliver_to(&tree, time_ms).await
    }

    async fn queue(
        &self,
        tree: &Arc<SessionTree>,
        input: Message,
        time_ms: Option<u64>,
    ) -> Result<InputPlace, EngineError> {
        let number = self.store.enqueue(tree.id, Arc::new(input)).await?;
        // The compaction may have ended, and delivered, before this waited.
        if !tree.is_compacting() {
            self.deliver_to(tree, time_ms).await?;
        }
        Ok(InputPlace::Queued(number))
    }

    pub(super) async fn deliver_to(
        &self,
        tree: &Arc<SessionTree>,
        time_ms: Option<u64>,
    ) -> Result<Vec<EntryId>, EngineError> {
        let _writer = tree.writer().await;
        let waiting = self.store.queued(tree.id).await?;
        if waiting.is_empty() {
            return Ok(Vec::new());
        }
        let delivered = waiting.iter().map(|input| input.number).collect();
        let messages = waiting.into_iter().map(|input| (Message::clone(&input.message), None)).collect();
        let arrival = HashedMessages { messages, time_ms, ..HashedMessages::default() };
        let appended = tree.append(&*self.store, tree.leaf(), arrival, delivered).await;
        self.forget_unless_stored(tree, appended).await
    }
}
