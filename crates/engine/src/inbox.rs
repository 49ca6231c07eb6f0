//! Input that comes while a compaction runs: it waits, in order, and is never lost.

use epitome_core::Message;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// A place to leave input at any time; the session takes it up when it can.
#[derive(Clone, Debug, Default)]
pub struct Inbox {
    waiting: Arc<Mutex<VecDeque<Message>>>,
}

/// So many messages wait at most: a person types a few; more is something gone wrong.
const WAITING_MAX: usize = 1_000;

/// An inbox that takes no more.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{WAITING_MAX} messages wait already; let the session take them up first")]
pub struct InboxFull;

impl Inbox {
    /// Leaves a message.
    pub fn leave(&self, message: Message) -> Result<(), InboxFull> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.len() >= WAITING_MAX {
            return Err(InboxFull);
        }
        waiting.push_back(message);
        Ok(())
    }

    /// Everything that waits, oldest first.
    pub fn take(&self) -> Vec<Message> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).drain(..).collect()
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Whether none does.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
