//! A simulated world: ten thousand sessions, each from its seed, under any preset, with models that
//! are slow, fail and talk nonsense, hooks that refuse, hang and lie, a provider that counts otherwise
//! than we do and overflows at any call, and people who take back, go back, change their mind, their
//! model and their policy, stop what runs, and come again tomorrow.
//!
//! Whatever happens, every compaction ends within its fuel, every request fits or fails with a named
//! reason, no message is lost, no exchange is split, nothing goes round in circles, and what was grown
//! step by step is what is derived from the log at once.
//! `EPITOME_SEEDS=1000000 cargo test -p epitome-testbed --release --test world` runs more.

mod acts;
mod dice;
mod holds;
mod people;

use dice::Dice;
use epitome_core::{EntryId, Tokens};
use epitome_engine::{Phase, Recovery, Step, TurnEnd};
use epitome_settings::preset;
use epitome_testbed::{Bed, Maker, now};
use epitome_tokens::Usage;
use people::{fickle_hook, fickle_model};
use std::collections::BTreeMap;

/// Steps of one session: long enough for several compactions of a small window.
const STEPS: usize = 14;

/// Everything that must have happened somewhere among the sessions; else the world is too kind.
const SEEN: [&str; 24] = [
    "by a model",
    "by the embedded summariser",
    "dropped",
    "pruned",
    "applied",
    "nothing to do",
    "vetoed",
    "abandoned",
    "cannot fit",
    "recovered",
    "error goes back",
    "undone",
    "no undo of what lies elsewhere",
    "redone",
    "rolled back",
    "forked",
    "back on another path",
    "another policy",
    "another budget",
    "usage reported",
    "cancelled",
    "reopened",
    "pinned",
    "refused in a turn",
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
    let only: Option<u64> = std::env::var("EPITOME_SEED").ok().and_then(|seed| seed.parse().ok());
    for seed in
        (first..asked.unwrap_or(10_000)).step_by(2).filter(|seed| only.is_none_or(|only| only == *seed))
    {
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
    /// Ends of paths that were left.
    left: Vec<EntryId>,
    /// What has happened.
    seen: Vec<&'static str>,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let name = any_preset(&mut dice);
        // Small ones are soon full; there are passes and reserves that only a large one has room for.
        let window = match dice.below(60) {
            0 => 150_000,
            1..10 => 24_000 + dice.below(20_000),
            _ => 2_000 + dice.below(12_000),
        };
        let mut maker =
            Maker::new(name, window).set(|settings| acts::fit_in(settings, &mut dice)).budget(|budget| {
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
        Self { seed, bed: maker.bed(), dice, provider_percent, left: Vec::new(), seen: Vec::new() }
    }

    fn live(&mut self) {
        for _ in 0..STEPS {
            self.say_something();
            self.send();
            if self.dice.below(3) == 0 {
                self.something_else();
                self.check();
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
                self.bed.session.begin_turn();
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
        let phase = self.bed.session.phase();
        let step = now(self.bed.driver.prepare(&mut self.bed.session)).expect("all is in memory");
        assert_eq!(self.bed.session.phase(), phase, "seed {}", self.seed);
        self.look_at(&step);
        self.check_fits(&step);
        if !self.overflows() {
            return self.reply();
        }
        let over = (self.dice.below(2) == 0).then(|| 1 + self.dice.below(500));
        match self.bed.recover(over) {
            Recovery::Retry(step) => {
                self.seen.push("recovered");
                self.look_at(&step);
                match self.bed.recover(over) {
                    Recovery::Surface { why, .. } => assert!(!why.is_empty(), "seed {}", self.seed),
                    Recovery::Retry(_) => panic!("seed {}: a request was recovered twice", self.seed),
                }
            }
            Recovery::Surface { why, step } => {
                assert!(!why.is_empty(), "seed {}: an error without a reason", self.seed);
                self.seen.push("error goes back");
                self.look_at(&step);
            }
        }
        self.reply();
    }

    /// Whether the provider finds the request too long; now and then it says so for no reason.
    fn overflows(&mut self) -> bool {
        self.provider_count() > self.bed.session.budget().window.0 || self.dice.below(40) == 0
    }

    /// What the provider counts for the request.
    fn provider_count(&self) -> u64 {
        let session = &self.bed.session;
        (session.budget().fixed + session.context().tokens()).0 * self.provider_percent / 100
    }

    /// The model answers; the provider may say what that took, and the turn may end with it.
    fn reply(&mut self) {
        let prompt = self.provider_count();
        let tokens = 2 + self.dice.below(200);
        let text = self.bed.filler(tokens);
        self.bed.assistant(&text);
        if self.dice.below(2) == 0 {
            self.seen.push("usage reported");
            let usage = Usage { prompt, output: tokens, ..Usage::default() };
            self.bed.session.record_usage(usage).expect("all is in memory");
        }
        if self.bed.session.phase() == Phase::Turn && self.dice.below(3) > 0 {
            let end = if self.dice.below(4) == 0 { TurnEnd::Broken } else { TurnEnd::Good };
            let step = now(self.bed.driver.end_turn(&mut self.bed.session, end)).expect("all is in memory");
            assert_eq!(self.bed.session.phase(), Phase::Idle, "seed {}", self.seed);
            self.look_at(&step);
        }
        self.check();
    }

    /// What came of an act.
    fn look_at(&mut self, step: &Step) {
        if let Some(record) = &step.record {
            self.seen.push(holds::kind_of(record));
            self.check_record(record);
        }
        self.check();
    }
}

/// One of the presets there are.
fn any_preset(dice: &mut Dice) -> &'static str {
    let names: Vec<&str> = preset::names().collect();
    names[dice.below(names.len() as u64) as usize]
}
