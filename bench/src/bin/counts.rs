//! Our counts beside what providers reported, before and after calibration.
//!
//!     counts FILE|FOLDER...
//!
//! Each transcript is walked call by call, as its agent held it. What stands before a history is rarely recorded, so
//! growth is compared: from the first call whose usage is told since the context was last rebuilt to this one, by the provider's
//! figures and by our count. The calibration is the one sessions use: one for each model, learned from the calls
//! before, in the order of the files. Prints the table of `COUNTS.md`.

use epitome_bench::transcripts::{files, unpacked};
use epitome_core::{EntryId, Policy, Tokens, ZeroMeasure, rebuilds};
use epitome_engine::{Assembly, Lens, Timeline, WindowFacts};
use epitome_tokens::{Calibration, Catalog, PromptGrowth};
use epitome_wire::{Conversation, ReportedUsage};
use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

/// Shorter growth says more of what a provider puts around messages than of how it counts them.
const GROWTH_MIN: u64 = 2_000;
/// No transcript comes near it: none is to be compacted here.
const WINDOW: Tokens = Tokens(10_000_000);

fn main() -> Result<(), Box<dyn Error>> {
    let paths: Vec<PathBuf> = std::env::args().skip(1).map(PathBuf::from).collect();
    if paths.is_empty() {
        return Err("usage: counts FILE|FOLDER...".into());
    }
    let mut table = Table::default();
    for path in files(&paths) {
        let bytes = Arc::new(unpacked(&path)?);
        // A file nobody can read is `make test`'s to name.
        let Ok(transcript) = epitome_wire::read(bytes.clone(), None, &ZeroMeasure) else { continue };
        for (number, conversation) in transcript.conversations.iter().enumerate() {
            let told = conversation.replies.iter().filter(|reply| reply.usage.is_some());
            let Some(model) = told.filter_map(|reply| reply.model.clone()).next() else { continue };
            let assembly = assembly(&model)?;
            let counted = epitome_wire::read(bytes.clone(), None, &**assembly.measure())?;
            table.walk(&counted.conversations[number], &assembly)?;
        }
    }
    table.print();
    Ok(())
}

fn assembly(model: &str) -> Result<Assembly, Box<dyn Error>> {
    let known = WindowFacts { stated: Some(WINDOW), ..WindowFacts::default() };
    Ok(Assembly::new(Arc::new(Policy::default()), Catalog::built_in().find(model), known)?)
}

/// Errors by way of counting, and what was learned of each model.
#[derive(Default)]
struct Table {
    rows: BTreeMap<String, Vec<Errors>>,
    calibrations: HashMap<String, Calibration>,
}

/// How far off a count was, as a share of what was reported.
struct Errors {
    plain: f64,
    calibrated: f64,
}

/// A call: its prompt by the provider's count and by ours.
#[derive(Clone, Copy)]
struct Call {
    reported: u64,
    counted: Tokens,
}

impl Table {
    /// Walks one conversation along its path.
    fn walk(&mut self, conversation: &Conversation, assembly: &Assembly) -> Result<(), Box<dyn Error>> {
        let (log, sizes) = (Arc::new(conversation.log.clone()), Arc::new(conversation.sizes.clone()));
        let (policy, model) = (assembly.policy().clone(), assembly.model().id.clone());
        let lens = Lens {
            measure: &**assembly.measure(),
            archive: &conversation.originals,
            guard: &policy.guard,
            trigger: &policy.trigger,
            model: &model,
        };
        let usages = usages_of(conversation, &model);
        let mut timeline = Timeline::new(log, sizes);
        let (mut first, mut before) = (None, None);
        for id in conversation.log.path_of(conversation.leaf) {
            if conversation.log.get(id).is_some_and(rebuilds) {
                (first, before) = (None, None);
            }
            if let Some(usage) = usages.get(&id).filter(|usage| usage.prompt > 0) {
                let call = Call { reported: usage.prompt, counted: timeline.context().tokens() };
                self.compare(*first.get_or_insert(call), call, assembly);
                self.learn(before.replace(call), call, &model);
            }
            timeline.absorb(id, lens)?;
        }
        Ok(())
    }

    fn compare(&mut self, first: Call, call: Call, assembly: &Assembly) {
        let reported = call.reported.saturating_sub(first.reported);
        if reported < GROWTH_MIN {
            return;
        }
        let counted = call.counted.less(first.counted).0 as f64;
        let factor = self.calibrations.entry(assembly.model().id.clone()).or_default().factor();
        let error = |count: f64| count / reported as f64 - 1.0;
        let errors = Errors { plain: error(counted), calibrated: error(counted * factor) };
        self.rows.entry(assembly.count_method().to_string()).or_default().push(errors);
    }

    fn learn(&mut self, before: Option<Call>, call: Call, model: &str) {
        let Some(before) = before else { return };
        let counted = call.counted.less(before.counted).0;
        let growth = PromptGrowth { before: before.reported, prompt: call.reported, counted };
        self.calibrations.entry(model.to_owned()).or_default().learn(growth);
    }

    fn print(&self) {
        println!(
            "| counted as | calls | mean error | worst | bias | mean error, calibrated | worst | bias |"
        );
        println!("|---|---|---|---|---|---|---|---|");
        for (method, errors) in &self.rows {
            let cells = |of: fn(&Errors) -> f64| {
                let (count, all) = (errors.len() as f64, || errors.iter().map(of));
                let mean = all().map(f64::abs).sum::<f64>() / count;
                let worst =
                    all().fold(0.0_f64, |worst, one| if one.abs() > worst.abs() { one } else { worst });
                let bias = all().sum::<f64>() / count;
                format!("{:.1} % | {:+.0} % | {:+.1} %", mean * 100.0, worst * 100.0, bias * 100.0)
            };
            let (plain, calibrated) = (cells(|one| one.plain), cells(|one| one.calibrated));
            println!("| `{method}` | {} | {plain} | {calibrated} |", errors.len());
        }
    }
}

/// What providers said of the calls of one model, by reply.
fn usages_of(conversation: &Conversation, model: &str) -> HashMap<EntryId, ReportedUsage> {
    let replies = conversation.replies.iter();
    let ours = replies.filter(|reply| reply.model.as_deref().is_none_or(|name| name == model));
    ours.filter_map(|reply| Some((reply.entry, reply.usage?))).collect()
}
