//! What is committed while others commit, and what becomes of an act whose commit the store did not take.

use epitome_core::{
    Archive, Author, Entry, EntryId, Mark, Message, Outcome, Policy, Role, Tokens, Trigger,
    UpcomingCompaction, Verdict,
};
use epitome_engine::store::{
    ChainHash, CommitBatch, EventPosition, Lease, MemoryStore, MessageLocation, SessionId, Store, StoreError,
    StoredEvent, StoredSession, TenantId,
};
use epitome_engine::{
    Assembly, BoxFuture, BranchExit, Checkout, CompactOptions, Driver, Engine, Event, HashedMessages, Hook,
    NavigationOutcome, SessionOptions, WindowFacts,
};
use epitome_tokens::{Catalog, Usage};
use futures_util::FutureExt as _;
use futures_util::future::{join, join3};
use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};

fn now<T>(work: impl Future<Output = T>) -> T {
    work.now_or_never().expect("nobody is asked who takes time")
}

fn checkout(session: SessionId, leaf: EntryId, window: u64) -> Checkout {
    let stated = WindowFacts { stated: Some(Tokens(window)), ..WindowFacts::default() };
    let model = Catalog::built_in().find("gpt-5");
    let mut assembly = Assembly::new(Policy::default().into(), model, stated).expect("it is stated");
    assembly.set_request(Tokens::ZERO, Some(Tokens(500)));
    let (options, driver) = (SessionOptions::default(), Driver::default());
    Checkout { session, leaf: Some(leaf), assembly, options, driver, idle: None }
}

/// Messages of some hundred tokens each, by turns.
fn talk(count: usize) -> HashedMessages {
    let said = |number: usize| {
        let is_person = number.is_multiple_of(2);
        let (role, author) =
            if is_person { (Role::User, Author::Person) } else { (Role::Assistant, Author::Model) };
        Message::text(role, author, format!("message {number} about src/part_{number}.rs, ").repeat(20))
    };
    let messages = (0..count).map(|number| (said(number), None)).collect();
    HashedMessages { messages, ..HashedMessages::default() }
}

/// Somebody who puts a label on another path whenever a hook is asked.
struct Meddler {
    engine: OnceLock<Weak<Engine>>,
    place: OnceLock<(SessionId, EntryId)>,
}

impl Meddler {
    fn meddle(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            let engine = self.engine.get().and_then(Weak::upgrade).expect("it is there while it works");
            let &(session, leaf) = self.place.get().expect("it was said");
            let labelled = engine.label(&checkout(session, leaf, 64_000), "in between").await;
            labelled.expect("a label can be put anywhere");
        })
    }
}

impl Hook for Meddler {
    fn name(&self) -> &str {
        "meddler"
    }

    fn before<'a>(
        &'a self,
        _: &'a UpcomingCompaction,
        _: &'a dyn Archive,
    ) -> BoxFuture<'a, Result<Option<Verdict>, String>> {
        Box::pin(async {
            self.meddle().await;
            Ok(None)
        })
    }

    fn before_tree<'a>(&'a self, _: &'a [EntryId]) -> BoxFuture<'a, Result<bool, String>> {
        Box::pin(async {
            self.meddle().await;
            Ok(true)
        })
    }
}

/// A session in which somebody meddles, how it is worked on, and its first and newest message.
fn meddled(count: usize, window: u64) -> (Arc<Engine>, Checkout, EntryId, EntryId) {
    let engine = Arc::new(Engine::new(Arc::new(MemoryStore::default())));
    let session = now(engine.create(TenantId::LOCAL)).expect("a session");
    let ids = now(engine.append(session, None, talk(count))).expect("it can be appended");
    let (first, newest) = (ids[0], ids[count - 1]);
    let meddler = Meddler { engine: OnceLock::new(), place: OnceLock::new() };
    meddler.engine.set(Arc::downgrade(&engine)).expect("it is said once");
    meddler.place.set((session, first)).expect("it is said once");
    let mut checkout = checkout(session, newest, window);
    checkout.driver.ports_mut().add_hook(Arc::new(meddler)).expect("it is the only one");
    (engine, checkout, first, newest)
}

#[test]
fn a_compaction_behind_what_others_appended_is_told_by_the_name_it_has() {
    let (engine, checkout, _, newest) = meddled(80, 8_000);
    let prepared = now(engine.prepare(&checkout)).expect("it is prepared");
    let [label, compaction] = [newest.index() + 1, newest.index() + 2].map(|at| EntryId(at as u32));
    let log = prepared.session.log();
    assert!(matches!(log.mark_of(label), Some(Mark::Label { .. })));
    assert!(matches!(log.mark_of(compaction), Some(Mark::Compaction { .. })));
    let appended: Vec<EntryId> = prepared.step.appended.iter().map(|one| one.id).collect();
    assert_eq!(appended, [compaction]);
    let told = |event: &Event| match event {
        Event::Completed { entry, .. } => Some(*entry),
        _ => None,
    };
    let stored = now(engine.events(EventPosition::default())).expect("they are kept");
    assert_eq!(prepared.step.events.iter().find_map(told), Some(compaction));
    assert_eq!(stored.iter().find_map(|stored| told(&stored.event)), Some(compaction));
    let undone = now(engine.undo(&checkout, compaction)).expect("it is that compaction");
    assert_eq!(undone.session.context().slots().len(), 80);
}

