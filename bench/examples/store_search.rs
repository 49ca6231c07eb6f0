//! Search over a long history in each store, beside `rg` over the same history in files: the transcripts of the corpus again and
//! again, with names in them that differ from copy to copy.
//!
//!     store_search FOLDER [MEGABYTES [sqlite|postgres]]
//!
//! What is written into the folder and into the database started for it is gone at the end.

use epitome_bench::transcripts::{files, unpacked};
use epitome_core::{Archive as _, Entry, EntryId, Item, Message, ZeroMeasure};
use epitome_engine::AppendedEntry;
use epitome_engine::store::{CommitBatch, SearchQuery, TenantId, readable};
use epitome_store::{SessionStore, StoreAddress};
use epitome_testbed::TestPostgres;

use std::fs;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

const MEGABYTES: u64 = 1_000;
/// So many messages share a commit.
const BATCH: usize = 200;
/// Every so many words one is another in each copy: real histories go on finding new names.
const NAMES_EVERY: usize = 24;
const TIMES: usize = 5;
/// What is looked for. The first stands in one copy of the corpus alone, and in many of its messages.
const QUERIES: [(&str, &str); 5] = [
    ("a name of one copy", "the_1"),
    ("a word that is everywhere", "file"),
    ("an identifier", "tool_calls"),
    ("three words", "the session file"),
    ("Chinese", "文件"),
];

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

#[tokio::main]
async fn main() -> Outcome<()> {
    let mut args = std::env::args().skip(1);
    let folder = PathBuf::from(
        args.next().ok_or("say in which folder: store_search FOLDER [MEGABYTES [sqlite|postgres]]")?,
    );
    let megabytes = args.next().map_or(Ok(MEGABYTES), |megabytes| megabytes.parse())?;
    let only = args.next();
    let (texts, file) = (folder.join("texts"), folder.join("search.db"));
    fs::create_dir_all(&texts)?;
    let compared = compare(&texts, &file, megabytes * 1_000_000, only.as_deref()).await;
    fs::remove_dir_all(&texts)?;
    for ending in ["", "-wal", "-shm"] {
        // The last two are there while somebody has it open.
        drop(fs::remove_file(format!("{}{ending}", file.display())));
    }
    compared
}

async fn compare(texts: &Path, file: &Path, bytes: u64, only: Option<&str>) -> Outcome<()> {
    let postgres =
        (only != Some("sqlite")).then(|| TestPostgres::start(&["shared_buffers=512MB", "max_wal_size=4GB"]));
    let file = (only != Some("postgres")).then(|| format!("sqlite:{}", file.display()));
    let addresses: Vec<String> =
        file.into_iter().chain(postgres.as_ref().map(TestPostgres::database)).collect();
    let mut stores = Vec::new();
    for address in addresses {
        stores.push(address.parse::<StoreAddress>()?.open().await?);
    }
    let (messages, written) = write_all(texts, &stores, bytes).await?;
    println!("{messages} messages, {} MB of JSON", written / 1_000_000);
    println!("\n| store | indexed in, s | size, of the JSON |\n|---|---|---|");
    for store in &stores {
        let start = Instant::now();
        search(&**store, "nobody_says_this").await?;
        let figures = store.figures().await?;
        let share = figures.bytes as f64 / written as f64;
        println!("| {} | {:.0} | {share:.2} |", kind(&**store), start.elapsed().as_secs_f64());
    }
    let names: Vec<String> = stores.iter().map(|store| format!("{}, ms", kind(&**store))).collect();
    println!("\n| looked for | {} | rg, ms | lines that rg finds |", names.join(" | "));
    println!("|---|---|---|{}", "---|".repeat(names.len()));
    for (what, words) in QUERIES {
        let mut times = Vec::new();
        for store in &stores {
            times.push(median(async || search(&**store, words).await.map(drop)).await?);
        }
        let mut lines = 0;
        let scan = median(async || {
            lines = rg(texts, words)?;
            Ok(())
        })
        .await?;
        let times: Vec<String> = times.iter().map(|time| format!("{time:.1}")).collect();
        println!("| {what} | {} | {scan:.0} | {lines} |", times.join(" | "));
    }
    Ok(())
}

