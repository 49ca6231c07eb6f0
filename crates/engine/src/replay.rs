//! A transcript fed through a session call by call, with the replies it records: each point at which a live session
//! would be looked at is come to, before input, before each call, after each turn, and after a refusal where the
//! provider would refuse the request.

use crate::check::LookPoint;
use crate::driver::{Driver, Recovery, TurnEnd};
use crate::error::EngineError;
use crate::event::Event;
use crate::growth_tracker::GrowthTracker;
use crate::read_ahead::MessagesAhead;
use crate::session::{Session, Step};
use crate::timeline::Timeline;
use crate::unrecorded_part::UnrecordedPart;
use epitome_core::{Author, Entry, EntryId, Outcome, Record, RecordSource, Role, Slot, Tokens, Trigger};
use epitome_tokens::Usage;
use std::collections::HashMap;
use std::sync::Arc;

/// One model call of a replay, as it stands before the recorded reply is taken up.
#[derive(Debug)]
#[non_exhaustive]
pub struct ReplayedCall<'s> {
    /// Its number, from 0.
    pub call: usize,
    /// The reply's number among the transcript's messages, from 0.
    pub message: usize,
    /// The whole request, without the answer's reserve.
    pub tokens: Tokens,
    /// The part of it before the history.
    pub fixed: Tokens,
    /// What the recorded calls held beside what the transcript records, as far as they have told by now: an agent's own
    /// system prompt and tools. No other figure has it in.
    pub unrecorded: Tokens,
    /// The part of it, from its start, that the call before sent as well.
    pub cached: Tokens,
    /// How many slots of its history, from the first, that part has at least.
    pub cached_slots: usize,
    /// What rebuilt the context since the call before, if anything did; where several did, the last.
    pub compaction: Option<Arc<Record>>,
    /// What happened since the call before, in order.
    pub events: Vec<Event>,
    /// The session at this moment.
    pub session: &'s Session,
}

/// What a transcript brings to its replay beside its entries.
pub struct ReplayInput<'a> {
    /// The path to replay, root first.
    pub path: &'a [EntryId],
    /// What it records before its history, by our count; another session may stand behind something else.
    pub fixed: Tokens,
    /// Usage that the transcript records, by reply.
    pub usage: &'a HashMap<EntryId, Usage>,
    /// Reads the original of a message: each is asked for once, when its turn comes or a little before.
    pub read: &'a dyn Fn(EntryId) -> Result<Arc<epitome_core::Message>, epitome_core::ArchiveError>,
}

/// How far a request agrees with the one before it. It follows what is in view: what was there before a look need not be
/// copied for the look, which nearly always changes nothing.
#[derive(Default)]
struct PrefixOverlap {
    /// What was in view when it was last brought up to date, and how often that had been rebuilt.
    seen: Vec<Slot>,
    times_rebuilt: u64,
    /// Slots of the newest request, from the first, that are still what they were.
    same: usize,
    /// Whether there was one.
    any: bool,
}

/// A replay under way.
struct Replay<'r> {
    driver: &'r Driver,
    session: &'r mut Session,
    /// The path as it was held, without what this replay does to it: what recorded usage is usage of.
    held: Timeline,
    /// What prompts grow by from call to call, as the path was held.
    growth: GrowthTracker,
    /// What the transcript records before it, by our count.
    held_fixed: Tokens,
    /// What was before it and is not recorded.
    unrecorded: UnrecordedPart,
    /// The history of the call whose reply was taken up last, by our count, as it was held.
    prompted: Tokens,
    sent: PrefixOverlap,
    rebuilt: Option<Arc<Record>>,
    /// Whether the transcript has marks of ours.
    has_marks: bool,
    /// Whether messages have left view since the archive was tidied.
    has_leftovers: bool,
    events: Vec<Event>,
}

