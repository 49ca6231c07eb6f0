//! A simulated world: three thousand sessions, each from its seed, under any preset, with models that
//! are slow, fail, talk nonsense or never answer, summaries made beforehand that come late or are lost, hooks that
//! refuse, hang and lie, a provider that counts otherwise than we do, says so rightly, wrongly or not at all and
//! overflows at any call, and people who take back, go back, change their mind, their model and their policy, stop what
//! runs, and come again tomorrow.
//!
//! Whatever happens, every compaction ends within its fuel, every request fits or fails with a named
//! reason, no message is lost, no exchange is split, nothing goes round in circles, what was grown
//! step by step is what is derived from the log at once ([`holds`]), and what must fire fires ([`fires`]).
//! `EPITOME_SEEDS=1000000 cargo test -p epitome-testbed --release --test world` runs more.

mod acts;
mod dice;
mod fires;
mod holds;
mod hooks;
mod models;
mod said;
mod usage;
mod workshop;

use dice::Dice;
use epitome_core::{EntryId, Tokens};
use epitome_engine::{Background, LookPoint, Phase, Recovery, Step, TurnEnd};
use epitome_settings::preset;
use epitome_testbed::{Bed, Maker, TestHook};
use models::FickleModel;
use std::collections::BTreeMap;
use std::sync::Arc;
use workshop::Workshop;

/// Steps of one session: long enough for several compactions of a small window.
const STEPS: usize = 14;

/// Sessions of an ordinary run.
const SEEDS: u64 = 3_000;

/// Sessions that may fail before the rest is left alone.
const FAILED_MAX: usize = 8;

/// Everything that must have happened somewhere among the sessions; else the world is too kind.
const SEEN: [&str; 44] = [
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
    "no undo of what is undone",
    "redone",
    "rolled back",
    "forked",
    "back on another path",
    "another policy",
    "another model",
    "another count",
    "another summariser",
    "usage: true",
    "usage: too high",
    "usage: too low",
    "usage: nothing",
    "usage: none",
    "usage not believed",
    "gave up waiting",
    "cancelled",
    "reopened",
    "pinned",
    "refused in a turn",
    "asked for at the end of a turn",
    "idle",
    "an open exchange",
    "over the trigger, and compacted",
    "warned",
    "breaker opened",
    "breaker closed",
    "nobody asked with an open breaker",
    "made beforehand and swapped in",
    "made beforehand and thrown away",
    "made beforehand and lost",
];

#[test]
fn the_even_half_of_the_sessions_holds() {
    live_all(0);
}

#[test]
fn the_odd_half_of_the_sessions_holds() {
    live_all(1);
}

fn live_all(first: u64) {
    let asked = std::env::var("EPITOME_SEEDS").ok().and_then(|seeds| seeds.parse().ok());
    let only: Option<u64> = std::env::var("EPITOME_SEED").ok().and_then(|seed| seed.parse().ok());
    let seeds = (first..asked.unwrap_or(SEEDS)).step_by(2);
    let mut seen: BTreeMap<&str, u64> = BTreeMap::new();
    let mut failed = Vec::new();
    for seed in seeds.filter(|seed| only.is_none_or(|only| only == *seed)) {
        match std::panic::catch_unwind(|| World::new(seed).live()) {
            Ok(happened) => happened.iter().for_each(|what| *seen.entry(what).or_default() += 1),
            Err(_told) => failed.push(seed),
        }
        if failed.len() == FAILED_MAX {
            break;
        }
    }
    println!("{seen:?}");
    assert_eq!(failed, Vec::<u64>::new(), "`EPITOME_SEED` runs one of them");
    let missing: Vec<&str> = SEEN.into_iter().filter(|what| !seen.contains_key(what)).collect();
    assert!(missing.is_empty() || only.is_some(), "never seen: {missing:?}");
}

