//! One conversation of a transcript as the engine's store. Its originals are the file's own bytes and only read; what
//! the engine commits is collected and handed out; leases are given to whoever asks, since a file that is being read
//! here is worked on by nobody else. Writing what was collected is the commands' affair.

use epitome_core::{Archive, Entry, EntryId, Log, LogError, Message};
use epitome_engine::store::{
    ChainHash, CommitBatch, EventPosition, Lease, MessageLocation, SessionAbout, SessionId, Store,
    StoreError, StoredEvent, StoredSession, TenantId,
};
use epitome_engine::{AppendedEntry, BoxFuture};
use epitome_wire::{Conversation, Originals};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A conversation that the engine works on.
pub struct TranscriptStore {
    session: SessionId,
    originals: Arc<Originals>,
    state: Mutex<StoredConversation>,
}

/// The conversation as it is with what was committed since.
struct StoredConversation {
    opened: StoredSession,
    appended: Vec<AppendedEntry>,
    /// Originals of messages among them.
    messages: HashMap<EntryId, Arc<Message>>,
    events: Vec<StoredEvent>,
    commits: u64,
}

impl TranscriptStore {
    /// A store over conversation `number` of a file, whose sizes are kept under `sizes_key`.
    pub fn new(number: usize, conversation: &Conversation, sizes_key: Arc<str>) -> Self {
        let originals = Arc::new(conversation.originals.clone());
        let opened = StoredSession {
            log: Arc::new(conversation.log.clone()),
            leaf: conversation.leaf,
            live_leaf: None,
            sizes: vec![(sizes_key, Arc::new(conversation.sizes.clone()))],
            about: SessionAbout::default(),
            originals: Some(originals.clone()),
        };
        let (appended, messages, events, commits) = Default::default();
        Self {
            session: SessionId(number as u64),
            originals,
            state: Mutex::new(StoredConversation { opened, appended, messages, events, commits }),
        }
    }

    /// The name of the one session in it.
    pub fn session(&self) -> SessionId {
        self.session
    }

    /// What was appended since the file was read, in order.
    pub fn appended(&self) -> Vec<AppendedEntry> {
        self.state().appended.clone()
    }

    fn state(&self) -> MutexGuard<'_, StoredConversation> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn check(&self, session: SessionId) -> Result<(), StoreError> {
        if session == self.session { Ok(()) } else { Err(StoreError::NoSession(session)) }
    }

    fn original(&self, id: EntryId) -> Result<Arc<Message>, StoreError> {
        if let Some(added) = self.state().messages.get(&id) {
            return Ok(added.clone());
        }
        Ok(self.originals.message(id)?)
    }
}

impl StoredConversation {
    fn commit(
        &mut self,
        session: SessionId,
        expected: usize,
        batch: CommitBatch,
    ) -> Result<EventPosition, StoreError> {
        let found = self.opened.log.len();
        if found != expected {
            return Err(StoreError::Conflict { session, expected, found });
        }
        let mut grown = Log::clone(&self.opened.log);
        batch.entries.iter().try_for_each(|one| append(&mut grown, one))?;
        self.opened.log = Arc::new(grown);
        self.opened.leaf = batch.leaf.or(self.opened.leaf);
        self.appended.extend(batch.entries);
        self.messages.extend(batch.messages);
        self.commits += 1;
        let mut position = EventPosition { commit: self.commits, index: 0 };
        for event in batch.events {
            position.index += 1;
            self.events.push(StoredEvent { position, session, time_ms: batch.time_ms, event });
        }
        Ok(position)
    }
}

fn append(log: &mut Log, AppendedEntry { parent, entry, .. }: &AppendedEntry) -> Result<(), LogError> {
    match entry.clone() {
        Entry::Mark(mark) => log.mark(*parent, mark).map(drop),
        entry @ (Entry::Message(_) | Entry::Recorded(_) | Entry::Note { .. }) => {
            log.append(*parent, entry).map(drop)
        }
    }
}

/// A value that is there already.
fn ready<'a, T: Send + 'a>(value: T) -> BoxFuture<'a, T> {
    Box::pin(std::future::ready(value))
}

