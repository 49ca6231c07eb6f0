//! How the cost of a check, a cut, a new message, a plan and a rebuild grows with the session.
//!
//!     growth [REPS]
//!
//! The sessions are made up, in memory: 1,000, 10,000 and 100,000 messages of a few kilobytes. Prints
//! one JSON object per size, times in milliseconds, and what 100,000 cost beside 1,000 on the last line.

use epitome_bench::speed::figures::{Figures, median};
use epitome_bench::speed::session;
use epitome_core::{
    Archive, ArchiveError, Author, Block, Call, CallId, Compaction, Context, Entry, EntryId, Keep, Log,
    LogReader, Measure, MeasuredItem, Message, ResultPart, Role, SizeTable, Tail, Tokens, ToolResult,
    Trigger, find_cut,
};
use epitome_engine::{CompactOptions, Driver, EngineError, ModelMeasure, Session};
use epitome_tokens::{Catalog, Counter};
use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

const SIZES: [u32; 3] = [1_000, 10_000, 100_000];
/// Messages that come after the session has its size; each call with its result is one step.
const STEPS: u32 = 1_000;
/// Phases of nanoseconds are timed this many at once.
const MANY: u32 = 10_000;
/// What stays verbatim behind a cut, and how many messages a rebuild shows.
const KEEP: Tokens = Tokens(20_000);
const REBUILD_ENTRIES: u32 = 40;
/// The length of a tool result: the mean of real sessions.
const RESULT_WORDS: u32 = 600;

fn main() -> Result<(), Box<dyn Error>> {
    let reps = std::env::args().nth(1).map_or(Ok(5), |reps| reps.parse())?;
    let counter = ModelMeasure(Counter::for_model(&Catalog::built_in().find("claude-sonnet-4-5")));
    let mut all = Vec::new();
    for size in SIZES {
        let figures = measure(size, reps, &counter)?;
        println!("{}", serde_json::json!({"peer": "epitome", "entries": size, "ms": figures}));
        all.push(figures);
    }
    let (small, large) = (&all[0], &all[SIZES.len() - 1]);
    let ratio = |phase: &str| (large.ms(phase) / small.ms(phase) * 100.0).round() / 100.0;
    let phases = ["step", "check", "find_cut", "prepare_compaction", "rebuild_after_compaction"];
    let ratios: serde_json::Map<_, _> =
        phases.into_iter().map(|phase| (phase.to_owned(), ratio(phase).into())).collect();
    println!("{}", serde_json::json!({"peer": "epitome", "times_100000_over_1000": ratios}));
    Ok(())
}

/// A made-up session, as it lies in a log.
struct MadeUpLog {
    log: Arc<Log>,
    sizes: Arc<SizeTable>,
}

impl MadeUpLog {
    fn new(count: u32, counter: &ModelMeasure) -> Self {
        let (mut log, mut all) = (Log::default(), SizeTable::default());
        for id in (0..count).map(EntryId) {
            let MeasuredItem { item, sizes } = counter.weigh(&message(id));
            log.push(Entry::Message(item));
            all.set(id, sizes);
        }
        Self { log: Arc::new(log), sizes: Arc::new(all) }
    }

    /// A session that has taken up the first `size` messages.
    fn session(&self, size: u32, counter: &ModelMeasure) -> Result<Session, EngineError> {
        let mut session = session::session(self.log.clone(), self.sizes.clone(), Arc::default(), counter);
        (0..size).map(EntryId).try_for_each(|id| session.absorb(id))?;
        Ok(session)
    }
}

