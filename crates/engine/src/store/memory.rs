//! The store in memory.

use super::{
    ChainHash, CommitBatch, EventPosition, Lease, Memo, MessageLocation, QueuedInput, SearchHit, SearchQuery,
    SessionAbout, SessionId, Store, StoreError, StoredEvent, StoredSession, TenantId, readable, snippet,
};
use crate::ports::BoxFuture;
use crate::session::AppendedEntry;
use epitome_core::{Entry, EntryId, Log, LogError, Message};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Sessions in memory: for tests, for the proxy, for whoever keeps nothing.
#[derive(Debug, Default)]
pub struct MemoryStore {
    tables: Mutex<Tables>,
}

#[derive(Debug, Default)]
struct Tables {
    sessions: BTreeMap<SessionId, SessionTable>,
    nodes: HashMap<(TenantId, ChainHash), (SessionId, EntryId)>,
    leases: HashMap<SessionId, u64>,
    events: Vec<StoredEvent>,
    created: u64,
    fences: u64,
    commits: u64,
    memos: BTreeMap<String, Vec<u8>>,
}

#[derive(Debug)]
struct SessionTable {
    tenant: TenantId,
    log: Arc<Log>,
    messages: BTreeMap<EntryId, (Arc<Message>, Option<u64>)>,
    leaf: Option<EntryId>,
    about: SessionAbout,
    queue: Vec<QueuedInput>,
    queued: u64,
}

/// As many events are kept, the newest: who listens is not further behind than this.
const EVENTS_MAX: usize = 4_096;

impl MemoryStore {
    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A value that is there already.
fn ready<'a, T: Send + 'a>(value: T) -> BoxFuture<'a, T> {
    Box::pin(std::future::ready(value))
}

