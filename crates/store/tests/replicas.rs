//! Three replicas at work on one database, each a process of its own: one is killed, one sleeps past its leases, the database
//! loses its power. What any of them was told is stored is there once and in its place, and a listener hears each event once.
//!
//! `EPITOME_REPLICA_ROUNDS=20 cargo test -p epitome-store --test replicas` goes on for longer.

use epitome_core::{Author, EntryId, Message, Policy, Role, Tokens, Trigger};
use epitome_engine::store::{
    EventPosition, FaultKind, SessionId, Store, StoreError, StoreFault, StoredEvent, TenantId,
};
use epitome_engine::{
    Assembly, Checkout, CompactOptions, Driver, Engine, EngineError, SessionOptions, WindowFacts,
};
use epitome_store::{PostgresOptions, PostgresStore, SessionStore as _};
use epitome_testbed::TestPostgres;
use epitome_tokens::Catalog;
use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const SESSIONS: u64 = 200;
const REPLICAS: usize = 3;
/// Shorter than in earnest, so that the test is.
const LEASE_TIME: Duration = Duration::from_secs(3);

async fn open(address: &str) -> PostgresStore {
    let address = address.parse().expect("an address");
    let mut options = PostgresOptions::default();
    (options.lease_time, options.connections_max) = (LEASE_TIME, 4);
    PostgresStore::open_with(&address, options).await.expect("it opens")
}

// What a replica does.

/// A replica, where this program was started as one: it works until its input closes, and prints what is stored.
#[test]
fn replica() {
    let Ok(name) = std::env::var("EPITOME_REPLICA") else { return };
    let address = std::env::var("EPITOME_REPLICA_DATABASE").expect("it is given");
    let is_over = Arc::new(AtomicBool::new(false));
    let over = is_over.clone();
    std::thread::spawn(move || {
        // Nothing is said but the end.
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        over.store(true, Ordering::Release);
    });
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let store = Arc::new(open(&address).await);
        let mut worker = Worker::new(name, store.clone());
        while !is_over.load(Ordering::Acquire) {
            worker.turn().await;
        }
        worker.close_all().await;
        drop(worker);
        if let Some(store) = Arc::into_inner(store) {
            store.close().await.expect("it is closed");
        }
    });
}

struct Worker {
    name: String,
    engine: Engine,
    dice: u64,
    said: usize,
    open: Vec<SessionId>,
}