impl Store for TranscriptStore {
    fn create(&self, _: TenantId) -> BoxFuture<'_, Result<SessionId, StoreError>> {
        ready(Err(StoreError::Unsupported("begin a session: a transcript holds those it was read with")))
    }

    fn open(&self, session: SessionId) -> BoxFuture<'_, Result<StoredSession, StoreError>> {
        ready(self.check(session).map(|()| self.state().opened.clone()))
    }

    fn originals<'a>(
        &'a self,
        session: SessionId,
        ids: &'a [EntryId],
    ) -> BoxFuture<'a, Result<Vec<Arc<Message>>, StoreError>> {
        let found = self.check(session).and_then(|()| ids.iter().map(|&id| self.original(id)).collect());
        ready(found)
    }

    fn find<'a>(
        &'a self,
        _: TenantId,
        _: &'a [ChainHash],
    ) -> BoxFuture<'a, Result<Option<MessageLocation>, StoreError>> {
        // A file is named by its path; no request leads to it.
        ready(Ok(None))
    }

    fn commit(
        &self,
        _: Lease,
        expected: usize,
        batch: CommitBatch,
    ) -> BoxFuture<'_, Result<EventPosition, StoreError>> {
        ready(self.state().commit(self.session, expected, batch))
    }

    fn lease(&self, session: SessionId) -> BoxFuture<'_, Result<Option<Lease>, StoreError>> {
        ready(Ok(Some(Lease { session, fence: 0 })))
    }

    fn hold(&self, _: Lease) -> BoxFuture<'_, Result<bool, StoreError>> {
        ready(Ok(true))
    }

    fn release(&self, _: Lease) -> BoxFuture<'_, ()> {
        ready(())
    }

    fn events(&self, since: EventPosition) -> BoxFuture<'_, Result<Vec<StoredEvent>, StoreError>> {
        let later = |one: &&StoredEvent| one.position > since;
        ready(Ok(self.state().events.iter().filter(later).cloned().collect()))
    }

    fn remove(&self, _: SessionId) -> BoxFuture<'_, Result<(), StoreError>> {
        ready(Err(StoreError::Unsupported("forget a session: it is a file, and its owner's to delete")))
    }
}

#[cfg(test)]
mod tests {
    use super::TranscriptStore;
    use epitome_core::{EntryId, Mark, ZeroMeasure};
    use epitome_engine::AppendedEntry;
    use epitome_engine::store::{CommitBatch, Store, StoreError};
    use std::sync::Arc;

    const BODY: &str = r#"{"model":"gpt-5","messages":[{"role":"user","content":"name a colour"},{"role":"assistant","content":"blue"}]}"#;

    fn store() -> TranscriptStore {
        let source = Arc::new(BODY.as_bytes().to_vec());
        let transcript = epitome_wire::read(source, None, &ZeroMeasure).expect("it is a body");
        TranscriptStore::new(0, &transcript.conversations[0], "nothing".into())
    }

    /// Runs what takes no waiting.
    fn block_on<T>(work: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().build().expect("it can be made").block_on(work)
    }

    #[test]
    fn what_is_committed_is_handed_out_and_there_when_it_is_opened_again() {
        let store = store();
        block_on(async {
            let session = store.session();
            let lease = store.lease(session).await.expect("it is one").expect("it is free");
            let entry = epitome_core::Entry::Mark(Mark::Pin { of: EntryId(0) });
            let pin = AppendedEntry { id: EntryId(2), parent: Some(EntryId(1)), entry };
            let batch = CommitBatch { entries: vec![pin.clone()], ..CommitBatch::default() };
            store.commit(lease, 2, batch.clone()).await.expect("nobody else has appended");
            assert_eq!(store.appended(), [pin]);
            assert_eq!(store.open(session).await.expect("it is there").log.len(), 3);
            let late = store.commit(lease, 2, batch).await;
            assert!(matches!(late, Err(StoreError::Conflict { expected: 2, found: 3, .. })), "{late:?}");
        });
    }

    #[test]
    fn it_holds_what_every_store_must() {
        let store = store();
        block_on(epitome_testbed::stores::hold_log(&store, store.session()));
        assert_eq!(store.appended().len(), 2);
    }

    #[test]
    fn originals_are_read_from_the_files_bytes() {
        let store = store();
        let said =
            block_on(store.originals(store.session(), &[EntryId(1), EntryId(0)])).expect("they are there");
        let texts: Vec<String> = said.iter().map(|message| message.said()).collect();
        assert_eq!(texts, ["blue", "name a colour"]);
    }
}