fn kind(store: &dyn SessionStore) -> &'static str {
    if store.place().starts_with("sqlite") { "SQLite" } else { "PostgreSQL" }
}

async fn search(store: &dyn SessionStore, words: &str) -> Outcome<usize> {
    let query = SearchQuery { words: words.into(), ..SearchQuery::default() };
    Ok(store.search(&query).await?.len())
}

/// The median time of several, in milliseconds.
async fn median(mut act: impl AsyncFnMut() -> Outcome<()>) -> Outcome<f64> {
    let mut times = Vec::new();
    for _ in 0..TIMES {
        let start = Instant::now();
        act().await?;
        times.push(start.elapsed());
    }
    times.sort_unstable();
    Ok(times.get(TIMES / 2).map_or(0.0, Duration::as_secs_f64) * 1_000.0)
}

/// How many lines hold the words, one behind the other.
fn rg(folder: &Path, words: &str) -> Outcome<u64> {
    let out = Command::new("rg").args(["-i", "-F", "-c", "--no-filename", words]).arg(folder).output()?;
    Ok(String::from_utf8(out.stdout)?.lines().filter_map(|count| count.parse::<u64>().ok()).sum())
}

/// Writes copies of the corpus into files and stores until there are so many bytes; messages, and bytes.
async fn write_all(texts: &Path, stores: &[Arc<dyn SessionStore>], bytes: u64) -> Outcome<(u64, u64)> {
    let corpus = corpus()?;
    let (mut messages, mut written) = (0, 0);
    for copy in 1.. {
        for (number, session) in corpus.iter().enumerate() {
            let said: Vec<Message> = session.iter().map(|message| varied(message, copy)).collect();
            let mut out = BufWriter::new(fs::File::create(texts.join(format!("{copy}-{number}.jsonl")))?);
            for message in &said {
                let line = serde_json::to_vec(message)?;
                out.write_all(&line)?;
                out.write_all(b"\n")?;
                written += line.len() as u64;
            }
            messages += said.len() as u64;
            for store in stores {
                keep(&**store, &said).await?;
            }
            if written >= bytes {
                return Ok((messages, written));
            }
        }
    }
    Ok((messages, written))
}

/// Sessions of the corpus, each message as what can be read of it.
fn corpus() -> Outcome<Vec<Vec<Message>>> {
    let mut sessions = Vec::new();
    for path in files(&[Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus")]) {
        let Ok(transcript) = epitome_wire::read(Arc::new(unpacked(&path)?), None, &ZeroMeasure) else {
            continue;
        };
        for conversation in &transcript.conversations {
            let ids = conversation.log.iter().map(|(id, _)| id);
            let messages = ids.filter_map(|id| conversation.originals.message(id).ok());
            let said = messages.map(|one| Message::text(one.role, one.author, readable(&one)));
            sessions.push(said.collect());
        }
    }
    Ok(sessions)
}

/// A message of a copy of its own.
fn varied(message: &Message, copy: u32) -> Message {
    let text = message.said();
    let mut varied = String::with_capacity(text.len() + text.len() / 16);
    for (at, word) in text.split_inclusive(' ').enumerate() {
        match word.strip_suffix(' ') {
            Some(word) if at % NAMES_EVERY == 0 => varied.push_str(&format!("{word}_{copy} ")),
            Some(_) | None => varied.push_str(word),
        }
    }
    Message::text(message.role, message.author, varied)
}

async fn keep(store: &dyn SessionStore, said: &[Message]) -> Outcome<()> {
    let session = store.create(TenantId::LOCAL).await?;
    let lease = store.lease(session).await?.ok_or("somebody else has it")?;
    for (at, part) in said.chunks(BATCH).enumerate() {
        let mut batch = CommitBatch { time_ms: Some(1), ..CommitBatch::default() };
        for (number, message) in part.iter().enumerate() {
            let id = EntryId((at * BATCH + number) as u32);
            let parent = id.0.checked_sub(1).map(EntryId);
            batch.entries.push(AppendedEntry { id, parent, entry: Entry::Message(Item::of(message)) });
            batch.messages.push((id, Arc::new(message.clone())));
            batch.leaf = Some(id);
        }
        store.commit(lease, at * BATCH, batch).await?;
    }
    store.release(lease).await;
    Ok(())
}