fn measure(size: u32, reps: usize, counter: &ModelMeasure) -> Result<Figures, Box<dyn Error>> {
    let made_up = MadeUpLog::new(size + STEPS, counter);
    let mut figures = Figures::default();
    let mut steps = Vec::new();
    let mut session = made_up.session(size, counter)?;
    for _ in 0..reps {
        session = made_up.session(size, counter)?;
        steps.push(median_step(&mut session, size, counter)?);
    }
    figures.put("step", median(steps));
    session.timeline().readable().into_iter().for_each(|id| session.archive().put(id, message(id)));
    figures.time_many("check", reps, MANY, || session.check());
    figures.time_many("find_cut", reps, MANY, || find_cut(session.context(), Keep::Tokens(KEEP)));
    let driver = Driver::default();
    let sketch = || driver.sketch(&session, Trigger::Threshold, CompactOptions::default()).map(drop);
    figures.time("prepare_compaction", reps, sketch)?;
    rebuild(session.context(), &made_up, size, counter, reps, &mut figures)?;
    Ok(figures)
}

/// What stands between a reply and the next call: its message and the result of its call are counted
/// and taken up, and the session says whether a compaction is due.
fn median_step(session: &mut Session, size: u32, counter: &ModelMeasure) -> Result<f64, EngineError> {
    let mut times = Vec::new();
    for first in (size..size + STEPS).filter(|first| first % TURN % 2 == 1) {
        let exchange = [first, first + 1].map(EntryId).map(|id| (id, message(id)));
        let began = Instant::now();
        for (id, message) in &exchange {
            std::hint::black_box(counter.weigh(message));
            session.absorb(*id)?;
        }
        std::hint::black_box(session.check());
        times.push(began.elapsed().as_secs_f64() * 1e3);
    }
    Ok(median(times))
}

fn rebuild(
    context: &Context,
    made_up: &MadeUpLog,
    size: u32,
    counter: &ModelMeasure,
    reps: usize,
    figures: &mut Figures,
) -> Result<(), Box<dyn Error>> {
    let tail = Tail::From(EntryId(size + STEPS - REBUILD_ENTRIES));
    let compaction = Compaction { summary: Some("summary".into()), tail, ..Compaction::default() };
    let mut log = Log::clone(&made_up.log);
    let id = log.push(Entry::Recorded(Box::new(compaction)));
    let reader = LogReader { log: &log, sizes: &made_up.sizes, measure: counter, archive: &MadeUp };
    let mut contexts = (0..reps).map(|_| context.clone()).collect::<Vec<_>>().into_iter();
    figures.time("rebuild_after_compaction", reps, || {
        let mut context = contexts.next().expect("there is a context for each repetition");
        context.take(id, reader)?;
        context.shown(reader)
    })?;
    Ok(())
}

/// Messages made up when they are asked for: a question, then calls and results by turns.
struct MadeUp;

impl Archive for MadeUp {
    fn message(&self, id: EntryId) -> Result<Arc<Message>, ArchiveError> {
        Ok(Arc::new(message(id)))
    }
}

/// A turn is this long: a question, and nineteen calls with their results.
const TURN: u32 = 39;

fn message(EntryId(number): EntryId) -> Message {
    match number % TURN {
        0 => Message::text(Role::User, Author::Person, words(number, 40)),
        place if place % 2 == 1 => {
            let input = format!(r#"{{"path":"src/part{number}.rs"}}"#).into();
            let call = Call { id: call_id(number), name: "read".into(), input, freeform: false };
            let blocks = vec![Block::text(words(number, 30)), Block::Call(call)];
            Message { role: Role::Assistant, author: Author::Model, blocks }
        }
        _ => {
            let parts = vec![ResultPart::Text { text: words(number, RESULT_WORDS).into() }];
            let result = ToolResult { call: call_id(number - 1), parts, is_error: false };
            Message { role: Role::Tool, author: Author::Tool, blocks: vec![Block::Result(result)] }
        }
    }
}

fn call_id(number: u32) -> CallId {
    CallId(format!("toolu_{number:024}").into())
}

/// Text of this many words, another for each seed.
fn words(seed: u32, count: u32) -> String {
    const WORDS: [&str; 8] =
        ["request", "fn main()", "let", "0x1f", "because", "Error:", "path/to", "\n    "];
    let pick = |at: u32| {
        WORDS[(seed.wrapping_mul(31).wrapping_add(at.wrapping_mul(2_654_435_761)) >> 24) as usize % 8]
    };
    (0..count).map(pick).collect::<Vec<_>>().join(" ")
}