impl Store for MemoryStore {
    fn create(&self, tenant: TenantId) -> BoxFuture<'_, Result<SessionId, StoreError>> {
        let mut tables = self.tables();
        tables.created += 1;
        let id = SessionId(tables.created);
        let kept = SessionTable {
            tenant,
            log: Arc::default(),
            messages: BTreeMap::new(),
            leaf: None,
            about: SessionAbout::default(),
            queue: Vec::new(),
            queued: 0,
        };
        tables.sessions.insert(id, kept);
        ready(Ok(id))
    }

    fn open(&self, session: SessionId) -> BoxFuture<'_, Result<StoredSession, StoreError>> {
        let tables = self.tables();
        let kept = tables.sessions.get(&session).ok_or(StoreError::NoSession(session));
        ready(kept.map(|kept| StoredSession {
            log: kept.log.clone(),
            leaf: kept.leaf,
            live_leaf: None,
            sizes: Vec::new(),
            about: kept.about.clone(),
            originals: None,
        }))
    }

    fn originals<'a>(
        &'a self,
        session: SessionId,
        ids: &'a [EntryId],
    ) -> BoxFuture<'a, Result<Vec<Arc<Message>>, StoreError>> {
        ready(self.tables().originals(session, ids))
    }

    fn find<'a>(
        &'a self,
        tenant: TenantId,
        chain: &'a [ChainHash],
    ) -> BoxFuture<'a, Result<Option<MessageLocation>, StoreError>> {
        let tables = self.tables();
        let found = chain.iter().enumerate().rev().find_map(|(at, hash)| {
            let &(session, entry) = tables.nodes.get(&(tenant, *hash))?;
            Some(MessageLocation { session, entry, depth: at + 1 })
        });
        ready(Ok(found))
    }

    fn commit(
        &self,
        lease: Lease,
        expected: usize,
        batch: CommitBatch,
    ) -> BoxFuture<'_, Result<EventPosition, StoreError>> {
        ready(self.tables().commit(lease, expected, batch))
    }

    fn lease(&self, session: SessionId) -> BoxFuture<'_, Result<Option<Lease>, StoreError>> {
        let mut tables = self.tables();
        if tables.leases.contains_key(&session) {
            return ready(Ok(None));
        }
        tables.fences += 1;
        let fence = tables.fences;
        tables.leases.insert(session, fence);
        ready(Ok(Some(Lease { session, fence })))
    }

    fn hold(&self, lease: Lease) -> BoxFuture<'_, Result<bool, StoreError>> {
        ready(Ok(self.tables().leases.get(&lease.session) == Some(&lease.fence)))
    }

    fn release(&self, lease: Lease) -> BoxFuture<'_, ()> {
        let mut tables = self.tables();
        if tables.leases.get(&lease.session) == Some(&lease.fence) {
            tables.leases.remove(&lease.session);
        }
        ready(())
    }

    fn events(&self, since: EventPosition) -> BoxFuture<'_, Result<Vec<StoredEvent>, StoreError>> {
        let tables = self.tables();
        let from = tables.events.partition_point(|one| one.position <= since);
        ready(Ok(tables.events[from..].to_vec()))
    }

    fn remove(&self, session: SessionId) -> BoxFuture<'_, Result<(), StoreError>> {
        let mut tables = self.tables();
        let gone = tables.sessions.remove(&session);
        tables.nodes.retain(|_, (owner, _)| *owner != session);
        let own = session.memo_name("");
        tables.memos.retain(|name, _| !name.starts_with(&own));
        ready(gone.map(drop).ok_or(StoreError::NoSession(session)))
    }

    fn enqueue(&self, session: SessionId, message: Arc<Message>) -> BoxFuture<'_, Result<u64, StoreError>> {
        let mut tables = self.tables();
        let kept = tables.sessions.get_mut(&session).ok_or(StoreError::NoSession(session));
        ready(kept.map(|kept| {
            kept.queued += 1;
            kept.queue.push(QueuedInput { number: kept.queued, message });
            kept.queued
        }))
    }

    fn queued(&self, session: SessionId) -> BoxFuture<'_, Result<Vec<QueuedInput>, StoreError>> {
        let tables = self.tables();
        ready(
            tables
                .sessions
                .get(&session)
                .map(|kept| kept.queue.clone())
                .ok_or(StoreError::NoSession(session)),
        )
    }

    fn search<'a>(&'a self, query: &'a SearchQuery) -> BoxFuture<'a, Result<Vec<SearchHit>, StoreError>> {
        ready(Ok(self.tables().search(query)))
    }

    fn memos<'a>(&'a self, prefix: &'a str) -> BoxFuture<'a, Result<Vec<Memo>, StoreError>> {
        let tables = self.tables();
        let from = tables.memos.range(prefix.to_owned()..);
        let ours = from.take_while(|(name, _)| name.starts_with(prefix));
        ready(Ok(ours.map(|(name, value)| Memo { name: name.clone(), value: value.clone() }).collect()))
    }

    fn keep_memo(&self, name: String, value: Option<Vec<u8>>) -> BoxFuture<'_, Result<(), StoreError>> {
        let mut tables = self.tables();
        match value {
            Some(value) => drop(tables.memos.insert(name, value)),
            None => drop(tables.memos.remove(&name)),
        }
        ready(Ok(()))
    }
}

impl Tables {
    /// Messages that hold every word, the newest first. Without an index each is looked through, and none is better.
    fn search(&self, query: &SearchQuery) -> Vec<SearchHit> {
        let words: Vec<String> = query.words.split_whitespace().map(str::to_lowercase).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let is_asked_for = |id: SessionId, kept: &SessionTable| {
            query.session.is_none_or(|session| session == id)
                && query.tenant.is_none_or(|tenant| tenant == kept.tenant)
        };
        let mut hits = Vec::new();
        for (&id, kept) in self.sessions.iter().rev().filter(|(id, kept)| is_asked_for(**id, kept)) {
            for (&entry, (message, time_ms)) in kept.messages.iter().rev() {
                let text = readable(message);
                let is_in_time = query.since_ms.is_none_or(|since| *time_ms >= Some(since))
                    && query.until_ms.is_none_or(|until| time_ms.is_some_and(|time| time < until));
                if is_in_time && query.names(message) && holds_all(&text, &words) {
                    let mut hit = SearchHit::new(id, entry, message.role, *time_ms);
                    hit.snippet = snippet(&text, &words);
                    hits.push(hit);
                }
            }
        }
        hits.truncate(query.limit());
        hits
    }

