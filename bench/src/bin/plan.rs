//! Times loading, checking, planning and rebuilding on one transcript.
//!
//!     plan FILE [REPS]
//!
//! Prints one JSON object whose phases line up with those of `bench/peers/plan_pi.mjs`.

use epitome_bench::speed::figures::{Figures, peak_rss_mb};
use epitome_bench::speed::file::OpenFile;
use epitome_bench::speed::session;
use epitome_core::{
    Compaction, Context, Entry, EntryId, Keep, Log, LogReader, MemoryArchive, Tail, Tokens, Trigger, find_cut,
};
use epitome_engine::{CompactOptions, Driver, ModelMeasure};
use epitome_tokens::{Catalog, Counter};
use epitome_wire::Conversation;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Both sides count for this model; the generated sessions name it.
const MODEL: &str = "claude-sonnet-4-5";
/// What pi keeps of the newest messages.
const KEEP: Tokens = Tokens(20_000);
/// The compaction of the rebuild keeps this many entries, on both sides.
const REBUILD_ENTRIES: usize = 40;
/// Phases of nanoseconds are timed this many at once.
const MANY: u32 = 10_000;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let path = PathBuf::from(args.next().ok_or("usage: plan FILE [REPS]")?);
    let reps = args.next().map_or(Ok(5), |reps| reps.parse())?;
    println!("{}", figures_of(&path, reps)?);
    Ok(())
}

fn figures_of(path: &Path, reps: usize) -> Result<serde_json::Value, Box<dyn Error>> {
    let measure = ModelMeasure(Counter::for_model(&Catalog::built_in().find(MODEL)));
    let mut figures = Figures::default();
    let conversation = figures.time("load", reps.min(3), || load(path, &measure))?;
    let loaded_rss_mb = peak_rss_mb();
    let in_view = plan(&conversation, &measure, reps, &mut figures)?;
    let after = rebuild(&conversation, &measure, reps, &mut figures)?;
    Ok(serde_json::json!({
        "peer": concat!("epitome ", env!("CARGO_PKG_VERSION")),
        "file": path.file_name().map(|name| name.to_string_lossy()),
        "ms": figures,
        "entries": conversation.log.len(),
        "context_messages": in_view,
        "context_messages_after": after,
        "loaded_rss_mb": loaded_rss_mb,
        "peak_rss_mb": peak_rss_mb(),
    }))
}

fn load(path: &Path, measure: &ModelMeasure) -> Result<Conversation, String> {
    let source = OpenFile::open(path).map_err(|error| error.to_string())?;
    let transcript =
        epitome_wire::read(Arc::new(source), None, measure).map_err(|error| error.to_string())?;
    transcript.conversations.into_iter().next().ok_or_else(|| "the file holds no conversation".into())
}

/// Everything up to a plan, on the session as it stands; says how many messages are in view.
fn plan(
    conversation: &Conversation,
    measure: &ModelMeasure,
    reps: usize,
    figures: &mut Figures,
) -> Result<usize, Box<dyn Error>> {
    let (log, sizes) = (Arc::new(conversation.log.clone()), Arc::new(conversation.sizes.clone()));
    let archive = Arc::new(MemoryArchive::in_front_of(Arc::new(conversation.originals.clone())));
    let mut session = figures.time("build_context", reps, || {
        let mut session = session::session(log.clone(), sizes.clone(), archive.clone(), measure);
        session.move_to(conversation.leaf).map(|()| session)
    })?;
    let driver = Driver::default();
    figures.time_many("check", reps, MANY, || session.check());
    figures.time_many("find_cut", reps, MANY, || find_cut(session.context(), Keep::Tokens(KEEP)));
    let sketch = || driver.sketch(&session, Trigger::Threshold, CompactOptions::default()).map(drop);
    figures.time("prepare_compaction", reps, sketch)?;
    let newest = newest_message(session.log()).ok_or("the file holds no message")?;
    figures.time("step_request_path", reps, || session.absorb(newest).map(|()| session.check()))?;
    Ok(session.context().slots().len() - reps)
}

/// A compaction as `plan_pi.mjs` appends one, taken up, and everything it leaves in view read again.
fn rebuild(
    conversation: &Conversation,
    measure: &ModelMeasure,
    reps: usize,
    figures: &mut Figures,
) -> Result<usize, Box<dyn Error>> {
    let leaf = conversation.leaf.ok_or("the file holds no message")?;
    let mut log = conversation.log.clone();
    let before = Context::of(Some(leaf), conversation.reader(measure))?;
    let first = log.len().saturating_sub(REBUILD_ENTRIES);
    let tail = Tail::From(EntryId(first as u32));
    let compaction = Compaction { summary: Some("summary".into()), tail, ..Compaction::default() };
    let id = log.append(Some(leaf), Entry::Recorded(Box::new(compaction)))?;
    let reader = LogReader { log: &log, ..conversation.reader(measure) };
    let contexts: Vec<Context> = (0..reps).map(|_| before.clone()).collect();
    let mut contexts = contexts.into_iter();
    let shown = figures.time("rebuild_after_compaction", reps, || {
        let mut context = contexts.next().expect("there is a context for each repetition");
        context.take(id, reader)?;
        context.shown(reader)
    })?;
    Ok(shown.len())
}

fn newest_message(log: &Log) -> Option<EntryId> {
    (0..log.len() as u32).rev().map(EntryId).find(|&id| log.item(id).is_some())
}