impl Worker {
    fn new(name: String, store: Arc<PostgresStore>) -> Self {
        let dice = name
            .bytes()
            .fold(0x9e37_79b9_7f4a_7c15, |dice, byte| (dice ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
        Self { name, engine: Engine::new(store), dice, said: 0, open: Vec::new() }
    }

    fn roll(&mut self, sides: u64) -> u64 {
        self.dice ^= self.dice << 13;
        self.dice ^= self.dice >> 7;
        self.dice ^= self.dice << 17;
        self.dice % sides
    }

    /// A few messages said in some session, and a compaction now and then. Most of it goes on in a few sessions.
    async fn turn(&mut self) {
        let few = if self.roll(4) < 3 { 20 } else { SESSIONS };
        let session = SessionId(1 + self.roll(few));
        let count = 1 + self.roll(4) as usize;
        let done = self.say(session, count).await;
        let done = match done {
            Ok(()) if self.roll(3) == 0 => self.compact(session).await,
            done => done,
        };
        if let Err(error) = done {
            pass_over(&error);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        if !self.open.contains(&session) {
            self.open.push(session);
        }
        // Some are kept for a while, as a proxy does: nobody else can have them.
        while self.open.len() > 12 {
            let at = self.roll(12) as usize;
            let session = self.open.swap_remove(at);
            self.engine.close(session).await;
        }
    }

    /// Behind whatever is there by then: who would look first, and append behind what it saw, may sleep in between while others go on,
    /// and would open a branch. Half of it goes into the queue of a session that another replica has.
    async fn say(&mut self, session: SessionId, count: usize) -> Result<(), EngineError> {
        if self.roll(2) == 0 {
            self.engine.look(&checkout(session)).await?;
        }
        for _ in 0..count {
            let number = self.said;
            self.said += 1;
            self.engine.say(session, said(&self.name, number), None).await?;
            let mut output = std::io::stdout().lock();
            writeln!(output, "stored {} {} {number}", session.0, self.name).expect("somebody listens");
            output.flush().expect("somebody listens");
        }
        Ok(())
    }

    async fn compact(&mut self, session: SessionId) -> Result<(), EngineError> {
        let checkout = checkout(session);
        match self.roll(2) {
            0 => self.engine.prepare(&checkout).await?,
            _ => self.engine.compact(&checkout, Trigger::Manual, CompactOptions::default()).await?,
        };
        Ok(())
    }

    async fn close_all(&mut self) {
        for session in std::mem::take(&mut self.open) {
            self.engine.close(session).await;
        }
    }
}

fn checkout(session: SessionId) -> Checkout {
    let stated = WindowFacts { stated: Some(Tokens(6_000)), ..WindowFacts::default() };
    let model = Catalog::built_in().find("gpt-5");
    let mut assembly = Assembly::new(Policy::default().into(), model, stated).expect("it is stated");
    assembly.set_request(Tokens::ZERO, Some(Tokens(500)));
    let (options, driver) = (SessionOptions::default(), Driver::default());
    Checkout { session, leaf: None, assembly, options, driver, idle: None }
}

/// A message that is like no other.
fn said(name: &str, number: usize) -> Message {
    let is_person = number.is_multiple_of(2);
    let (role, author) =
        if is_person { (Role::User, Author::Person) } else { (Role::Assistant, Author::Model) };
    let body = format!(" about src/part_{number}.rs and what {name} makes of it,").repeat(20);
    Message::text(role, author, format!("{name}:{number}{body}"))
}

/// Who said a message, and which of theirs it is.
fn sayer(message: &Message) -> (String, usize) {
    let text = message.said();
    let (name, rest) = text.split_once(':').expect("a replica said it");
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    (name.to_owned(), digits.parse().expect("it is numbered"))
}

/// What may happen to a replica here; anything else is told.
fn pass_over(error: &EngineError) {
    match error {
        EngineError::Store(
            StoreError::Leased(_)
            | StoreError::Fenced(_)
            | StoreError::Fault(StoreFault { kind: FaultKind::Gone | FaultKind::Busy, .. }),
        ) => {}
        other => println!("wrong {other}"),
    }
}

// What is done to replicas.

/// Replicas, and what they say is stored: the session, who said it, and which of theirs it is.
struct Fleet {
    address: String,
    begun: usize,
    replicas: Vec<Replica>,
    stored: Arc<Mutex<Vec<(u64, String, usize)>>>,
    wrong: Arc<Mutex<Vec<String>>>,
}

struct Replica {
    process: Child,
    reader: std::thread::JoinHandle<()>,
}

impl Fleet {
    fn new(address: &str) -> Self {
        let (stored, wrong) = (Arc::default(), Arc::default());
        let mut fleet = Self { address: address.to_owned(), begun: 0, replicas: Vec::new(), stored, wrong };
        (0..REPLICAS).for_each(|_| fleet.begin());
        fleet
    }

    fn begin(&mut self) {
        self.begun += 1;
        let program = std::env::current_exe().expect("this program has a name");
        let mut process = Command::new(program)
            .args(["--exact", "replica", "--nocapture"])
            .env("EPITOME_REPLICA", format!("replica{}", self.begun))
            .env("EPITOME_REPLICA_DATABASE", &self.address)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("this program can be started");
        let output = BufReader::new(process.stdout.take().expect("it is piped"));
        let (stored, wrong) = (self.stored.clone(), self.wrong.clone());
        let reader = std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let words: Vec<&str> = line.split(' ').collect();
                match words[..] {
                    ["stored", session, name, number] => {
                        // The last line of one that was killed may end early.
                        let (Ok(session), Ok(number)) = (session.parse(), number.parse()) else { continue };
                        stored.lock().expect("nobody panics").push((session, name.to_owned(), number));
                    }
                    ["wrong", ..] => wrong.lock().expect("nobody panics").push(line),
                    _ => {}
                }
            }
        });
        self.replicas.push(Replica { process, reader });
    }

    fn signal(&self, replica: usize, signal: &str) {
        let process = self.replicas[replica].process.id().to_string();
        let sent = Command::new("kill").args([signal, &process]).status().expect("kill runs");
        assert!(sent.success());
    }

    /// Kills a replica; its process number.
    fn kill(&mut self, replica: usize) -> u32 {
        self.signal(replica, "-KILL");
        let mut killed = self.replicas.remove(replica);
        killed.process.wait().expect("it has ended");
        killed.reader.join().expect("it reads to the end");
        killed.process.id()
    }

    fn count(&self) -> usize {
        self.stored.lock().expect("nobody panics").len()
    }

    /// Lets all of them end in peace.
    fn end(&mut self) {
        for replica in &mut self.replicas {
            drop(replica.process.stdin.take());
        }
        for mut replica in self.replicas.drain(..) {
            assert!(replica.process.wait().expect("it ends").success());
            replica.reader.join().expect("it reads to the end");
        }
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        for replica in &mut self.replicas {
            // It may have ended.
            let _ = replica.process.kill();
        }
    }
}

