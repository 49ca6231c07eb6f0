//! A simulated world: ten thousand sessions, each from its seed, under any preset, with models that
//! are slow, fail and talk nonsense, hooks that refuse, hang and lie, and a provider that counts
//! otherwise than we do and overflows at any call.
//!
//! Whatever happens, every compaction ends within its fuel, every request fits or fails with a named
//! reason, no message is lost, no exchange is split, and nothing goes round in circles.
//! `EPITOME_SEEDS=1000000 cargo test -p epitome-testbed --release --test world` runs more.

mod dice;
mod people;

use dice::Dice;
use epitome_core::{EntryId, Tokens, Trigger};
use epitome_engine::{EngineError, Happened, Recovery, Report, now};
use epitome_settings::preset;
use epitome_testbed::{Bed, Maker};
use people::{fickle_hook, fickle_model};
use std::collections::{BTreeMap, HashSet};

/// Steps of one session: long enough for several compactions of a small window.
const STEPS: usize = 14;
/// What a policy may ask of a model for one compaction, at the very most.
const CALLS_MAX: u32 = 64;

/// Everything that must have happened somewhere among the sessions; else the world is too kind.
const SEEN: [&str; 9] = [
    "by a model",
    "by the embedded summariser",
    "dropped",
    "pruned",
    "vetoed",
    "abandoned",
    "cannot fit",
    "recovered",
    "error goes back",
];

#[test]
fn the_even_half_of_ten_thousand_sessions_holds() {
    live_all(0);
}

#[test]
fn the_odd_half_of_ten_thousand_sessions_holds() {
    live_all(1);
}

fn live_all(first: u64) {
    let asked = std::env::var("EPITOME_SEEDS").ok().and_then(|seeds| seeds.parse().ok());
    let mut seen: BTreeMap<&str, u64> = BTreeMap::new();
    for seed in (first..asked.unwrap_or(10_000)).step_by(2) {
        let mut world = World::new(seed);
        world.live();
        world.seen.iter().for_each(|what| *seen.entry(what).or_default() += 1);
    }
    let missing: Vec<&str> = SEEN.into_iter().filter(|what| !seen.contains_key(what)).collect();
    assert_eq!(missing, Vec::<&str>::new(), "seen: {seen:?}");
    println!("{seen:?}");
}

