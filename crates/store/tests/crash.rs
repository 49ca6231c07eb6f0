//! A writer that is killed at any moment: what it was told is stored is stored, whole, and nothing is half there.
//!
//! The writer is this program itself, run again with [`WRITER`] set: it appends, compacts and takes compactions back, and says on
//! standard output what was acknowledged. `EPITOME_CRASHES` says how often it is killed; `make test-crash` does so 500 times.

use epitome_core::{Author, Entry, Mark, Message, Policy, Role, Tokens, Trigger};
use epitome_engine::store::{SessionId, TenantId};
use epitome_engine::{
    Assembly, Checkout, CompactOptions, Driver, Engine, HashedMessages, Session, SessionOptions, WindowFacts,
};
use epitome_store::{SessionFilter, SessionStore, StoreAddress};
use epitome_tokens::Catalog;
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// Where the writer writes, in the environment of its process.
const WRITER: &str = "EPITOME_CRASH_WRITER";
/// The writer's own test, which does nothing without that.
const WRITER_TEST: &str = "writer";
/// It writes to so many sessions in turn.
const SESSIONS: usize = 3;
const WINDOW: u64 = 6_000;
/// How often it is killed in an ordinary run.
const CRASHES: u64 = 12;

fn said(number: usize) -> Message {
    let (role, author) = if number.is_multiple_of(2) {
        (Role::User, Author::Person)
    } else {
        (Role::Assistant, Author::Model)
    };
    Message::text(role, author, format!("part {number}: {}", "keep src/walk.rs as it is. ".repeat(20)))
}

/// The number of what was said.
fn number_of(message: &Message) -> usize {
    let text = message.said();
    let number = text.split([' ', ':']).nth(1).and_then(|number| number.parse().ok());
    number.unwrap_or_else(|| panic!("nobody said: {text}"))
}

fn checkout(session: SessionId) -> Checkout {
    let facts = WindowFacts { stated: Some(Tokens(WINDOW)), ..WindowFacts::default() };
    let model = Catalog::built_in().find("gpt-5");
    Checkout {
        session,
        leaf: None,
        assembly: Assembly::new(Policy::default().into(), model, facts).expect("a window"),
        options: SessionOptions::default(),
        driver: Driver::default(),
        idle: None,
    }
}

/// Writes until it is killed; each line says how many entries of a session are acknowledged.
#[tokio::test]
async fn writer() {
    let Ok(address) = std::env::var(WRITER) else { return };
    let store = address.parse::<StoreAddress>().expect("an address").open().await.expect("it opens");
    let known = store.list(&SessionFilter::default()).await.expect("it answers");
    let engine = Engine::new(store);
    let mut sessions: Vec<SessionId> = known.iter().map(|one| one.session).collect();
    while sessions.len() < SESSIONS {
        sessions.push(engine.create(TenantId::LOCAL).await.expect("it is made"));
    }
    for turn in 0.. {
        let session = sessions[turn % SESSIONS];
        act(&engine, session, turn).await;
        let path = engine.look(&checkout(session)).await.expect("it is open");
        let count = path.log().len();
        let mut out = std::io::stdout().lock();
        writeln!(out, "{session} {count}").and_then(|()| out.flush()).expect("somebody listens");
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
    if let Some(newest) = newest.filter(|_| turn.is_multiple_of(11)) {
        engine.undo(&checkout, newest).await.expect("it is taken back");
        engine.compact(&checkout, Trigger::Manual, CompactOptions::default()).await.expect("it is compacted");
    }
    if turn.is_multiple_of(17) {
        let leaf = path.leaf().expect("something was said");
        engine.rollback(session, leaf).await.expect("it goes back");
    }
}

fn begin(address: &str) -> Child {
    let program = std::env::current_exe().expect("this program");
    let mut command = Command::new(program);
    command.args(["--exact", WRITER_TEST, "--nocapture"]).env(WRITER, address);
    command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it runs")
}

/// Lets the writer run for a while and kills it; what it said was acknowledged, by session.
fn run_and_kill(address: &str, time: Duration) -> HashMap<SessionId, usize> {
    let mut child = begin(address);
    let out = child.stdout.take().expect("it is piped");
    let reader = std::thread::spawn(move || {
        let mut acknowledged = HashMap::new();
        for line in BufReader::new(out).lines().map_while(Result::ok) {
            // The first is the test runner's own.
            if let Some((session, count)) = line.split_once(' ')
                && let (Ok(session), Ok(count)) = (session.parse(), count.parse::<usize>())
            {
                acknowledged.insert(session, count);
            }
        }
        acknowledged
    });
    std::thread::sleep(time);
    child.kill().expect("it can be killed");
    child.wait().expect("it ends");
    reader.join().expect("nothing but reading")
}

/// Everything that must hold of a store whose writer was killed.
async fn hold(store: &Arc<dyn SessionStore>, acknowledged: &HashMap<SessionId, usize>) {
    assert_eq!(store.check().await.expect("it answers"), [], "nothing is half there");
    let engine = Engine::new(store.clone());
    for (&session, &count) in acknowledged {
        let stored = store.open_whole(session).await.expect("it opens");
        assert!(
            stored.log.len() >= count,
            "{session}: {} of {count} that were acknowledged",
            stored.log.len()
        );
        for (id, entry) in stored.log.iter() {
            if let Entry::Message(_) = entry {
                let number = stored.log.path(id).len() - 1;
                let original = store.originals(session, &[id]).await.expect("it is there");
                assert_eq!(*original[0], said(number), "{session} {id}");
            }
        }
        hold_settled(&engine, session).await;
        engine.close(session).await;
    }
}

/// What was compacted stays so: the next look makes no second compaction of it.
async fn hold_settled(engine: &Engine, session: SessionId) {
    let checkout = checkout(session);
    let before = engine.look(&checkout).await.expect("it is there");
    let (is_over, len) = (before.check().is_due(), before.log().len());
    // Of those that were there before, not all need be at hand.
    let made = |path: &Session| {
        let is_compaction = |entry: &Entry| matches!(entry, Entry::Mark(Mark::Compaction { .. }));
        path.log().iter().filter(|(id, entry)| id.index() >= len && is_compaction(entry)).count()
    };
    let prepared = engine.prepare(&checkout).await.expect("it is prepared");
    assert!(
        made(&prepared.session) <= usize::from(is_over),
        "{session} was compacted though nothing was due"
    );
    let again = engine.prepare(&checkout).await.expect("it is prepared");
    assert_eq!(made(&again.session), made(&prepared.session), "{session}: once is enough");
}

#[tokio::test]
async fn what_a_killed_writer_was_told_is_stored_is_stored_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    let address = format!("sqlite:{}", folder.path().join("epitome.db").display());
    kill_again_and_again(&address).await;
}

async fn kill_again_and_again(address: &str) {
    let crashes =
        std::env::var("EPITOME_CRASHES").ok().and_then(|count| count.parse().ok()).unwrap_or(CRASHES);
    let mut most = 0;
    for crash in 0..crashes {
        // From before the tables are made to many compactions later, at no round number.
        let time = Duration::from_micros(3_000 + crash * 7_919 % 60 * 10_007);
        let acknowledged = run_and_kill(address, time);
        let store = address.parse::<StoreAddress>().expect("an address").open().await.expect("it opens");
        hold(&store, &acknowledged).await;
        most = most.max(acknowledged.values().sum());
    }
    assert!(most > 100, "the writer did little: {most} entries acknowledged at most");
}