/// Hears everything, from where it left off each time.
async fn listen(address: String, is_over: Arc<AtomicBool>) -> Vec<StoredEvent> {
    let store = open(&address).await;
    let mut heard: Vec<StoredEvent> = Vec::new();
    loop {
        let was_over = is_over.load(Ordering::Acquire);
        let at = heard.last().map_or(EventPosition::default(), |last| last.position);
        match store.events(at).await {
            Ok(new) if new.is_empty() && was_over => return heard,
            Ok(new) => heard.extend(new),
            Err(StoreError::Fault(StoreFault { kind: FaultKind::Gone | FaultKind::Busy, .. })) => {}
            Err(error) => panic!("{error}"),
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn wait(time: Duration) {
    tokio::time::sleep(time).await;
}

/// Whatever a killed replica held can be had when its leases have ended: others have it, or it is free.
async fn hold_takeover(postgres: &TestPostgres, address: &str, store: &PostgresStore, killed: u32) {
    let held = format!(
        "SELECT session FROM epitome.sessions JOIN epitome.holders USING (holder) WHERE process LIKE '% {killed}'"
    );
    let begun = Instant::now();
    let sessions: Vec<u64> =
        postgres.run(address, &held).lines().map(|line| line.parse().expect("a number")).collect();
    assert!(!sessions.is_empty(), "it was killed at work");
    for session in sessions.into_iter().map(SessionId) {
        loop {
            if let Some(lease) = store.lease(session).await.expect("it answers") {
                store.release(lease).await;
                break;
            }
            if !postgres.run(address, &held).lines().any(|line| line == session.0.to_string()) {
                break;
            }
            assert!(begun.elapsed() < LEASE_TIME * 4, "{session} is still held by a replica that is gone");
            wait(Duration::from_millis(100)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_doubled_or_reordered() {
    let rounds =
        std::env::var("EPITOME_REPLICA_ROUNDS").map_or(1, |rounds| rounds.parse().expect("a number"));
    let postgres = TestPostgres::start(&[]);
    let address = postgres.database();
    let store = Arc::new(open(&address).await);
    for _ in 0..SESSIONS {
        store.create(TenantId([1; 32])).await.expect("a session");
    }
    let is_over = Arc::new(AtomicBool::new(false));
    let listener = tokio::spawn(listen(address.clone(), is_over.clone()));
    let mut fleet = Fleet::new(&address);
    for _ in 0..rounds {
        wait(Duration::from_secs(3)).await;
        assert!(fleet.count() > 0, "they are at work");
        let killed = fleet.kill(0);
        hold_takeover(&postgres, &address, &store, killed).await;
        fleet.signal(0, "-STOP");
        wait(LEASE_TIME + Duration::from_secs(2)).await;
        fleet.signal(0, "-CONT");
        wait(Duration::from_secs(1)).await;
        postgres.crash();
        let before = fleet.count();
        fleet.begin();
        wait(Duration::from_secs(2)).await;
        assert!(fleet.count() > before, "they go on when the database is back");
    }
    fleet.end();
    is_over.store(true, Ordering::Release);
    let heard = listener.await.expect("it hears to the end");
    deliver_all(&store).await;
    let wrong = std::mem::take(&mut *fleet.wrong.lock().expect("nobody panics"));
    assert_eq!(wrong, Vec::<String>::new());
    hold_events(&postgres, &address, &store, &heard).await;
    let stored = std::mem::take(&mut *fleet.stored.lock().expect("nobody panics"));
    hold_entries(&store, &stored).await;
}

/// Appends what still waits in a queue: nobody has spoken in that session since.
async fn deliver_all(store: &Arc<PostgresStore>) {
    let engine = Engine::new(store.clone());
    for session in (1..=SESSIONS).map(SessionId) {
        engine.deliver(session, None).await.expect("nobody has it any more");
        engine.close(session).await;
    }
}

/// Each event was heard once, in one order.
async fn hold_events(postgres: &TestPostgres, address: &str, store: &PostgresStore, heard: &[StoredEvent]) {
    assert!(heard.windows(2).all(|pair| pair[0].position < pair[1].position));
    let all = store.events(EventPosition::default()).await.expect("they are kept");
    assert!(all == heard, "{} events were heard of {}", heard.len(), all.len());
    let count = postgres.run(address, "SELECT count(*) FROM epitome.events");
    assert_eq!(count, all.len().to_string());
    assert!(all.len() > 20, "there was something to hear: {}", all.len());
}

/// Whatever was told to be stored is there once; each session is one path, on which nobody's messages changed places.
async fn hold_entries(store: &PostgresStore, told: &[(u64, String, usize)]) {
    let mut seen: HashSet<(u64, String, usize)> = HashSet::new();
    for session in (1..=SESSIONS).map(SessionId) {
        let opened = store.open_whole(session).await.expect("it is there");
        let messages: Vec<EntryId> =
            (0..opened.log.len() as u32).map(EntryId).filter(|&id| opened.log.item(id).is_some()).collect();
        let path = opened.leaf.map_or_else(Vec::new, |leaf| opened.log.path(leaf));
        assert_eq!(path, messages, "{session} is one path");
        let mut last: HashMap<String, usize> = HashMap::new();
        for message in store.originals(session, &messages).await.expect("they are kept") {
            let (name, number) = sayer(&message);
            assert_eq!(*message, said(&name, number));
            let before = last.insert(name.clone(), number);
            assert!(before.is_none_or(|before| before < number), "{name} said {number} after {before:?}");
            assert!(seen.insert((session.0, name, number)), "it is stored once");
        }
    }
    let lost: Vec<_> = told.iter().filter(|one| !seen.contains(*one)).collect();
    assert!(lost.is_empty(), "{} of {} are lost: {lost:?}", lost.len(), told.len());
    println!("{} messages, {} of them acknowledged", seen.len(), told.len());
    assert!(store.check().await.expect("it can be looked at").is_empty());
}