/// One session and all that can happen to it.
struct World {
    seed: u64,
    dice: Dice,
    bed: Bed,
    /// What the provider counts where we count a hundred.
    provider_percent: u64,
    /// Messages that left view, and are covered or named.
    told: HashSet<EntryId>,
    /// What has happened.
    seen: Vec<&'static str>,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let names: Vec<&str> = preset::names().collect();
        let name = names[dice.below(names.len() as u64) as usize];
        let window = if dice.below(60) == 0 { 150_000 } else { 2_000 + dice.below(12_000) };
        let mut maker = Maker::new(name, window)
            .set(|settings| settings.check.before_call = true)
            .set(|settings| settings.check.in_tool_loop = true)
            .budget(|budget| {
                let is_crowded = dice.below(30) == 0;
                budget.fixed = Tokens(if is_crowded { window - window / 12 } else { dice.below(window / 8) });
                budget.reserve = Tokens(window / 16);
            });
        maker = match dice.below(4) {
            0 => maker.no_model(),
            _ => fickle_model(maker, &mut dice),
        };
        if dice.below(3) == 0 {
            maker = maker.hook(fickle_hook(&mut dice));
        }
        let provider_percent = 70 + dice.below(60);
        Self { seed, bed: maker.bed(), dice, provider_percent, told: HashSet::new(), seen: Vec::new() }
    }

    fn live(&mut self) {
        for _ in 0..STEPS {
            self.say_something();
            self.send();
            if self.dice.below(12) == 0 {
                let made = self.bed.try_compact(Trigger::Manual);
                self.look_at(made);
            }
        }
    }

    /// Someone speaks, or the model works with tools.
    fn say_something(&mut self) {
        let window = self.bed.session.budget().window.0;
        let size = match self.dice.below(20) {
            0 => window / 2,
            1..8 => window / 8,
            _ => window / 40,
        };
        let tokens = 2 + self.dice.below(size);
        let text = self.bed.filler(tokens);
        match self.dice.below(5) {
            0 | 1 => {
                self.bed.user(&text);
            }
            2 => {
                self.bed.harness(&text);
            }
            _ => {
                self.bed.exchange("read", r#"{"path":"src/main.rs"}"#, &text);
            }
        }
    }

    /// One call of the session's model: what is done before it, the call, and what is done about an overflow.
    fn send(&mut self) {
        let made = now(self.bed.session.prepare());
        let Some(()) = self.look_at_some(made) else { return };
        if !self.overflows() {
            return self.reply();
        }
        let over = (self.dice.below(2) == 0).then(|| Tokens(1 + self.dice.below(500)));
        let recovered = now(self.bed.session.recover(over));
        match recovered.expect("all is in memory") {
            Recovery::Retry(report) => {
                self.seen.push("recovered");
                self.look_at(Ok(*report));
                match now(self.bed.session.recover(over)).expect("all is in memory") {
                    Recovery::Surface { why } => assert!(!why.is_empty(), "seed {}", self.seed),
                    Recovery::Retry(_) => panic!("seed {}: a request was recovered twice", self.seed),
                }
                self.reply();
            }
            Recovery::Surface { why } => {
                assert!(!why.is_empty(), "seed {}: an error without a reason", self.seed);
                self.seen.push("error goes back");
                self.reply();
            }
        }
    }

    /// Whether the provider finds the request too long; now and then it says so for no reason.
    fn overflows(&mut self) -> bool {
        let budget = self.bed.session.budget();
        let count = (budget.fixed + self.bed.session.context().tokens()).0 * self.provider_percent / 100;
        count > budget.window.0 || self.dice.below(40) == 0
    }

    fn reply(&mut self) {
        let tokens = 2 + self.dice.below(200);
        let text = self.bed.filler(tokens);
        self.bed.assistant(&text);
    }

    fn look_at_some(&mut self, made: Result<Option<Report>, EngineError>) -> Option<()> {
        match made {
            Ok(Some(report)) => self.look_at(Ok(report)),
            Ok(None) => self.check(),
            Err(error) => {
                self.look_at(Err(error));
                return None;
            }
        }
        Some(())
    }

    /// What always holds after a compaction, whatever came of it.
    fn look_at(&mut self, made: Result<Report, EngineError>) {
        let seed = self.seed;
        match made {
            Ok(report) => {
                self.seen.push(kind_of(&report));
                assert!(report.spent.calls <= CALLS_MAX, "seed {seed}: {} calls", report.spent.calls);
                if let Some(record) = &report.record {
                    let room = self.bed.session.budget().room();
                    let history = report.tokens_after.less(report.budget.fixed);
                    let is_cut = report.outcome == Outcome::Compacted;
                    if is_cut {
                        self.told = record.superseded.iter().chain(&record.dropped).copied().collect();
                    }
                    assert!(!is_cut || history <= room, "seed {seed}: {history} does not fit {room}");
                } else {
                    assert!(report.why.is_some(), "seed {seed}: nothing done, and no reason");
                }
            }
            Err(EngineError::CannotFit(floor)) => {
                self.seen.push("cannot fit");
                assert!(floor.to_string().contains("cannot fit"), "seed {seed}");
            }
            Err(error) => panic!("seed {seed}: {error}"),
        }
        self.check();
    }

    /// Each message is in view or told of, and each exchange whole.
    fn check(&self) {
        let seed = self.seed;
        let view: HashSet<EntryId> = self.bed.in_view().into_iter().collect();
        let session = &self.bed.session;
        for id in session.history() {
            assert!(view.contains(id) || self.told.contains(id), "seed {seed}: {id} is lost");
        }
        let mut calls = HashSet::new();
        for id in self.bed.in_view() {
            let item = session.log().item(id).expect("it is a message");
            calls.extend(item.calls.iter().cloned());
            assert!(item.answers.iter().all(|call| calls.contains(call)), "seed {seed}: {id} has no call");
        }
    }
}

fn kind_of(report: &Report) -> &'static str {
    match report.outcome {
        Outcome::Compacted => match report.record.as_ref().and_then(|made| made.summarizer.as_deref()) {
            Some("test-model") => "by a model",
            Some("the embedded summariser") => "by the embedded summariser",
            Some(_) => "by someone else",
            None => "dropped",
        },
        Outcome::Pruned => "pruned",
        Outcome::Noop | Outcome::Recorded => "nothing to do",
        Outcome::Vetoed => "vetoed",
        Outcome::Abandoned => "abandoned",
    }
}
