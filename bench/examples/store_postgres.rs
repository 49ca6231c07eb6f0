//! What the PostgreSQL store costs beside the bare database, in one run: durable commits with rows of the same size, one message and a
//! hundred at a time, on a server started for it, in turn with the bare database.
//!
//!     store_postgres [ROUNDS]        TMPDIR says where the server's files lie: on a disk, or where a disk answers at once

use epitome_core::{Author, Entry, EntryId, Item, Message, Role};
use epitome_engine::AppendedEntry;
use epitome_engine::store::{CommitBatch, Lease, Store, TenantId};
use epitome_store::{PostgresStore, SessionStore};
use epitome_testbed::TestPostgres;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_postgres::{Client, NoTls, Statement};

/// Commits of one message, and of a hundred, in a round.
const SINGLE: usize = 300;
const BATCHED: usize = 60;
const BATCH: usize = 100;
const ROUNDS: usize = 5;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rounds = std::env::args().nth(1).map_or(Ok(ROUNDS), |rounds| rounds.parse())?;
    let postgres = TestPostgres::start(&["fsync=on"]);
    for kilobytes in [1, 8] {
        compare(&postgres, rounds, kilobytes).await?;
    }
    Ok(())
}

/// Takes turns with the bare database, and prints the table.
async fn compare(
    postgres: &TestPostgres,
    rounds: usize,
    kilobytes: usize,
) -> Result<(), Box<dyn std::error::Error>> {
    let words = || Words { state: 1, bytes: kilobytes * 1_000 - 76 };
    let mut bare = Bare::new(&postgres.database(), words()).await?;
    let mut ours = Ours::new(&postgres.database(), words()).await?;
    let mut ratios = [Vec::new(), Vec::new()];
    println!(
        "\nMessages of {kilobytes} KB\n\n| round | commits | bare, messages/s | epitome, messages/s | share |\n|---|---|---|---|---|"
    );
    for round in 1..=rounds {
        for (at, (commits, batch)) in [(SINGLE, 1), (BATCHED, BATCH)].into_iter().enumerate() {
            let (mut plain, mut stored) = (Duration::ZERO, Duration::ZERO);
            // In turn, commit by commit: what else the disk has to do falls on both.
            for _ in 0..commits {
                let start = Instant::now();
                bare.commit(batch).await?;
                let between = Instant::now();
                ours.commit(batch).await?;
                plain += between - start;
                stored += between.elapsed();
            }
            let (plain, stored) = (rate(commits * batch, plain), rate(commits * batch, stored));
            ratios[at].push(stored / plain);
            println!("| {round} | of {batch} | {plain:.0} | {stored:.0} | {:.2} |", stored / plain);
        }
    }
    for (name, ratios) in ["one message", "a hundred"].iter().zip(&mut ratios) {
        ratios.sort_unstable_by(f64::total_cmp);
        println!("\n{name} at a time: {:.2} of the bare database in the median", ratios[ratios.len() / 2]);
    }
    let figures = ours.store.figures().await?;
    let raw = ours.raw_bytes as f64;
    println!(
        "\n{} messages of {:.0} bytes: {:.2} of their raw JSON",
        figures.entries,
        raw / figures.entries as f64,
        figures.bytes as f64 / raw
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
        const WORDS: [&str; 8] =
            ["parse", "header", "the", "session", "src/walk.rs", "fails", "lease", "compaction"];
        let mut text = String::new();
        while text.len() < self.bytes {
            self.state =
                self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            text.push_str(WORDS[(self.state >> 61) as usize]);
            text.push_str(&format!(" {:x} ", (self.state >> 40) & 0xfff));
        }
        Message::text(Role::User, Author::Person, text)
    }
}

/// Rows of messages in the bare database, inserted by one statement a commit.
struct Bare {
    client: Client,
    insert: Statement,
    words: Words,
    next: i64,
}

impl Bare {
    async fn new(address: &str, words: Words) -> Result<Self, Box<dyn std::error::Error>> {
        let (client, connection) = tokio_postgres::connect(address, NoTls).await?;
        tokio::spawn(connection);
        client
            .batch_execute(
                "CREATE TABLE messages (session BIGINT, number BIGINT, body BYTEA, PRIMARY KEY (session, number))",
            )
            .await?;
        let insert =
            client.prepare("INSERT INTO messages SELECT 1, * FROM unnest($1::bigint[], $2::bytea[])").await?;
        Ok(Self { client, insert, words, next: 0 })
    }

    async fn commit(&mut self, count: usize) -> Result<(), Box<dyn std::error::Error>> {
        let bodies: Result<Vec<Vec<u8>>, _> =
            (0..count).map(|_| serde_json::to_vec(&self.words.message())).collect();
        let numbers: Vec<i64> = (self.next..self.next + count as i64).collect();
        self.next += count as i64;
        self.client.execute(&self.insert, &[&numbers, &bodies?]).await?;
        Ok(())
    }
}

/// A session in the store.
struct Ours {
    store: PostgresStore,
    lease: Lease,
    words: Words,
    entries: usize,
    raw_bytes: usize,
}

impl Ours {
    async fn new(address: &str, words: Words) -> Result<Self, Box<dyn std::error::Error>> {
        let store = PostgresStore::open(&address.parse()?).await?;
        let session = store.create(TenantId::LOCAL).await?;
        let lease = store.lease(session).await?.ok_or("somebody else has it")?;
        Ok(Self { store, lease, words, entries: 0, raw_bytes: 0 })
    }

    async fn commit(&mut self, count: usize) -> Result<(), Box<dyn std::error::Error>> {
        let mut batch = CommitBatch { time_ms: Some(1), ..CommitBatch::default() };
        for at in self.entries..self.entries + count {
            let (id, message) = (EntryId(at as u32), self.words.message());
            self.raw_bytes += serde_json::to_vec(&message)?.len();
            let parent = at.checked_sub(1).map(|at| EntryId(at as u32));
            batch.entries.push(AppendedEntry { id, parent, entry: Entry::Message(Item::of(&message)) });
            batch.messages.push((id, Arc::new(message)));
            batch.leaf = Some(id);
        }
        self.store.commit(self.lease, self.entries, batch).await?;
        self.entries += count;
        Ok(())
    }
}
