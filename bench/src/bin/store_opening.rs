//! What it takes to open a session of 100,000 entries nearly all of which are superseded, beside one that has little more than what
//! is live: time and memory, each measured in a process of its own.
//!
//!     store_opening STORE [ENTRIES]      # sqlite:PATH or postgres://USER@HOST/DATABASE

use epitome_core::{Author, Message, Policy, Role, Tokens};
use epitome_engine::store::{SessionId, TenantId};
use epitome_engine::{Assembly, Checkout, Driver, Engine, HashedMessages, SessionOptions, WindowFacts};
use epitome_store::StoreAddress;
use epitome_tokens::Catalog;
use std::process::Command;
use std::time::Instant;

const ENTRIES: usize = 100_000;
/// Of the session that has little more than what is live.
const SHORT: usize = 1_500;
const WINDOW: u64 = 32_000;
const AT_ONCE: usize = 50;
const OPENINGS: usize = 9;
/// The argument with which this program opens a session and measures that.
const OPEN: &str = "--open";

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    match &args[..] {
        [flag, address, session] if flag == OPEN => runtime.block_on(open(address, session.parse()?)),
        [address, more @ ..] => {
            let entries = more.first().map_or(Ok(ENTRIES), |entries| entries.parse())?;
            runtime.block_on(compare(address, entries))
        }
        [] => Err("say in which store: store_opening STORE [ENTRIES]".into()),
    }
}

async fn compare(address: &str, entries: usize) -> Outcome<()> {
    let mut measured = Vec::new();
    println!("| entries | in view | at hand | opened in, ms | resident, MB |\n|---|---|---|---|---|");
    for count in [SHORT, entries] {
        let session = grow(address, count).await?;
        let child = Command::new(std::env::current_exe()?)
            .arg(OPEN)
            .arg(address)
            .arg(session.to_string())
            .output()?;
        let told = String::from_utf8(child.stdout)?;
        let figures: Vec<f64> = told.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
        let [in_view, at_hand, time, memory] = figures[..] else {
            return Err(format!("{told}{}", String::from_utf8_lossy(&child.stderr)).into());
        };
        println!("| {count} | {in_view} | {at_hand} | {time:.2} | {memory:.1} |");
        measured.push((time, memory));
    }
    let (small, large) = (measured[0], measured[1]);
    println!("\ntime {:.2}x, memory {:.2}x", large.0 / small.0, large.1 / small.1);
    Ok(())
}

/// A session of so many messages, compacted whenever that is due.
async fn grow(address: &str, count: usize) -> Outcome<SessionId> {
    let engine = Engine::new(address.parse::<StoreAddress>()?.open().await?);
    let session = engine.create(TenantId::LOCAL).await?;
    let (checkout, mut leaf) = (checkout(session), None);
    for start in (0..count).step_by(AT_ONCE) {
        let messages = (start..count.min(start + AT_ONCE)).map(|number| (said(number), None)).collect();
        let arrival = HashedMessages { messages, is_repeated: true, ..HashedMessages::default() };
        leaf = engine.append(session, leaf, arrival).await?.last().copied();
        engine.prepare(&checkout).await?;
    }
    engine.close(session).await;
    Ok(session)
}

fn said(number: usize) -> Message {
    let (role, author) = if number.is_multiple_of(2) {
        (Role::User, Author::Person)
    } else {
        (Role::Assistant, Author::Model)
    };
    Message::text(
        role,
        author,
        format!(
            "step {number}: src/part_{}.rs is read and {} lines of it are changed",
            number % 97,
            number % 13
        ),
    )
}

fn checkout(session: SessionId) -> Checkout {
    let facts = WindowFacts { stated: Some(Tokens(WINDOW)), ..WindowFacts::default() };
    let model = Catalog::built_in().find("gpt-5");
    Checkout {
        session,
        leaf: None,
        assembly: Assembly::new(Policy::default().into(), model, facts).expect("a window is stated"),
        options: SessionOptions::default(),
        driver: Driver::default(),
        idle: None,
    }
}

/// Opens a session a few times, and prints what is in view, what is at hand, the median time and what is resident.
async fn open(address: &str, session: SessionId) -> Outcome<()> {
    let store = address.parse::<StoreAddress>()?.open().await?;
    let checkout = checkout(session);
    let (mut times, mut counts) = (Vec::new(), (0, 0));
    for _ in 0..OPENINGS {
        let engine = Engine::new(store.clone());
        let start = Instant::now();
        let path = engine.look(&checkout).await?;
        times.push(start.elapsed().as_secs_f64() * 1_000.0);
        counts = (path.context().slots().len(), path.log().iter().count());
        engine.close(session).await;
    }
    times.sort_unstable_by(f64::total_cmp);
    println!("{} {} {} {}", counts.0, counts.1, times[OPENINGS / 2], resident_mb()?);
    Ok(())
}

/// The most this process has had in memory.
fn resident_mb() -> Outcome<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no figure for memory")?;
    let kilobytes: f64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kilobytes / 1_000.0)
}
