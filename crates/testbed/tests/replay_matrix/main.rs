//! Every preset and version, replayed over the corpus at several windows, without and with a large fixed part: no call is
//! over its window unless the record names what cannot fit; what the core decided is sound before an encoder could repair
//! it; what is being worked on is verbatim; and each compaction is explained by its trigger.
//!
//! The ordinary run takes a sample, the same each time. `EPITOME_MATRIX=all cargo test --release -p epitome-testbed --test
//! replay_matrix -- --nocapture` (`make replay-matrix`) takes all of it, and prints a table; the name of a preset in place of
//! `all` takes what is under that preset.

mod sound;

use epitome_core::policy::MeasureBy;
use epitome_core::{Archive as _, EntryId, Item, Outcome, Policy, Record, Tokens};
use epitome_engine::{
    Assembly, Driver, EngineError, ReplayInput, ReplayedCall, Session, WindowFacts, replay,
};
use epitome_settings::preset;
use epitome_testbed::now;
use epitome_tokens::{Catalog, Usage};
use epitome_wire::{Conversation, ReportedUsage, Transcript, read};
use sound::Exchanges;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

const WINDOWS: [u64; 3] = [32_000, 64_000, 128_000];
const FIXED: [u64; 2] = [0, 16_000];
/// Of the many small conversations in one file, these many from its start.
const CONVERSATIONS_MAX: usize = 5;
/// The ordinary run: each preset meets a few files at a few sizes, and every file and size is met by several presets.
const SAMPLE_STEP: usize = 83;
/// As many problems are printed: enough to see what they have in common.
const PROBLEMS_MAX: usize = 40;

/// One cell of the matrix.
struct Cell<'c> {
    preset: &'c str,
    window: u64,
    fixed: u64,
}

/// What was seen under one preset.
#[derive(Default)]
struct Seen {
    problems: Vec<String>,
    calls: usize,
    compactions: usize,
    passes: usize,
    impossible: usize,
}

impl Seen {
    fn add(&mut self, other: Self) {
        self.problems.extend(other.problems);
        self.calls += other.calls;
        self.compactions += other.compactions;
        self.passes += other.passes;
        self.impossible += other.impossible;
    }
}

/// How much of the matrix is run.
#[derive(Clone, Copy)]
enum Extent {
    Sample,
    /// All of it under this preset.
    Preset(&'static str),
    All,
}

impl Extent {
    fn asked_for() -> Self {
        match std::env::var("EPITOME_MATRIX").ok() {
            None => Self::Sample,
            Some(all) if all == "all" => Self::All,
            Some(name) => {
                Self::Preset(preset::names().find(|known| *known == name).expect("`all` or a preset"))
            }
        }
    }

    /// Whether a cell is run, by its number.
    fn holds(self, cell: &Cell<'_>, number: usize) -> bool {
        match self {
            Self::Sample => number.is_multiple_of(SAMPLE_STEP),
            Self::Preset(name) => cell.preset == name,
            Self::All => true,
        }
    }
}

fn corpus() -> Vec<PathBuf> {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus")];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("the corpus is part of the repository") {
            let path = entry.expect("it can be listed").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "zst") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn assembly(cell: &Cell<'_>, model: &str) -> Assembly {
    let settings = preset::settings(cell.preset).expect("the preset is in order");
    let policy = Policy::try_from(settings).expect("the preset is in order");
    let stated = WindowFacts { stated: Some(Tokens(cell.window)), ..WindowFacts::default() };
    Assembly::new(policy.into(), Catalog::built_in().find(model), stated).expect("the window is stated")
}

#[test]
fn every_preset_keeps_every_transcript_within_its_window() {
    let (files, extent) = (corpus(), Extent::asked_for());
    let is_all = matches!(extent, Extent::All);
    let (next, table) = (AtomicUsize::new(0), Mutex::new(BTreeMap::<String, Seen>::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, Into::into) {
            scope.spawn(|| {
                while let Some((at, path)) = take_next(&next, &files) {
                    for (preset, seen) in replay_file(at, path, extent) {
                        let mut table = table.lock().expect("nobody panics with it");
                        table.entry(preset.to_owned()).or_default().add(seen);
                    }
                    if is_all {
                        println!("{} of {}: {}", at + 1, files.len(), path.display());
                    }
                }
            });
        }
    });
    let table = table.into_inner().expect("nobody panicked with it");
    let problems: Vec<&String> = table.values().flat_map(|seen| &seen.problems).collect();
    for problem in problems.iter().take(PROBLEMS_MAX) {
        println!("{problem}");
    }
    println!("{:24} {:>8} {:>11} {:>7} {:>10}", "preset", "calls", "compactions", "passes", "impossible");
    for (preset, Seen { calls, compactions, passes, impossible, .. }) in &table {
        println!("{preset:24} {calls:>8} {compactions:>11} {passes:>7} {impossible:>10}");
    }
    let problem = problems.first().map_or_else(String::new, |first| format!("; the first: {first}"));
    assert!(problems.is_empty(), "{} problems{problem}", problems.len());
    let is_idle = |(name, seen): &(&String, &Seen)| seen.compactions == 0 && *name != "operator-use-prune";
    let idle: Vec<&String> = table.iter().filter(is_idle).map(|(name, _)| name).collect();
    assert!(!is_all || idle.is_empty(), "never compacted: {idle:?}");
}

