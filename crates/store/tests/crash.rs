//! A writer that is killed at any moment: what it was told is stored is stored, whole, and nothing is half there.
//!
//! The writer is this program itself, run again with [`WRITER`] set: it appends, compacts, swaps in what was made beforehand and
//! takes compactions back, and says on standard output which call of the store it is at and what was acknowledged. It is killed
//! after some time, or while it is at a call. `EPITOME_CRASHES` says how often; `make test-crash` does so 500 times on each store.

mod first_version;
mod history;
mod watched;

use epitome_core::{Message, Trigger};
use epitome_engine::store::{SessionId, StoreError, TenantId};
use epitome_engine::{CompactOptions, Engine, HashedMessages, TokioRuntime};
use epitome_store::{PostgresOptions, PostgresStore, SessionFilter, SessionStore, StoreAddress};
use epitome_testbed::TestStore;
use history::{checkout, hold_history, hold_settled, said};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Display;
use std::io::{BufRead, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use watched::{StoreCall, Watch, WatchedStore};

/// Where the writer writes, in the environment of its process.
const WRITER: &str = "EPITOME_CRASH_WRITER";
/// The writer's own test, which does nothing without that.
const WRITER_TEST: &str = "writer";
/// It writes to so many sessions in turn.
const SESSIONS: usize = 3;
/// How often it is killed in an ordinary run.
const CRASHES: u64 = 12;
/// So often on the same tables: all that is in them is looked at after each time.
const CRASHES_ON_ONE: u64 = 50;
/// Others may not take what a killed writer held before this is over.
const LEASE_TIME: Duration = Duration::from_millis(600);
/// A call that does not come is not waited for any longer.
const PATIENCE: Duration = Duration::from_secs(5);

/// The number of what was said.
fn number_of(message: &Message) -> usize {
    let text = message.said();
    let number = text.split([' ', ':']).nth(1).and_then(|number| number.parse().ok());
    number.unwrap_or_else(|| panic!("nobody said: {text}"))
}

async fn open(address: &str) -> Arc<dyn SessionStore> {
    match address.parse::<StoreAddress>().expect("an address") {
        StoreAddress::Postgres(address) => {
            let mut options = PostgresOptions::default();
            options.lease_time = LEASE_TIME;
            Arc::new(PostgresStore::open_with(&address, options).await.expect("it opens"))
        }
        file @ StoreAddress::Sqlite(_) => file.open().await.expect("it opens"),
    }
}

fn say(line: impl Display) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).expect("somebody listens");
}

/// Says on standard output what the writer is at.
struct SpokenWatch;

impl Watch for SpokenWatch {
    fn begins(&self, call: StoreCall) -> Result<(), StoreError> {
        say(format_args!("at {call:?}"));
        Ok(())
    }

    fn ends(&self) {
        say("at nothing");
    }
}

/// Writes until it is killed; a line with a session and a number says how many entries of it are acknowledged.
#[tokio::test]
async fn writer() {
    let Ok(address) = std::env::var(WRITER) else { return };
    say("at Opening");
    let store = open(&address).await;
    say("at nothing");
    let known = store.list(&SessionFilter::default()).await.expect("it answers");
    let runtime = TokioRuntime::current().expect("one runs");
    let engine =
        Engine::new(Arc::new(WatchedStore::new(store, Arc::new(SpokenWatch)))).with_spawn(Arc::new(runtime));
    let mut sessions: Vec<SessionId> = known.iter().map(|one| one.session).collect();
    while sessions.len() < SESSIONS {
        sessions.push(engine.create(TenantId::LOCAL).await.expect("it is made"));
    }
    for turn in 0.. {
        let session = sessions[turn % SESSIONS];
        act(&engine, session, turn).await;
        let path = engine.look(&checkout(session)).await.expect("it is open");
        say(format_args!("{session} {}", path.log().len()));
    }
}

async fn act(engine: &Engine, session: SessionId, turn: usize) {
    let checkout = checkout(session);
    let path = engine.look(&checkout).await.expect("it is there");
    let start = match path.leaf() {
        Some(leaf) => number_of(&engine.recall(session, leaf).await.expect("it is stored")) + 1,
        None => 0,
    };
    let messages = (start..start + 2).map(|number| (said(number), None)).collect();
    let arrival = HashedMessages { messages, time_ms: Some(turn as u64), ..HashedMessages::default() };
    engine.append(session, path.leaf(), arrival).await.expect("it is stored");
    let prepared = engine.prepare(&checkout).await.expect("it is prepared");
    let newest = prepared.session.compactions().last().copied();
    if let Some(newest) = newest.filter(|_| turn.is_multiple_of(31)) {
        engine.undo(&checkout, newest).await.expect("it is taken back");
        engine.compact(&checkout, Trigger::Manual, CompactOptions::default()).await.expect("it is compacted");
    }
    if turn.is_multiple_of(47) {
        let leaf = path.leaf().expect("something was said");
        engine.rollback(session, leaf).await.expect("it goes back");
    }
}