    fn originals(&self, session: SessionId, ids: &[EntryId]) -> Result<Vec<Arc<Message>>, StoreError> {
        let kept = self.sessions.get(&session).ok_or(StoreError::NoSession(session))?;
        let is_left_out = |id: &EntryId| !kept.messages.contains_key(id) && kept.log.item(*id).is_some();
        let left_out: Vec<EntryId> = ids.iter().copied().filter(is_left_out).collect();
        if !left_out.is_empty() {
            return Err(StoreError::NotKept { session, ids: left_out });
        }
        let one = |&id: &EntryId| {
            kept.messages
                .get(&id)
                .map(|(message, _)| message.clone())
                .ok_or(StoreError::NoMessage { session, id })
        };
        ids.iter().map(one).collect()
    }

    fn commit(
        &mut self,
        lease: Lease,
        expected: usize,
        batch: CommitBatch,
    ) -> Result<EventPosition, StoreError> {
        let session = lease.session;
        if self.leases.get(&lease.session) != Some(&lease.fence) {
            return Err(StoreError::Fenced(lease.session));
        }
        let kept = self.sessions.get_mut(&session).ok_or(StoreError::NoSession(session))?;
        let found = kept.log.len();
        if found != expected {
            return Err(StoreError::Conflict { session, expected, found });
        }
        append_all(&mut kept.log, batch.entries)?;
        let times: HashMap<EntryId, u64> = batch.times.into_iter().collect();
        for (id, message) in batch.messages {
            let time_ms = times.get(&id).copied().or(batch.time_ms);
            kept.messages.entry(id).or_insert((message, time_ms));
        }
        kept.queue.retain(|input| !batch.delivered.contains(&input.number));
        kept.about = batch.about.unwrap_or_else(|| kept.about.clone());
        kept.leaf = batch.leaf.or(kept.leaf);
        let tenant = kept.tenant;
        self.nodes.extend(batch.hashes.into_iter().map(|(hash, entry)| ((tenant, hash), (session, entry))));
        self.commits += 1;
        let mut position = EventPosition { commit: self.commits, index: 0 };
        for event in batch.events {
            position.index += 1;
            self.events.push(StoredEvent { position, session, time_ms: batch.time_ms, event });
        }
        let excess = self.events.len().saturating_sub(EVENTS_MAX);
        self.events.drain(..excess);
        Ok(position)
    }
}

/// Appends entries, all of them or none.
fn append_all(log: &mut Arc<Log>, entries: Vec<AppendedEntry>) -> Result<(), LogError> {
    let is_message = |one: &AppendedEntry| matches!(one.entry, Entry::Message(_));
    // One entry is there or not, and messages can be looked at beforehand; only what else is said needs a copy of the
    // log to fall back on.
    if entries.len() > 1 && !entries.iter().all(is_message) {
        let mut grown = Log::clone(log);
        entries.into_iter().try_for_each(|one| append_one(&mut grown, one))?;
        *log = Arc::new(grown);
        return Ok(());
    }
    check_parents(log, &entries)?;
    entries.into_iter().try_for_each(|one| append_one(Arc::make_mut(log), one))
}

/// Whether each of these, appended in order, finds the entry it stands below: all that messages can fail by.
fn check_parents(log: &Log, entries: &[AppendedEntry]) -> Result<(), LogError> {
    for (at, one) in entries.iter().enumerate() {
        let id = EntryId((log.len() + at) as u32);
        let is_new = |parent: EntryId| (log.len()..log.len() + at).contains(&(parent.0 as usize));
        let is_known = |parent: EntryId| log.get(parent).is_some() && log.mark_of(parent).is_none();
        match one.parent {
            Some(parent) if !is_new(parent) && !is_known(parent) => {
                return Err(LogError::UnknownParent { id, parent });
            }
            Some(_) | None => {}
        }
    }
    Ok(())
}

fn append_one(log: &mut Log, AppendedEntry { parent, entry, .. }: AppendedEntry) -> Result<(), LogError> {
    match entry {
        Entry::Mark(mark) => log.mark(parent, mark).map(drop),
        entry @ (Entry::Message(_) | Entry::Recorded(_) | Entry::Note { .. }) => {
            log.append(parent, entry).map(drop)
        }
    }
}

fn holds_all(text: &str, words: &[&str]) -> bool {
    let lower = text.to_lowercase();
    words.iter().all(|word| lower.contains(word))
}