#[test]
fn a_branch_summary_behind_what_others_appended_is_where_it_says() {
    let (engine, checkout, first, newest) = meddled(10, 64_000);
    let exit = BranchExit::Summary { focus: None };
    let moved = now(engine.navigate(&checkout, first, exit)).expect("it is moved");
    let NavigationOutcome::There { summary: Some(told) } = moved else { panic!("{moved:?}") };
    assert_eq!(told.index(), newest.index() + 2, "behind the label");
    let mut there = checkout.clone();
    there.leaf = None;
    let look = now(engine.look(&there)).expect("it is there");
    let shown = look.shown().expect("all is at hand");
    let last = shown.last().expect("something is shown");
    assert_eq!((look.leaf(), last.id), (Some(told), Some(told)));
    assert!(last.message.said().contains("src/part_9.rs"), "{}", last.message.said());
    // The session is none the worse for it.
    now(engine.append(checkout.session, Some(told), talk(1))).expect("it can be appended");
}

/// More than a commit takes to come to its end.
const YIELDS: u32 = 8;

/// A store whose n-th commit fails, and nothing of it is stored; or one that is far away.
struct Flaky {
    inner: MemoryStore,
    commits: AtomicUsize,
    fails: usize,
    /// Whether originals must be asked for and a commit takes time.
    is_far: bool,
}

impl Store for Flaky {
    fn create(&self, tenant: TenantId) -> BoxFuture<'_, Result<SessionId, StoreError>> {
        self.inner.create(tenant)
    }

    fn open(&self, session: SessionId) -> BoxFuture<'_, Result<StoredSession, StoreError>> {
        Box::pin(async move {
            let opened = self.inner.open(session).await?;
            let originals = opened.originals.clone().filter(|_| !self.is_far);
            Ok(StoredSession { originals, ..opened })
        })
    }

    fn originals<'a>(
        &'a self,
        session: SessionId,
        ids: &'a [EntryId],
    ) -> BoxFuture<'a, Result<Vec<Arc<Message>>, StoreError>> {
        self.inner.originals(session, ids)
    }

    fn find<'a>(
        &'a self,
        tenant: TenantId,
        chain: &'a [ChainHash],
    ) -> BoxFuture<'a, Result<Option<MessageLocation>, StoreError>> {
        Box::pin(async move {
            let found = self.inner.find(tenant, chain).await;
            // Others go on before whoever asked hears of it.
            for _ in 0..if self.is_far { YIELDS } else { 0 } {
                tokio::task::yield_now().await;
            }
            found
        })
    }

    fn commit(
        &self,
        lease: Lease,
        expected: usize,
        batch: CommitBatch,
    ) -> BoxFuture<'_, Result<EventPosition, StoreError>> {
        if self.commits.fetch_add(1, Ordering::Relaxed) == self.fails {
            return Box::pin(std::future::ready(Err(StoreError::Unsupported("commit now"))));
        }
        Box::pin(async move {
            if self.is_far {
                tokio::task::yield_now().await;
            }
            self.inner.commit(lease, expected, batch).await
        })
    }

    fn lease(&self, session: SessionId) -> BoxFuture<'_, Result<Option<Lease>, StoreError>> {
        self.inner.lease(session)
    }

    fn hold(&self, lease: Lease) -> BoxFuture<'_, Result<bool, StoreError>> {
        self.inner.hold(lease)
    }

    fn release(&self, lease: Lease) -> BoxFuture<'_, ()> {
        self.inner.release(lease)
    }

    fn events(&self, since: EventPosition) -> BoxFuture<'_, Result<Vec<StoredEvent>, StoreError>> {
        self.inner.events(since)
    }

    fn remove(&self, session: SessionId) -> BoxFuture<'_, Result<(), StoreError>> {
        self.inner.remove(session)
    }
}