/// Feeds a path through `session`, handing each model call to `each`. Compactions that the transcript records are taken
/// up where they stand.
pub async fn replay<E: From<EngineError>>(
    driver: &Driver,
    session: &mut Session,
    input: ReplayInput<'_>,
    mut each: impl FnMut(ReplayedCall<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let (mut calls, mut messages) = (0, 0);
    let held = Timeline::new(session.timeline().log().clone(), session.timeline().sizes().clone());
    let has_marks = !session.log().marks_on(input.path).is_empty();
    let mut replay = Replay {
        driver,
        session,
        held,
        growth: GrowthTracker::default(),
        held_fixed: input.fixed,
        unrecorded: UnrecordedPart::default(),
        prompted: Tokens::ZERO,
        sent: PrefixOverlap::default(),
        rebuilt: None,
        events: Vec::new(),
        has_marks,
        has_leftovers: false,
    };
    let is_said = |id: &EntryId| replay.session.log().item(*id).is_some();
    let said: Vec<EntryId> = input.path.iter().copied().filter(is_said).collect();
    let mut originals = MessagesAhead::new(&said, input.read);
    for &id in input.path {
        let is_message = replay.session.log().item(id).is_some();
        if let Some(message) = is_message.then(|| originals.next()).flatten() {
            let message = message.map_err(EngineError::from)?;
            replay.before_input(id, &message).await?;
            replay.session.archive().put_shared(id, message);
        }
        if is_reply(replay.session, id) {
            replay.before_call().await?;
            if replay.session.digests().digests_made() > 0 {
                originals.look_ahead(replay.session.shared_digests());
            }
            each(replay.call(calls, messages))?;
            calls += 1;
        }
        replay.take(id)?;
        replay.keep_readable(&input)?;
        if let Some(usage) = input.usage.get(&id) {
            replay.take_usage(*usage)?;
        }
        if replay.session.has_turn_ended() && is_reply(replay.session, id) {
            replay.after_turn().await?;
        }
        messages += usize::from(is_message);
    }
    Ok(())
}

fn is_reply(session: &Session, id: EntryId) -> bool {
    session.log().item(id).is_some_and(|item| item.role == Role::Assistant && item.author == Author::Model)
}

impl Replay<'_> {
    /// What a live session does when a person has sent something.
    async fn before_input(
        &mut self,
        id: EntryId,
        message: &epitome_core::Message,
    ) -> Result<(), EngineError> {
        let opens = self.session.log().item(id).is_some_and(epitome_core::Item::opens_turn);
        if !opens || !self.session.policy().check.before_input {
            return Ok(());
        }
        let tokens = self.session.assembly().measure().sizes(message).total();
        self.look(LookPoint::Input(tokens)).await
    }

    /// What a live session does before a call, and, where the provider would refuse the request, after that.
    async fn before_call(&mut self) -> Result<(), EngineError> {
        self.look(LookPoint::Call).await?;
        let budget = self.session.budget();
        let over = budget.scale.theirs(self.session.context().tokens().less(budget.history_max()));
        if over == Tokens::ZERO {
            return Ok(());
        }
        let step = match self.driver.recover(self.session, Some(over)).await? {
            Recovery::Retry(step) | Recovery::Surface { step, .. } => step,
        };
        self.note_step(*step);
        Ok(())
    }

    async fn look(&mut self, point: LookPoint) -> Result<(), EngineError> {
        let step = self.driver.prepare_at(self.session, point).await?;
        self.note_step(step);
        Ok(())
    }

    async fn after_turn(&mut self) -> Result<(), EngineError> {
        if !self.session.policy().check.after_turn {
            return Ok(());
        }
        let step = self.driver.end_turn(self.session, TurnEnd::Good).await?;
        self.note_step(step);
        Ok(())
    }

    /// Lets go of what no compaction will read any more, and reads again what a transcript's own tool has brought back
    /// into view: what a replay takes must not grow with what lies behind it.
    fn keep_readable(&mut self, input: &ReplayInput<'_>) -> Result<(), EngineError> {
        if !std::mem::take(&mut self.has_leftovers) {
            return Ok(());
        }
        let (archive, readable) = (self.session.archive(), self.session.timeline().readable());
        for id in archive.missing(&readable) {
            archive.put_shared(id, (input.read)(id)?);
        }
        // By its own marks a transcript may count messages that are out of view here.
        if !self.has_marks {
            archive.retain(&readable);
        }
        Ok(())
    }

    fn note_step(&mut self, step: Step) {
        self.events.extend(step.events);
        self.has_leftovers |= self.sent.follow(self.session.timeline());
        self.note(step.record);
    }

    fn note(&mut self, record: Option<Arc<Record>>) {
        self.rebuilt = record.filter(|record| tells(&record.outcome)).or(self.rebuilt.take());
    }

    fn call(&mut self, call: usize, message: usize) -> ReplayedCall<'_> {
        let (budget, context) = (self.session.budget(), self.session.context());
        let cached_slots = self.sent.same;
        let same = context.tokens_between(0, cached_slots);
        let cached = if self.sent.any { budget.request(same) } else { Tokens::ZERO };
        (self.sent.same, self.sent.any) = (context.slots().len(), true);
        ReplayedCall {
            call,
            message,
            tokens: budget.request(context.tokens()),
            fixed: budget.fixed,
            unrecorded: self.unrecorded.tokens(budget.scale),
            cached,
            cached_slots,
            compaction: self.rebuilt.take(),
            events: std::mem::take(&mut self.events),
            session: self.session,
        }
    }

    /// Takes up an entry of the transcript, and the marks that stand at it.
    fn take(&mut self, id: EntryId) -> Result<(), EngineError> {
        let marks: Vec<EntryId> = self.session.log().marks_at(Some(id)).to_vec();
        if is_reply(self.session, id) {
            self.prompted = self.held.context().tokens();
        }
        for id in std::iter::once(id).chain(marks) {
            self.held.absorb(id, self.session.lens())?;
            self.growth.pass(self.session.log(), id);
            let is_plain = self.session.log().get(id).is_none_or(|entry| !epitome_core::rebuilds(entry));
            if is_plain {
                self.session.absorb(id)?;
                self.sent.follow(self.session.timeline());
                continue;
            }
            let tokens = self.session.context().tokens();
            if matches!(self.session.log().get(id), Some(Entry::Recorded(_))) {
                self.unrecorded.outdate();
            }
            self.session.absorb(id)?;
            let is_changed = self.sent.follow(self.session.timeline());
            self.has_leftovers |= is_changed;
            self.note(is_changed.then(|| self.recorded(tokens)));
        }
        Ok(())
    }

    /// Takes up what the provider said of a call. It counted the context as it was held, behind what stood before it then.
    /// Ours may be another one by now: its history is taken to have been counted alike, and what stands before it is ours.
    fn take_usage(&mut self, usage: Usage) -> Result<(), EngineError> {
        if usage.is_zero() {
            return Ok(());
        }
        let prompt = usage.prompt;
        let grown = self.growth.take(Tokens(prompt), self.prompted);
        if let Some((growth, calibration)) = grown.zip(self.session.assembly().calibration()) {
            calibration.learn(growth);
        }
        self.unrecorded.learn(Tokens(prompt), self.held_fixed + self.prompted);
        let budget = self.session.budget();
        let stood_before = budget.scale.theirs(self.held_fixed) + self.unrecorded.tokens(budget.scale);
        let (shown, held) = (self.session.context().tokens(), self.held.context().tokens());
        let share = |tokens: Tokens| {
            if shown == held || held.is_zero() { tokens } else { tokens.share(shown.0, held.0) }
        };
        let prompt = budget.fixed + share(Tokens(prompt).less(stood_before));
        let output = share(Tokens(usage.output));
        self.session.mark_usage(Usage { prompt: prompt.0, output: output.0, ..usage }).map(drop)
    }

    /// What is kept of a compaction that the transcript records.
    fn recorded(&self, history_before: Tokens) -> Arc<Record> {
        let budget = self.session.budget();
        Arc::new(Record {
            outcome: Outcome::Recorded,
            trigger: Trigger::Threshold,
            source: RecordSource::Transcript,
            budget,
            tokens_before: budget.request(history_before),
            tokens_after: budget.request(self.session.context().tokens()),
            count_method: self.session.assembly().count_method().clone(),
            ..Record::default()
        })
    }
}

/// Whether an outcome is told with the call it came before: all but that there was nothing to do.
fn tells(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Noop { .. } => false,
        Outcome::Compacted(_)
        | Outcome::Pruned(_)
        | Outcome::Applied { .. }
        | Outcome::Recorded
        | Outcome::Vetoed { .. }
        | Outcome::Abandoned { .. }
        | Outcome::Impossible(_) => true,
    }
}

impl PrefixOverlap {
    /// Brings it up to date; whether what was in view is another now, and not only longer.
    fn follow(&mut self, timeline: &Timeline) -> bool {
        let slots = timeline.context().slots();
        if timeline.times_rebuilt() == self.times_rebuilt {
            self.seen.extend(&slots[self.seen.len()..]);
            return false;
        }
        let common = self.seen.iter().zip(slots).take_while(|(old, new)| old == new).count();
        let is_changed = self.seen != slots;
        self.seen.truncate(common);
        self.seen.extend(&slots[common..]);
        (self.same, self.times_rebuilt) = (self.same.min(common), timeline.times_rebuilt());
        is_changed
    }
}