/// When a writer is killed.
enum Kill {
    /// After so long.
    After(Duration),
    /// So long after it has begun a call of this name for the `nth` time.
    At { call: &'static str, nth: usize, delay: Duration },
}

/// What a killed writer has said.
#[derive(Default)]
struct LastWords {
    /// How many entries of a session are acknowledged.
    acknowledged: HashMap<SessionId, usize>,
    /// The call it was at.
    call: String,
}

fn begin(address: &str) -> Child {
    let program = std::env::current_exe().expect("this program");
    let mut command = Command::new(program);
    command.args(["--exact", WRITER_TEST, "--nocapture"]).env(WRITER, address);
    command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it runs")
}

/// Waits until a call has begun for the `nth` time, or has not for long.
fn wait_for(calls: &Receiver<String>, call: &str, nth: usize) {
    let begun = Instant::now();
    let mut seen = 0;
    while seen < nth {
        let Ok(next) = calls.recv_timeout(PATIENCE.saturating_sub(begun.elapsed())) else { return };
        seen += usize::from(next == call);
    }
}

fn run_and_kill(address: &str, kill: &Kill) -> LastWords {
    let mut child = begin(address);
    let out = child.stdout.take().expect("it is piped");
    let (tell, calls) = channel();
    let reader = std::thread::spawn(move || {
        let mut words = LastWords::default();
        for line in BufReader::new(out).lines().map_while(Result::ok) {
            match line.split_once(' ') {
                Some(("at", call)) => {
                    words.call = call.to_owned();
                    // Nobody listens where it is killed after some time.
                    let _ = tell.send(call.to_owned());
                }
                // Other lines are the test runner's own.
                Some((session, count)) => {
                    if let (Ok(session), Ok(count)) = (session.parse(), count.parse::<usize>()) {
                        words.acknowledged.insert(session, count);
                    }
                }
                None => {}
            }
        }
        words
    });
    match kill {
        Kill::After(time) => std::thread::sleep(*time),
        Kill::At { call, nth, delay } => {
            wait_for(&calls, call, *nth);
            std::thread::sleep(*delay);
        }
    }
    child.kill().expect("it can be killed");
    child.wait().expect("it ends");
    reader.join().expect("nothing but reading")
}

/// Everything that must hold of a store whose writer was killed.
async fn hold(store: &Arc<dyn SessionStore>, acknowledged: &HashMap<SessionId, usize>) {
    assert_eq!(store.check().await.expect("it answers"), [], "nothing is half there");
    let engine = Engine::new(store.clone());
    for (&session, &count) in acknowledged {
        hold_history(&**store, session, count).await;
        wait_until_free(&**store, session).await;
        hold_settled(&engine, session).await;
        engine.close(session).await;
    }
}

/// Waits until a killed writer's lease is over.
async fn wait_until_free(store: &dyn SessionStore, session: SessionId) {
    let begun = Instant::now();
    loop {
        if let Some(lease) = store.lease(session).await.expect("it answers") {
            return store.release(lease).await;
        }
        assert!(begun.elapsed() < PATIENCE + LEASE_TIME, "{session} is held by one that was killed");
        tokio::time::sleep(LEASE_TIME / 20).await;
    }
}

fn crashes() -> u64 {
    std::env::var("EPITOME_CRASHES").ok().and_then(|count| count.parse().ok()).unwrap_or(CRASHES)
}

/// The `crash`th kill: every second at some time, the others at a call that seldom lasts long.
fn kill(crash: u64) -> Kill {
    if crash.is_multiple_of(2) {
        // From before the tables are made to many compactions later, at no round number.
        return Kill::After(Duration::from_micros(3_000 + crash * 7_919 % 60 * 10_007));
    }
    let (call, nth) =
        (["Live", "Swap", "Compaction"][(crash / 2 % 3) as usize], 1 + (crash / 6 % 2) as usize);
    Kill::At { call, nth, delay: Duration::from_micros(crash * 7_919 % 41 * 53) }
}

async fn kill_again_and_again(kind: &TestStore) {
    let (mut most, mut calls, mut place) = (0, BTreeMap::<String, u64>::new(), kind.another());
    for crash in 0..crashes() {
        if crash.is_multiple_of(CRASHES_ON_ONE) {
            place = kind.another();
        }
        let words = run_and_kill(place.address(), &kill(crash));
        let store = open(place.address()).await;
        hold(&store, &words.acknowledged).await;
        store.close().await.expect("it is closed");
        most = most.max(words.acknowledged.values().sum());
        *calls.entry(words.call).or_default() += 1;
    }
    println!("{}: killed at {calls:?}", kind.address());
    assert!(most > 100, "the writer did little: {most} entries acknowledged at most");
    let is_hit = |call: &str| calls.contains_key(call);
    let all = ["Append", "Compaction", "Swap", "Live"].into_iter().all(is_hit);
    assert!(crashes() < 200 || all, "some call was never broken off: {calls:?}");
}

#[tokio::test]
async fn what_a_killed_writer_to_a_file_was_told_is_stored_is_stored_whole() {
    kill_again_and_again(&TestStore::sqlite()).await;
}

#[tokio::test]
async fn what_a_killed_writer_to_a_database_was_told_is_stored_is_stored_whole() {
    kill_again_and_again(&TestStore::postgres()).await;
}

/// How long it takes until a writer has opened a store that is not there yet.
fn opening_time(address: &str) -> Duration {
    let mut child = begin(address);
    let out = BufReader::new(child.stdout.take().expect("it is piped"));
    let mut begun = None;
    for line in out.lines().map_while(Result::ok) {
        match line.as_str() {
            "at Opening" => begun = Some(Instant::now()),
            "at nothing" => break,
            _ => {}
        }
    }
    child.kill().expect("it can be killed");
    child.wait().expect("it ends");
    begun.expect("it was begun").elapsed()
}

#[tokio::test]
async fn tables_whose_making_is_broken_off_are_made_whole_by_the_next() {
    for kind in TestStore::of_each_kind() {
        let (time, rounds) = (opening_time(kind.address()), (crashes() / 10).max(4));
        let mut broken_off = 0;
        for round in 0..rounds {
            let place = kind.another();
            let delay = time * (round * 7_919 % 97) as u32 / 97;
            let words = run_and_kill(place.address(), &Kill::At { call: "Opening", nth: 1, delay });
            broken_off += u64::from(words.call == "Opening");
            let store = open(place.address()).await;
            assert_eq!(store.check().await.expect("it answers"), []);
            let engine = Engine::new(store.clone());
            let session = engine.create(TenantId::LOCAL).await.expect("it is made");
            let arrival = HashedMessages { messages: vec![(said(0), None)], ..HashedMessages::default() };
            engine.append(session, None, arrival).await.expect("it is stored");
            hold_history(&*store, session, 1).await;
            store.close().await.expect("it is closed");
        }
        println!("{}: the making of tables was broken off {broken_off} of {rounds} times", kind.address());
        assert!(broken_off > 0, "{}: it was too quick, {time:?}", kind.address());
    }
}

#[tokio::test]
async fn a_file_whose_bringing_forward_is_broken_off_is_brought_forward_by_the_next() {
    let first = TestStore::sqlite();
    let file = |place: &TestStore| PathBuf::from(place.address().trim_start_matches("sqlite:"));
    let session = first_version::write(&file(&first)).await;
    let another = || {
        let place = first.another();
        std::fs::copy(file(&first), file(&place)).expect("there is room");
        place
    };
    let (time, rounds) = (opening_time(another().address()), (crashes() / 10).max(4));
    let mut broken_off = 0;
    for round in 0..rounds {
        let place = another();
        let delay = time * (round * 7_919 % 97) as u32 / 97;
        let words = run_and_kill(place.address(), &Kill::At { call: "Opening", nth: 1, delay });
        broken_off += u64::from(words.call == "Opening");
        assert!([1, 2].contains(&first_version::version(&file(&place))), "it is of one version");
        let store = open(place.address()).await;
        assert_eq!(first_version::version(&file(&place)), 2);
        assert_eq!(store.check().await.expect("it answers"), []);
        hold_history(&*store, session, first_version::MESSAGES).await;
        store.close().await.expect("it is closed");
    }
    assert!(broken_off > 0, "it was too quick, {time:?}");
}