fn take_next<'f>(next: &AtomicUsize, files: &'f [PathBuf]) -> Option<(usize, &'f PathBuf)> {
    let at = next.fetch_add(1, Ordering::Relaxed);
    files.get(at).map(|path| (at, path))
}

/// Replays the cells of one file, or those of them that are in the sample; what was seen under each preset.
fn replay_file(at: usize, path: &Path, extent: Extent) -> BTreeMap<&'static str, Seen> {
    let bytes = zstd::decode_all(&*std::fs::read(path).expect("it can be read")).expect("it unpacks");
    let bytes = Arc::new(bytes);
    let presets: Vec<&'static str> = preset::names().collect();
    let mut number = at * presets.len() * WINDOWS.len() * FIXED.len();
    let mut all: BTreeMap<&'static str, Seen> = BTreeMap::new();
    for preset in presets {
        let mut transcript: Option<Transcript> = None;
        for (window, fixed) in WINDOWS.iter().flat_map(|&window| FIXED.map(|fixed| (window, fixed))) {
            number += 1;
            let cell = Cell { preset, window, fixed };
            if !extent.holds(&cell, number) {
                continue;
            }
            let assembly = assembly(&cell, "claude-sonnet-4-5");
            let transcript = transcript.get_or_insert_with(|| {
                read(bytes.clone(), None, &**assembly.measure()).expect("it is a transcript")
            });
            let seen = all.entry(preset).or_default();
            for conversation in transcript.conversations.iter().take(CONVERSATIONS_MAX) {
                let name = format!("{} {preset} at {window} with {fixed}", path.display());
                replay_one(conversation, &cell, assembly.clone(), &name, seen);
            }
        }
    }
    all
}

fn replay_one(
    conversation: &Conversation,
    cell: &Cell<'_>,
    mut assembly: Assembly,
    name: &str,
    seen: &mut Seen,
) {
    assembly.set_request(Tokens(cell.fixed), Some(Tokens(4_096)));
    let (log, sizes) = (Arc::new(conversation.log.clone()), Arc::new(conversation.sizes.clone()));
    let mut session = Session::new(log, sizes, Arc::default(), assembly);
    let path = conversation.log.path_of(conversation.leaf);
    let exchanges = Exchanges::on(&path, &conversation.log);
    let read = |id| conversation.originals.message(id);
    // The fixed part is of our making, so what a provider counted of the whole request is believed without it alone.
    let usage = if cell.fixed == 0 { recorded_usage(conversation) } else { HashMap::new() };
    let input = ReplayInput { path: &path, fixed: Tokens::ZERO, usage: &usage, read: &read };
    let mut last: Option<Arc<Record>> = None;
    let driver = Driver::default();
    let done = replay::<EngineError>(&driver, &mut session, input, |call| {
        let at = format!("{name} call {}", call.call);
        let mut found = check_call(&call, cell, &exchanges);
        if let Some(record) = &call.compaction {
            found.extend(check_record(&call, record, last.as_deref(), !usage.is_empty()));
            count(record, seen);
            last = Some(record.clone());
        }
        seen.problems.extend(found.into_iter().map(|what| format!("{at}: {what}")));
        seen.calls += 1;
        Ok(())
    });
    now(done).unwrap_or_else(|error| panic!("{name}: {error}"));
}