#[test]
fn a_commit_that_fails_costs_one_act_and_nothing_else() {
    for fails in 0..4 {
        let flaky =
            Flaky { inner: MemoryStore::default(), commits: AtomicUsize::new(0), fails, is_far: false };
        let engine = Engine::new(Arc::new(flaky));
        let session = now(engine.create(TenantId::LOCAL)).expect("a session");
        // Whoever is refused asks once more.
        let ids = now(engine.append(session, None, talk(80)))
            .or_else(|_| now(engine.append(session, None, talk(80))))
            .expect("it fails once");
        let checkout = checkout(session, ids[79], 8_000);
        let compact = || now(engine.compact(&checkout, Trigger::Manual, CompactOptions::default()));
        let prepared = compact().or_else(|_| compact()).expect("it fails once");
        let made = prepared.step.record.expect("it was asked for");
        assert!(matches!(made.outcome, Outcome::Compacted(_)), "{fails}: {:?}", made.outcome);
        let label = || now(engine.label(&checkout, "a place"));
        label().or_else(|_| label()).expect("it fails once");
        let more = || now(engine.append(session, Some(ids[79]), talk(1)));
        more().or_else(|_| more()).expect("it fails once");
        let stored = now(engine.store().open(session)).expect("it is there").log;
        assert_eq!(stored.len(), 83, "{fails}: messages, a compaction, a label, a message");
    }
}

/// A message that takes most of a window of 8,000 is shown cut; when it has left view, its original is no longer held, and what is
/// derived anew because others have appended must read it again.
#[tokio::test]
async fn a_commit_behind_others_reads_what_an_earlier_pass_has_cut() {
    let (inner, commits) = (MemoryStore::default(), AtomicUsize::new(0));
    let engine = Engine::new(Arc::new(Flaky { inner, commits, fails: usize::MAX, is_far: true }));
    let session = engine.create(TenantId::LOCAL).await.expect("a session");
    let mut arrival = talk(3);
    arrival.messages[2].0 =
        Message::text(Role::User, Author::Person, "a line of the long log, word for word. ".repeat(900));
    let begun = engine.append(session, None, arrival).await.expect("it can be appended");
    let cut = engine.prepare(&checkout(session, begun[2], 8_000)).await.expect("it is prepared");
    let forms: Vec<EntryId> = cut.step.appended.iter().flat_map(|one| forms_of(&one.entry)).collect();
    assert!(forms.contains(&begun[2]), "the long one is shown cut: {forms:?}");
    let mut more = talk(82);
    more.messages.remove(0);
    let newest = *engine.append(session, Some(begun[2]), more).await.expect("it goes on").last().expect("81");
    let path = checkout(session, newest, 8_000);
    let gone = engine.prepare(&path).await.expect("it is prepared");
    assert!(!gone.session.context().message_slots().any(|(id, ..)| id == begun[2]), "it left view");
    let branch = engine.append(session, Some(begun[1]), talk(1)).await.expect("it can be appended");
    let elsewhere = checkout(session, branch[0], 8_000);
    // Ready for its next request, it is gone on with and not derived anew.
    let before = engine.look(&path).await.expect("it is there").log().len();
    let usage = Usage { prompt: 5_000, output: 200, ..Usage::default() };
    // While the store takes the first, the others wait with copies of the same log; the second is taken before the third.
    let labels = (engine.label(&elsewhere, "one"), engine.label(&elsewhere, "another"));
    let (first, second, told) = join3(labels.0, labels.1, engine.reply(&path, usage)).await;
    first.and(second).expect("a label can be put anywhere");
    let told = told.expect("usage can be told while others append");
    let appended: Vec<usize> = told.step.appended.iter().map(|one| one.id.index()).collect();
    assert_eq!(appended, [before + 2], "behind the labels");
    let stored = engine.store().open(session).await.expect("it is there").log;
    assert_eq!(stored.len(), before + 3, "all are stored");
}

/// The messages that an entry shows otherwise than whole.
fn forms_of(entry: &Entry) -> Vec<EntryId> {
    match entry {
        Entry::Mark(mark) => mark.forms().into_iter().flatten().map(|(id, _)| *id).collect(),
        Entry::Message(_) | Entry::Recorded(_) | Entry::Note { .. } => Vec::new(),
    }
}

/// A client's next request, while what it said in the first one of its session is on its way to the store.
#[tokio::test]
async fn what_is_stored_while_the_store_looks_for_it_is_found() {
    let (inner, commits) = (MemoryStore::default(), AtomicUsize::new(0));
    let store = Arc::new(Flaky { inner, commits, fails: usize::MAX, is_far: true });
    let engine = Engine::new(store).with_deferral();
    let session = engine.begin(TenantId::LOCAL).await.expect("a session");
    let mut arrival = HashedMessages { is_repeated: true, ..talk(1) };
    let hash = ChainHash([1; 32]);
    arrival.messages[0].1 = Some(hash);
    let said = engine.append(session, None, arrival).await.expect("it can be appended");
    let chain = [hash];
    let (found, stored) = join(engine.find(TenantId::LOCAL, &chain), engine.flush(session)).await;
    stored.expect("the store takes it");
    let place = MessageLocation { session, entry: said[0], depth: 1 };
    assert_eq!(found.expect("the store answers"), Some(place));
}