/// One session and all that can happen to it.
struct World {
    seed: u64,
    dice: Dice,
    bed: Bed,
    /// Who writes its summaries, where somebody does.
    model: Option<Arc<FickleModel>>,
    /// Who is told of its compactions, where somebody is.
    hook: Option<Arc<TestHook>>,
    /// Summaries made before they are needed.
    background: Background,
    workshop: Workshop,
    /// What the provider counts where we count a hundred.
    provider_percent: u64,
    /// Calls made so far, for ids that differ.
    calls: u32,
    /// Ends of paths that were left.
    left: Vec<EntryId>,
    /// Passes whose undo was not told yet.
    untold: Vec<EntryId>,
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
        let hook = (dice.below(3) == 0).then(|| Arc::new(hooks::fickle_hook(&mut dice)));
        if let Some(hook) = &hook {
            maker = maker.hook(hook.clone());
        }
        let provider_percent = 70 + dice.below(60);
        let mut world = Self {
            seed,
            bed: maker.no_model().bed(),
            dice,
            model: None,
            hook,
            background: Background::default(),
            workshop: Workshop::default(),
            provider_percent,
            calls: 0,
            left: Vec::new(),
            untold: Vec::new(),
            seen: Vec::new(),
        };
        world.find_summariser();
        world
    }

    /// Lives through it; what has happened.
    fn live(mut self) -> Vec<&'static str> {
        for _ in 0..STEPS {
            self.say_something();
            self.send();
            if self.dice.below(3) == 0 {
                self.something_else();
                self.check_derived();
                self.check_shown();
            }
        }
        self.seen
    }

    /// One call of the session's model: what is done before it, the call, and what is done about an overflow.
    fn send(&mut self) {
        let phase = self.bed.session.phase();
        let step = self.prepare_at(LookPoint::Call);
        assert_eq!(self.bed.session.phase(), phase, "seed {}", self.seed);
        self.check_fits(&step);
        if self.overflows() {
            self.recover();
        }
        self.reply();
    }

    /// Everything that is done at a point, and what must come of it.
    fn prepare_at(&mut self, point: LookPoint) -> Step {
        self.workshop.turn(&mut self.dice);
        let before = self.outlook(point);
        let step = self.patiently(|background, driver, session, workshop| {
            Box::pin(background.prepare_at(driver, session, point, workshop))
        });
        self.look_at(&step);
        self.check_fired(&before, &step);
        step
    }

    /// What is done about an overflow; once for each request.
    fn recover(&mut self) {
        let over = (self.dice.below(2) == 0).then(|| Tokens(1 + self.dice.below(500)));
        let before = self.bed.session.context().tokens();
        match self
            .patiently(|background, driver, session, _| Box::pin(background.recover(driver, session, over)))
        {
            Recovery::Retry(step) => {
                self.seen.push("recovered");
                self.look_at(&step);
                let after = self.bed.session.context().tokens();
                assert!(after < before, "seed {}: {before} and then {after}", self.seed);
                match self.bed.recover(over.map(|over| over.0)) {
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
    }

    /// The model answers; the provider may say what that took, and the turn may end with it.
    fn reply(&mut self) {
        let prompt = self.provider_count();
        let tokens = self.answer();
        self.report_usage(prompt, tokens);
        if self.bed.session.phase() == Phase::Turn && self.dice.below(3) > 0 {
            let end = if self.dice.below(4) == 0 { TurnEnd::Broken } else { TurnEnd::Good };
            self.end_turn(end);
        }
        self.check_derived();
    }

    /// A turn ends.
    fn end_turn(&mut self, end: TurnEnd) -> Step {
        let before = self.outlook(LookPoint::TurnEnd);
        let step = self.patiently(|background, driver, session, workshop| {
            Box::pin(background.end_turn(driver, session, end, workshop))
        });
        assert_eq!(self.bed.session.phase(), Phase::Idle, "seed {}", self.seed);
        self.look_at(&step);
        match end {
            TurnEnd::Good => self.check_fired(&before, &step),
            TurnEnd::Broken => assert!(step.record.is_none(), "seed {}: {:?}", self.seed, step.record),
        }
        step
    }

    /// What came of an act.
    fn look_at(&mut self, step: &Step) {
        self.hear(step);
        if let Some(record) = &step.record {
            self.seen.push(holds::kind_of(record));
            self.check_record(record);
            self.check_derived();
        }
        self.check_shown();
    }
}

/// One of the presets there are.
fn any_preset(dice: &mut Dice) -> &'static str {
    let names: Vec<&str> = preset::names().collect();
    names[dice.below(names.len() as u64) as usize]
}