/// What the provider said of each call, where the transcript has it.
fn recorded_usage(conversation: &Conversation) -> HashMap<EntryId, Usage> {
    let usage = |said: ReportedUsage| {
        let ReportedUsage { prompt, output, cache_read, cache_write } = said;
        Usage { prompt, output, cache_read, cache_write, reasoning: 0 }
    };
    conversation.replies.iter().filter_map(|reply| Some((reply.entry, usage(reply.usage?)))).collect()
}

fn count(record: &Record, seen: &mut Seen) {
    match &record.outcome {
        Outcome::Compacted(_) => seen.compactions += 1,
        Outcome::Pruned(_) => seen.passes += 1,
        Outcome::Impossible(_) => seen.impossible += 1,
        Outcome::Applied { .. }
        | Outcome::Noop { .. }
        | Outcome::Recorded
        | Outcome::Vetoed { .. }
        | Outcome::Abandoned { .. } => {}
    }
}

/// What is wrong with a call.
fn check_call(call: &ReplayedCall<'_>, cell: &Cell<'_>, exchanges: &Exchanges) -> Vec<String> {
    let most = call.session.budget().window;
    let is_named =
        call.compaction.as_ref().is_some_and(|record| matches!(record.outcome, Outcome::Impossible(_)));
    let is_told = is_named || call.session.breaker().has_floor();
    let mut found = sound::problems_of_context(call.session, exchanges);
    if call.tokens > most && !is_told {
        found.push(format!("{} is over {most}", call.tokens));
    }
    if call.fixed != Tokens(cell.fixed) {
        found.push(format!("{} stand before the history", call.fixed));
    }
    let is_rebuilt =
        |record: &Arc<Record>| matches!(record.outcome, Outcome::Compacted(_) | Outcome::Pruned(_));
    if call.compaction.as_ref().is_some_and(is_rebuilt) {
        found.extend(sound::problems_of_current_work(call.session, exchanges));
    }
    found
}

/// What is wrong with a compaction: it must be explained by its trigger, and not be made twice of the same.
fn check_record(
    call: &ReplayedCall<'_>,
    record: &Record,
    last: Option<&Record>,
    has_usage: bool,
) -> Option<String> {
    let Outcome::Compacted(_) = record.outcome else { return None };
    let (budget, policy) = (record.budget, call.session.policy());
    let (before, after) = (record.tokens_before, record.tokens_after);
    let rule = &policy.trigger;
    let by_count = rule.messages.is_some() || rule.bytes.is_some() || rule.media.is_some();
    // Input that was about to come counts towards the trigger and is not in the record's figures.
    let input = if policy.check.before_input { newest_input(call.session) } else { Tokens::ZERO };
    // Where a provider's figure is what the trigger goes by, ours does not explain it.
    let by_usage = has_usage && policy.trigger.measure != MeasureBy::Count;
    let is_due = budget.is_due(budget.history_in(before) + input, policy) || by_count || by_usage;
    if !is_due {
        return Some(format!("compacted at {before} though not due"));
    }
    if after >= before {
        return Some(format!("compacted from {before} to {after}"));
    }
    // What could not be made smaller is due again at once, and each try is explained by that.
    let has_room = |last: &&Record| !budget.is_due(budget.history_in(last.tokens_after), policy);
    let last = last.filter(|last| matches!(last.outcome, Outcome::Compacted(_))).filter(has_room)?;
    // By our count: how the provider's compares with it may have been learned anew in between.
    let (now, then) = (budget.history_in(before), last.budget.history_in(last.tokens_after));
    (now + input <= then).then(|| format!("compacted again at {before} without growth"))
}

/// What a person's newest message takes.
fn newest_input(session: &Session) -> Tokens {
    let is_input = |id: &&EntryId| session.log().item(**id).is_some_and(Item::opens_turn);
    let newest = session.history().iter().rev().find(is_input);
    newest.map_or(Tokens::ZERO, |&id| session.timeline().sizes().total(id))
}
