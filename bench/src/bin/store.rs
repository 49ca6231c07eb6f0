//! What a store costs beside the bare database, in one run: durable commits with rows of the same size, one message and a
//! hundred at a time; what a session takes beside its raw JSON; what it takes to open one.
//!
//!     store FOLDER [ROUNDS]
//!
//! The folder is where the files are made: durable commits are as quick as its disk.

use epitome_core::{Author, Entry, EntryId, Item, Message, Role};
use epitome_engine::AppendedEntry;
use epitome_engine::store::{CommitBatch, Lease, SessionId, Store, TenantId};
use epitome_store::{SessionStore, SqliteStore};
use rusqlite::{Connection, params};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Commits of one message, and of a hundred, in a round.
const SINGLE: usize = 300;
const BATCHED: usize = 60;
const BATCH: usize = 100;
const ROUNDS: usize = 5;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let folder = args.next().ok_or("say in which folder: store FOLDER [ROUNDS]")?;
    let rounds = args.next().map_or(Ok(ROUNDS), |rounds| rounds.parse())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(compare(Path::new(&folder), rounds))
}

/// Takes turns with the bare database, and prints the table.
async fn compare(folder: &Path, rounds: usize) -> Result<(), Box<dyn std::error::Error>> {
    for kilobytes in [1, 8] {
        compare_at(&folder.join(kilobytes.to_string()), rounds, kilobytes).await?;
    }
    Ok(())
}

/// The same with messages of so many kilobytes.
async fn compare_at(
    folder: &Path,
    rounds: usize,
    kilobytes: usize,
) -> Result<(), Box<dyn std::error::Error>> {
    std::fs::create_dir_all(folder)?;
    let words = || Words { state: 1, bytes: kilobytes * 1_000 - 76 };
    let mut bare = Bare::new(&folder.join("bare.db"), words())?;
    let mut ours = Ours::new(&folder.join("epitome.db"), words()).await?;
    let mut ratios = [Vec::new(), Vec::new()];
    println!(
        "\nMessages of {kilobytes} KB\n\n| round | commits | bare, messages/s | epitome, messages/s | share |\n|---|---|---|---|---|"
    );
    for round in 1..=rounds {
        for (at, (commits, batch)) in [(SINGLE, 1), (BATCHED, BATCH)].into_iter().enumerate() {
            let start = Instant::now();
            (0..commits).try_for_each(|_| bare.commit(batch))?;
            let plain = rate(commits * batch, start.elapsed());
            let start = Instant::now();
            for _ in 0..commits {
                ours.commit(batch).await?;
            }
            let stored = rate(commits * batch, start.elapsed());
            ratios[at].push(stored / plain);
            println!("| {round} | of {batch} | {plain:.0} | {stored:.0} | {:.2} |", stored / plain);
        }
    }
    for (name, ratios) in ["one message", "a hundred"].iter().zip(&mut ratios) {
        ratios.sort_unstable_by(f64::total_cmp);
        println!("\n{name} at a time: {:.2} of the bare database in the median", ratios[ratios.len() / 2]);
    }
    let figures = ours.store.figures().await?;
    let raw = bare.raw_bytes as f64;
    println!(
        "\n{} messages of {:.0} bytes: {:.2} of their raw JSON ({:.2} the bodies alone)",
        figures.entries,
        raw / figures.entries as f64,
        figures.bytes as f64 / raw,
        figures.body_bytes as f64 / raw
    );
    Ok(())
}

fn rate(messages: usize, time: Duration) -> f64 {
    messages as f64 / time.as_secs_f64()
}

/// Words in an order that is the same on every machine, and no two messages alike.
struct Words {
    state: u64,
    bytes: usize,
}

impl Words {
    fn message(&mut self) -> Message {
        const WORDS: [&str; 16] = [
            "parse",
            "header",
            "the",
            "session",
            "src/walk.rs",
            "fails",
            "with",
            "an",
            "empty",
            "line",
            "because",
            "lease",
            "42",
            "compaction",
            "is",
            "due",
        ];
        let mut text = String::new();
        while text.len() < self.bytes {
            self.state =
                self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            text.push_str(WORDS[(self.state >> 60) as usize]);
            text.push_str(&format!(" {:x} ", (self.state >> 40) & 0xfff));
        }
        Message::text(Role::User, Author::Person, text)
    }
}

/// Rows of messages in the bare database, on disk at each commit.
struct Bare {
    connection: Connection,
    words: Words,
    next: i64,
    /// Bytes of all messages, which are those of the store's.
    raw_bytes: usize,
}

impl Bare {
    fn new(path: &Path, words: Words) -> rusqlite::Result<Self> {
        let connection = Connection::open(path)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.execute_batch(
            "CREATE TABLE messages (session INTEGER, number INTEGER, body BLOB, PRIMARY KEY (session, number))",
        )?;
        Ok(Self { connection, words, next: 0, raw_bytes: 0 })
    }

    fn commit(&mut self, count: usize) -> Result<(), Box<dyn std::error::Error>> {
        let bodies: Result<Vec<Vec<u8>>, _> =
            (0..count).map(|_| serde_json::to_vec(&self.words.message())).collect();
        let bodies = bodies?;
        let transaction = self.connection.transaction()?;
        for body in bodies {
            self.raw_bytes += body.len();
            transaction
                .prepare_cached("INSERT INTO messages VALUES (1, ?1, ?2)")?
                .execute(params![self.next, body])?;
            self.next += 1;
        }
        Ok(transaction.commit()?)
    }
}

/// A session in the store.
struct Ours {
    store: SqliteStore,
    session: SessionId,
    lease: Lease,
    words: Words,
    entries: usize,
}

impl Ours {
    async fn new(path: &Path, words: Words) -> Result<Self, Box<dyn std::error::Error>> {
        let store = SqliteStore::open(path)?;
        let session = store.create(TenantId::LOCAL).await?;
        let lease = store.lease(session).await?.ok_or("somebody else has it")?;
        Ok(Self { store, session, lease, words, entries: 0 })
    }

    async fn commit(&mut self, count: usize) -> Result<(), Box<dyn std::error::Error>> {
        let mut batch = CommitBatch { time_ms: Some(1), ..CommitBatch::default() };
        for at in self.entries..self.entries + count {
            let (id, message) = (EntryId(at as u32), self.words.message());
            let parent = at.checked_sub(1).map(|at| EntryId(at as u32));
            batch.entries.push(AppendedEntry { id, parent, entry: Entry::Message(Item::of(&message)) });
            batch.messages.push((id, Arc::new(message)));
            batch.leaf = Some(id);
        }
        self.store.commit(self.lease, self.entries, batch).await?;
        self.entries += count;
        debug_assert!(self.session == self.lease.session);
        Ok(())
    }
}
