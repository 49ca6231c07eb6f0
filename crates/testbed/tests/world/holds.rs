//! What always holds, whatever happens.

use crate::World;
use epitome_core::{CallId, EntryId, Form, Item, Mark, Outcome, Record, Slot, Tokens, Trigger};
use epitome_engine::{Check, Session, Step};
use std::collections::{HashMap, HashSet};

/// What a policy may ask of a model for one compaction, at the very most.
const CALLS_MAX: u32 = 64;

/// A pointer takes five tokens by the dearest of the counts here, and as much is left for words.
const WORDS_TOKENS_MIN: Tokens = Tokens(10);

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
    /// The context derived from scratch is the one grown.
    pub(crate) fn check_derived(&self) {
        let (derived, grown) = (View::of(&self.bed.reopened()), View::of(&self.bed.session));
        assert!(derived == grown, "seed {}: derived, not grown:{}", self.seed, difference(&derived, &grown));
    }

    /// Each message is in view or told of, each exchange whole, and what is shown can be sent.
    pub(crate) fn check_shown(&self) {
        let (seed, session) = (self.seed, &self.bed.session);
        let view: HashSet<EntryId> = self.bed.in_view().into_iter().collect();
        let told = told(session);
        for id in session.history() {
            assert!(view.contains(id) || told.contains(id), "seed {seed}: {id} is lost");
        }
        let pins = session.context().pins();
        assert!(pins.iter().all(|pin| view.contains(pin)), "seed {seed}: of {pins:?} some are hidden");
        for (call, result) in pairs(session) {
            let is_whole = view.contains(&call) == view.contains(&result);
            assert!(is_whole, "seed {seed}: of {call} and {result} one is shown");
        }
        self.check_words();
    }

    /// What is shown can be sent as it is: each message is said by who said it, something is left of it, and what is shown
    /// whole has its words.
    fn check_words(&self) {
        let (seed, session) = (self.seed, &self.bed.session);
        let shown = session.shown().expect("all is in memory");
        let forms: HashMap<EntryId, Form> =
            session.context().message_slots().map(|(id, form, _)| (id, form)).collect();
        for view in &shown {
            let Some(id) = view.id else { continue };
            let original = self.bed.original(id);
            let is_empty = view.message.blocks.is_empty() && !original.blocks.is_empty();
            assert!(!is_empty, "seed {seed}: nothing is left of {id}");
            assert_eq!(view.message.role, original.role, "seed {seed}: {id}");
            let is_same = forms[&id] != Form::WHOLE || view.message == original;
            assert!(is_same, "seed {seed}: {id} has other words");
        }
    }

    /// What a person said last is shown in their words, where a compaction keeps it and it is no half of the room: its
    /// beginning at least, wherever there is room for a pointer and a word beside each other.
    fn check_newest(&self, kept: &[EntryId]) {
        let session = &self.bed.session;
        let is_said = |id: &&EntryId| session.log().item(**id).is_some_and(Item::opens_turn);
        let Some(newest) = session.history().iter().rev().find(is_said) else { return };
        let (sizes, room) = (session.timeline().sizes(), session.budget().room());
        let is_small = sizes.total(*newest) <= room.share(1, 2);
        let start: String = self.bed.original(*newest).said().chars().take(6).collect();
        if kept.contains(newest) && is_small && self.words_room(*newest, kept) >= WORDS_TOKENS_MIN {
            let is_shown = self.bed.shown().iter().any(|message| message.contains(&start));
            assert!(
                is_shown,
                "seed {}: {newest} has lost its words, {} in a room of {room}",
                self.seed,
                sizes.total(*newest)
            );
        }
    }

    /// What each message of a compaction has at the very least: after a refusal a quarter of the room is left, of which a
    /// summary has a quarter; documents of the newest stand whole, and others take up to half of what is left.
    fn words_room(&self, newest: EntryId, kept: &[EntryId]) -> Tokens {
        let (sizes, room) = (self.bed.session.timeline().sizes(), self.bed.session.budget().room());
        let left = room.share(3, 16).less(sizes.of(newest).opaque);
        let has_others = kept.iter().any(|&id| id != newest && !sizes.of(id).opaque.is_zero());
        let left = if has_others { left.share(1, 2) } else { left };
        left.share(1, kept.len().max(1) as u64)
    }

    /// What always holds of a record.
    pub(crate) fn check_record(&self, record: &Record) {
        let (seed, session) = (self.seed, &self.bed.session);
        assert!(record.spent.calls <= CALLS_MAX, "seed {seed}: {} calls", record.spent.calls);
        let (history, budget) = (session.context().tokens(), session.budget());
        match &record.outcome {
            Outcome::Compacted(change) => {
                assert!(budget.fits(history), "seed {seed}: {history} does not fit {}", budget.room());
                let is_told = change.summary.as_ref().is_some_and(|summary| !summary.trim().is_empty());
                let is_any = change.superseded.is_empty() && change.dropped.is_empty();
                assert!(is_told || is_any, "seed {seed}: nothing is said of what left");
                self.check_newest(&change.kept);
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
            assert_eq!(
                record.tokens_after,
                record.budget.request(history),
                "seed {seed}: {}",
                summed_up(record)
            );
            assert!(
                record.tokens_after < record.tokens_before,
                "seed {seed}: it frees nothing: {}",
                summed_up(record)
            );
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

/// Every call on the path with its answer, by message; the nearest call of an id counts.
fn pairs(session: &Session) -> Vec<(EntryId, EntryId)> {
    let mut made: HashMap<&CallId, EntryId> = HashMap::new();
    let mut pairs = Vec::new();
    for &id in session.history() {
        let Some(item) = session.log().item(id) else { continue };
        pairs.extend(item.answers.iter().filter_map(|call| Some((*made.get(call)?, id))));
        made.extend(item.calls.iter().map(|call| (call, id)));
    }
    pairs
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

/// The figures of a record, in a line.
fn summed_up(record: &Record) -> String {
    let kind = kind_of(record);
    format!("{kind} for {:?}: {} and then {}", record.trigger, record.tokens_before, record.tokens_after)
}

/// What came of a compaction, and by whom.
pub(crate) fn kind_of(record: &Record) -> &'static str {
    match &record.outcome {
        Outcome::Compacted(change) => match change.summarizer.as_deref() {
            Some("fickle-model") => "by a model",
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
