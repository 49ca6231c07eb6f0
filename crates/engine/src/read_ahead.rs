//! Messages of a transcript read before their turn, and a thread that finds out meanwhile what compactions will ask of them:
//! what one message tells by itself depends on nothing else, and a replay has all of them at hand. What is found is the
//! core's digests'; without a thread they are made when they are asked for.

use epitome_core::{ArchiveError, DigestCache, EntryId, Message, Original};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};

/// So many messages are read before their turn: more than come between two compactions, and a megabyte or two.
const AHEAD_MAX: usize = 256;

/// Reads the original of a message.
pub(crate) type ReadMessage<'a> = &'a dyn Fn(EntryId) -> Result<Arc<Message>, ArchiveError>;

/// The messages of a path in their order, each read once.
pub(crate) struct MessagesAhead<'a> {
    read: ReadMessage<'a>,
    /// Those that were not read yet.
    rest: std::slice::Iter<'a, EntryId>,
    /// Those whose turn has not come.
    waiting: VecDeque<Result<Arc<Message>, ArchiveError>>,
    thread: Option<DigestThread>,
}

impl<'a> MessagesAhead<'a> {
    /// The messages with these ids.
    pub(crate) fn new(ids: &'a [EntryId], read: ReadMessage<'a>) -> Self {
        Self { read, rest: ids.iter(), waiting: VecDeque::new(), thread: None }
    }

    /// From now on messages are read ahead: a session that was compacted once will be again. None is before, since most
    /// sessions never are.
    pub(crate) fn look_ahead(&mut self, digests: &Arc<DigestCache>) {
        if self.thread.is_none() {
            self.thread = DigestThread::start(digests.clone());
        }
    }

    /// The next message; one that cannot be read is told of when its turn comes.
    pub(crate) fn next(&mut self) -> Option<Result<Arc<Message>, ArchiveError>> {
        let wanted = if self.thread.is_some() { AHEAD_MAX } else { 1 };
        while self.waiting.len() < wanted {
            let Some(&id) = self.rest.next() else { break };
            let message = (self.read)(id);
            if let (Some(thread), Ok(message)) = (&self.thread, &message) {
                thread.give((id, message.clone()));
            }
            self.waiting.push_back(message);
        }
        self.waiting.pop_front()
    }
}

/// A thread that makes digests, until nobody hands it messages any more.
struct DigestThread {
    originals: Option<SyncSender<Original>>,
    thread: Option<JoinHandle<()>>,
}

impl DigestThread {
    /// None where the system has no thread for it.
    fn start(digests: Arc<DigestCache>) -> Option<Self> {
        let (originals, handed) = sync_channel(AHEAD_MAX);
        let read_all = move |handed: Receiver<Original>| {
            handed.iter().for_each(|original| digests.read_ahead(&original));
        };
        let thread = Builder::new().name("epitome-digests".into()).spawn(move || read_all(handed)).ok()?;
        Some(Self { originals: Some(originals), thread: Some(thread) })
    }

    /// Hands it a message. Where it is too far behind, whoever needs the message reads it.
    fn give(&self, original: Original) {
        let _too_many = self.originals.as_ref().map(|originals| originals.try_send(original));
    }
}

impl Drop for DigestThread {
    fn drop(&mut self) {
        drop(self.originals.take());
        // A thread that panicked has left digests undone, which are made when they are asked for.
        let _panicked = self.thread.take().map(JoinHandle::join);
    }
}

#[cfg(test)]
mod tests {
    use super::MessagesAhead;
    use epitome_core::{ArchiveError, Author, DigestCache, EntryId, Message, Role};
    use std::cell::RefCell;
    use std::sync::Arc;

    #[test]
    fn each_message_is_read_once_in_its_order_ahead_or_not() {
        let ids: Vec<EntryId> = (0..600).map(EntryId).collect();
        let asked = RefCell::new(Vec::new());
        let read = |id: EntryId| -> Result<Arc<Message>, ArchiveError> {
            asked.borrow_mut().push(id);
            Ok(Arc::new(Message::text(Role::User, Author::Person, format!("look at src/part{}.rs", id.0))))
        };
        let digests = Arc::new(DigestCache::default());
        let mut messages = MessagesAhead::new(&ids, &read);
        for id in &ids {
            let message = messages.next().expect("there is one for each id").expect("it can be read");
            assert_eq!(message.said(), format!("look at src/part{}.rs", id.0));
            if id.0 == 9 {
                assert_eq!(asked.borrow().len(), 10, "nothing is read ahead before somebody wants it");
                messages.look_ahead(&digests);
            }
        }
        assert!(messages.next().is_none());
        assert_eq!(*asked.borrow(), ids);
        drop(messages);
        assert!(digests.digests_made() > 0);
    }
}
