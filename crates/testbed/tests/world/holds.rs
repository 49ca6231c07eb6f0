//! What always holds, whatever happens.

use crate::World;
use epitome_core::{EntryId, Mark, Outcome, Record, Slot, Tokens, Trigger};
use epitome_engine::{Check, Session, Step};
use std::collections::HashSet;

/// What a policy may ask of a model for one compaction, at the very most.
const CALLS_MAX: u32 = 64;

/// Everything a session derives from its log.
#[derive(Debug, PartialEq)]
struct View {
    slots: Vec<Slot>,
    sizes: Vec<Tokens>,
    units: Vec<u32>,
    turns: Vec<u32>,
    open_from: Option<usize>,
    anchor: Option<EntryId>,
    pins: Vec<EntryId>,
    fresh: usize,
    history: Vec<EntryId>,
    compactions: Vec<EntryId>,
    breaker: epitome_engine::Breaker,
    check: Check,
}

impl View {
    fn of(session: &Session) -> Self {
        let context = session.context();
        Self {
            slots: context.slots().to_vec(),
            sizes: epitome_testbed::Bed::slot_tokens(context),
            units: context.units().to_vec(),
            turns: context.turns().to_vec(),
            open_from: context.open_from(),
            anchor: context.anchor(),
            pins: context.pins().to_vec(),
            fresh: context.fresh(),
            history: session.history().to_vec(),
            compactions: session.compactions().to_vec(),
            breaker: session.breaker().clone(),
            check: Check { trigger: session.check().trigger.map(since_a_restart), ..session.check() },
        }
    }
}

/// Why a compaction is due, as a session knows it that was opened anew: that the model has only just changed for a
/// smaller one is not written down, and what comes of it is the same.
fn since_a_restart(trigger: Trigger) -> Trigger {
    if trigger == Trigger::Downshift { Trigger::Threshold } else { trigger }
}

impl World {
    /// The context derived from scratch is the one grown, each message is in view or told of, and each
    /// exchange whole.
    pub(crate) fn check(&self) {
        let seed = self.seed;
        let session = &self.bed.session;
        let (derived, grown) = (View::of(&self.bed.reopened()), View::of(session));
        assert!(derived == grown, "seed {seed}: derived, not grown:{}", difference(&derived, &grown));
        let view: HashSet<EntryId> = self.bed.in_view().into_iter().collect();
        let told = told(session);
        for id in session.history() {
            assert!(view.contains(id) || told.contains(id), "seed {seed}: {id} is lost");
        }
        let pins = session.context().pins();
        assert!(pins.iter().all(|pin| view.contains(pin)), "seed {seed}: of {pins:?} some are hidden");
        let mut calls = HashSet::new();
        for id in self.bed.in_view() {
            let item = session.log().item(id).expect("it is a message");
            calls.extend(item.calls.iter().cloned());
            assert!(item.answers.iter().all(|call| calls.contains(call)), "seed {seed}: {id} has no call");
        }
    }

    /// What always holds of a record.
    pub(crate) fn check_record(&self, record: &Record) {
        let (seed, session) = (self.seed, &self.bed.session);
        assert!(record.spent.calls <= CALLS_MAX, "seed {seed}: {} calls", record.spent.calls);
        let (history, budget) = (session.context().tokens(), session.budget());
        match &record.outcome {
            Outcome::Compacted(change) => {
                assert!(budget.fits(history), "seed {seed}: {history} does not fit {}", budget.room());
                let shown = session.context().summary(session.log());
                let newest = session.compactions().last().copied().zip(change.summary.as_ref());
                assert_eq!(shown, newest, "seed {seed}: it has no effect");
            }
            Outcome::Pruned(_) | Outcome::Applied { .. } => {}
            Outcome::Impossible(floor) => assert!(floor.to_string().contains("cannot fit"), "seed {seed}"),
            Outcome::Noop { why } | Outcome::Vetoed { why, .. } | Outcome::Abandoned { why } => {
                assert!(!why.is_empty(), "seed {seed}: nothing done, and no reason");
            }
            Outcome::Recorded => panic!("seed {seed}: no tool of another's is at work here"),
        }
        if record.outcome.is_rebuilt() {
            assert_eq!(record.tokens_after, record.budget.request(history), "seed {seed}: {record:?}");
        }
    }

    /// No request is over the window both by our count, which plans go by, and as the policy measures it, unless the
    /// record says that nothing could be done, or somebody who may said no.
    pub(crate) fn check_fits(&self, step: &Step) {
        let session = &self.bed.session;
        let (figure, source) = session.figure();
        let (budget, window) = (session.budget(), session.budget().window);
        let least = figure.min(budget.request(session.context().tokens()));
        let is_excused = step.record.as_ref().is_some_and(|record| match &record.outcome {
            Outcome::Impossible(_) | Outcome::Vetoed { .. } => true,
            Outcome::Abandoned { why } => why.starts_with("it was cancelled"),
            Outcome::Compacted(_)
            | Outcome::Pruned(_)
            | Outcome::Applied { .. }
            | Outcome::Noop { .. }
            | Outcome::Recorded => false,
        });
        let (seed, told) = (self.seed, &step.record);
        assert!(least <= window || is_excused, "seed {seed}: {figure} of {window} by {source:?}, {told:?}");
    }
}

/// The lines in which two views differ.
fn difference(derived: &View, grown: &View) -> String {
    let (derived, grown) = (format!("{derived:#?}"), format!("{grown:#?}"));
    let lines = derived.lines().zip(grown.lines()).filter(|(one, other)| one != other);
    lines.map(|(one, other)| format!("\n{one}  {other}")).collect()
}

/// Messages that the compaction in use covers or names.
fn told(session: &Session) -> HashSet<EntryId> {
    let covers = |&(_, id): &(usize, &EntryId)| session.log().compaction(*id).and_then(|it| it.anchor());
    let in_use = session.compactions().iter().enumerate().max_by_key(|it| (covers(it), it.0));
    let mark = in_use.and_then(|(_, id)| session.log().mark_of(*id));
    let Some(Mark::Compaction { record, .. }) = mark else { return HashSet::new() };
    let change = record.change().expect("a compaction has changed something");
    change.superseded.iter().chain(&change.dropped).copied().collect()
}

/// What came of a compaction, and by whom.
pub(crate) fn kind_of(record: &Record) -> &'static str {
    match &record.outcome {
        Outcome::Compacted(change) => match change.summarizer.as_deref() {
            Some("test-model") => "by a model",
            Some("the embedded summariser") => "by the embedded summariser",
            Some(_) => "by someone else",
            None => "dropped",
        },
        Outcome::Pruned(_) => "pruned",
        Outcome::Applied { .. } => "applied",
        Outcome::Noop { .. } | Outcome::Recorded => "nothing to do",
        Outcome::Vetoed { .. } => "vetoed",
        Outcome::Abandoned { .. } => "abandoned",
        Outcome::Impossible(_) => "cannot fit",
    }
}
