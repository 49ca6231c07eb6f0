//! What is kept in any case, outside the target: what people said first and last, the model's newest work,
//! instructions given in the middle, and pins with their whole exchange. Each stands word for word while the
//! window has room for all of them; how far they are cut where it has not is decided here too.

use super::chooser::Chooser;
use super::{RIGID_SHARE, fair_limit, is_giant, summary_min};
use crate::context::exchanges;
use crate::policy::AlwaysKeep;
use crate::{Archive, ArchiveError, CallId, Context, EntryId, Form, Item, Job, Role, Slot, Tokens};
use std::collections::{BTreeMap, HashSet};

/// A message larger than half of the window is cut to this part of the room; so is a newest exchange, as a whole.
const GIANT_LEFT_SHARE: (u64, u64) = (1, 4);

/// What the model is to answer has so much of the room, whatever else is kept.
const INPUT_SHARE: (u64, u64) = (1, 2);

/// Messages that are kept in any case, by id, and how each is shown.
pub(crate) struct KeepSet {
    messages: BTreeMap<EntryId, KeptMessage>,
    /// The slot at which the model's newest work begins, or the input that it has not answered.
    work_from: Option<usize>,
}

/// A message that is kept in any case.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeptMessage {
    /// The form it takes on, where it can be shown in one.
    pub form: Form,
    /// What it may take; none where it stands uncut.
    pub limit: Option<Tokens>,
    /// What it takes uncut.
    size: Tokens,
    /// Of that, blocks that are passed on as they are.
    rigid: Tokens,
    is_work: bool,
    /// Whether the model is yet to answer it: then what we cannot read in it is the provider's to judge.
    is_input: bool,
}

impl KeepSet {
    /// What is kept of a job's history whatever its target, where `pins` are pinned.
    pub(crate) fn of(chooser: &Chooser<'_, '_>, pins: &[EntryId]) -> Result<Self, ArchiveError> {
        let job = chooser.job;
        let work = NewestWork::of(job).filter(|_| wants(job, AlwaysKeep::Exchange));
        let work_ids: HashSet<EntryId> = work.iter().flat_map(|work| work.ids.iter().copied()).collect();
        let unanswered = unanswered(job);
        let input = unanswered_from(job).filter(|_| wants(job, AlwaysKeep::Input));
        let input_ids = unanswered.iter().copied().filter(|_| input.is_some());
        let mut messages = BTreeMap::new();
        for id in always(chooser, pins)?.into_iter().chain(work_ids.iter().copied()).chain(input_ids) {
            let form = chooser.plain_form(id);
            let size = chooser.size_uncut(id, form)?;
            let rigid = job.sizes.of(id).opaque.min(size);
            let is_work = work_ids.contains(&id);
            let is_input = unanswered.contains(&id);
            messages.insert(id, KeptMessage { form, limit: None, size, rigid, is_work, is_input });
        }
        let mut set = Self { messages, work_from: work.map(|work| work.from).or(input) };
        set.reduce_giants(job);
        set.fit(job, &unanswered);
        Ok(set)
    }

    /// How a message is shown that is kept in any case; none for any other.
    pub(crate) fn get(&self, id: EntryId) -> Option<&KeptMessage> {
        self.messages.get(&id)
    }

    /// Whether a message is kept in any case.
    pub(crate) fn contains(&self, id: EntryId) -> bool {
        self.messages.contains_key(&id)
    }

    /// All of them, oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (EntryId, &KeptMessage)> {
        self.messages.iter().map(|(&id, standing)| (id, standing))
    }

    /// What all of them take together, each cut to its limit.
    pub(crate) fn tokens(&self) -> Tokens {
        self.messages.values().map(KeptMessage::tokens).sum()
    }

    /// The slot at which the model's newest work begins, or input that it has not answered, where that is kept.
    pub(crate) fn work_from(&self) -> Option<usize> {
        self.work_from
    }

    /// Cuts what alone takes over half of the window.
    fn reduce_giants(&mut self, job: &Job<'_>) {
        let left = job.room().share(GIANT_LEFT_SHARE.0, GIANT_LEFT_SHARE.1);
        let work: Vec<Tokens> =
            self.messages.values().filter(|one| one.is_work).map(|one| one.size).collect();
        if is_giant(job, work.iter().copied().sum()) {
            let limit = fair_limit(&work, left);
            self.messages.values_mut().filter(|one| one.is_work).for_each(|one| one.cut_giant(limit));
        }
        self.messages.values_mut().filter(|one| is_giant(job, one.size)).for_each(|one| one.cut_giant(left));
        self.open_partners(job);
    }

    /// Lets blocks we do not read give way, the largest first, where they would take more than half of `most`: the words
    /// beside them would be cut to nothing.
    fn open_crowding_blocks(&mut self, job: &Job<'_>, most: Tokens) {
        let mut rigid: Tokens = self.messages.values().map(|one| one.rigid).sum();
        let mut largest: Vec<&mut KeptMessage> =
            self.messages.values_mut().filter(|one| !one.is_input).collect();
        largest.sort_by_key(|one| std::cmp::Reverse(one.rigid));
        for one in largest {
            if rigid <= most.share(RIGID_SHARE.0, RIGID_SHARE.1) {
                break;
            }
            rigid = rigid.less(one.rigid);
            one.open_blocks();
        }
        self.open_partners(job);
    }

    /// Opens the blocks of messages that are the other half of what was opened.
    fn open_partners(&mut self, job: &Job<'_>) {
        let opened = self.iter().filter(|(_, one)| one.form.opaque).map(|(id, _)| id).collect::<Vec<_>>();
        let partners = Partners::of(job, &opened);
        let tied = self.messages.iter_mut().filter(|(id, _)| partners.contain(job, **id));
        tied.for_each(|(_, one)| one.open_blocks());
    }

    /// Where the room has no space for all of them, the largest are cut first. What the model is to answer has its part
    /// of the room, kept in any case or not: a pin must not push it out.
    fn fit(&mut self, job: &Job<'_>, input: &[EntryId]) {
        let others = input.iter().filter(|id| !self.messages.contains_key(id));
        let asked: Tokens = others.map(|&id| job.sizes.total(id)).sum();
        let asked = asked.min(job.room().share(INPUT_SHARE.0, INPUT_SHARE.1));
        let most = job.room().less(summary_min(job) + asked);
        if self.tokens() <= most {
            return;
        }
        self.open_crowding_blocks(job, most);
        let rigid: Tokens = self.messages.values().map(|one| one.rigid).sum();
        let sizes: Vec<Tokens> = self.messages.values().map(|one| one.tokens().less(one.rigid)).collect();
        let limit = fair_limit(&sizes, most.less(rigid));
        self.messages.values_mut().for_each(|one| one.cut(limit + one.rigid));
    }
}

impl KeptMessage {
    fn tokens(&self) -> Tokens {
        self.limit.map_or(self.size, |limit| limit.min(self.size))
    }

    /// Cuts it to `limit`, where it takes more.
    fn cut(&mut self, limit: Tokens) {
        if self.tokens() > limit {
            self.limit = Some(limit);
            self.form.shorten = Some(limit);
        }
    }

    /// Cuts it to `limit`, blocks we do not read included where they may be.
    fn cut_giant(&mut self, limit: Tokens) {
        self.open_blocks();
        self.cut(limit + self.rigid);
    }

    /// Lets a marker stand for each block we do not read; never in input that the model has not seen, whose size is
    /// our guess alone.
    fn open_blocks(&mut self) {
        if self.is_input {
            return;
        }
        self.form.opaque |= self.rigid > Tokens::ZERO;
        self.rigid = Tokens::ZERO;
    }
}

/// Calls of messages whose unread blocks give way: a block may be half of a pair, and its other half in
/// another message must not stand alone.
pub(super) struct Partners<'l>(HashSet<&'l CallId>);

impl<'l> Partners<'l> {
    pub(super) fn of(job: &Job<'l>, opened: &[EntryId]) -> Self {
        let items = opened.iter().filter_map(|&id| job.log.item(id));
        Self(items.flat_map(|item| item.calls.iter().chain(&item.answers)).collect())
    }

    pub(super) fn contain(&self, job: &Job<'l>, id: EntryId) -> bool {
        let is_tied = |item: &Item| item.calls.iter().chain(&item.answers).any(|call| self.0.contains(call));
        !self.0.is_empty() && job.log.item(id).is_some_and(is_tied)
    }
}

fn wants(job: &Job<'_>, what: AlwaysKeep) -> bool {
    job.policy.keep.always.contains(&what)
}

/// What is being worked on, as far as the policy keeps it in any case: the newest word of a person, the model's newest work, and
/// input that it has not answered.
pub(crate) fn worked_on(job: &Job<'_>) -> Vec<EntryId> {
    let said = job.newest_said().filter(|_| wants(job, AlwaysKeep::Newest));
    let work = NewestWork::of(job).filter(|_| wants(job, AlwaysKeep::Exchange));
    let input = if wants(job, AlwaysKeep::Input) { unanswered(job) } else { Vec::new() };
    said.into_iter().chain(work.into_iter().flat_map(|work| work.ids)).chain(input).collect()
}

/// Pins and instructions, and the first and newest message a person wrote where the policy says so.
fn always(chooser: &Chooser<'_, '_>, pins: &[EntryId]) -> Result<Vec<EntryId>, ArchiveError> {
    let job = chooser.job;
    let hidden: Vec<EntryId> =
        pins.iter().copied().filter(|&pin| unit_of(job.context, pin).is_empty()).collect();
    let first = job.first_said().filter(|_| wants(job, AlwaysKeep::First));
    let newest = job.newest_said().filter(|_| wants(job, AlwaysKeep::Newest));
    let mut ids: Vec<EntryId> = first.into_iter().chain(newest).chain(instructions(chooser)?).collect();
    ids.extend(pins.iter().flat_map(|&pin| unit_of(job.context, pin)));
    if !hidden.is_empty() {
        let is_pinned = |exchange: &Vec<EntryId>| exchange.iter().any(|id| hidden.contains(id));
        ids.extend(exchanges(job.log, job.history).into_iter().filter(is_pinned).flatten());
    }
    Ok(ids)
}

/// Instructions in view; of those that a harness gives again and again the newest copy. Those that a
/// transcript's own tool took out of view are that tool's to give again.
fn instructions(chooser: &Chooser<'_, '_>) -> Result<Vec<EntryId>, ArchiveError> {
    let (mut ids, mut given) = (Vec::new(), HashSet::new());
    for id in chooser.job.context.instructions().rev() {
        if given.insert(chooser.message(id)?) {
            ids.push(id);
        }
    }
    Ok(ids)
}

/// The model's newest work: its newest exchange, unless a person has spoken since, and what it said last.
pub(super) struct NewestWork {
    /// The slot at which it begins.
    from: usize,
    /// Its messages. What lies between the two is none of it.
    pub ids: Vec<EntryId>,
}

impl NewestWork {
    /// The newest work in view; none where the model has not spoken.
    pub(super) fn of(job: &Job<'_>) -> Option<Self> {
        let slots = job.context.slots();
        let (mut work, mut is_asked) = (None::<Self>, false);
        let mut end = slots.len();
        for start in job.context.units().iter().rev().map(|&unit| unit as usize) {
            let unit = &slots[start..end];
            end = start;
            let items = || unit.iter().filter_map(|slot| job.log.item(slot.id()));
            let is_exchange = items().any(|item| !item.calls.is_empty());
            if is_exchange || (work.is_none() && items().any(|item| item.role == Role::Assistant)) {
                let newer = work.map(|work| work.ids).unwrap_or_default();
                work = Some(Self { from: start, ids: unit.iter().map(Slot::id).chain(newer).collect() });
            }
            is_asked |= items().any(Item::opens_turn);
            if work.is_some() && (is_exchange || is_asked) {
                break;
            }
        }
        work
    }
}

/// Input that the model has not answered.
pub(super) fn unanswered(job: &Job<'_>) -> Vec<EntryId> {
    let slots = unanswered_from(job).map(|from| &job.context.slots()[from..]).unwrap_or_default();
    slots.iter().map(Slot::id).collect()
}

/// The slot at which input begins that the model has not answered: a person's newest word, where the model has not
/// spoken since, and what a harness appended to it.
fn unanswered_from(job: &Job<'_>) -> Option<usize> {
    let slots = job.context.slots();
    let is_input = |slot: &&Slot| {
        let item = job.log.item(slot.id());
        item.is_some_and(|item| item.role != Role::Assistant && !item.is_exchange())
    };
    let input = slots.len() - slots.iter().rev().take_while(is_input).count();
    let is_said = |slot: &Slot| job.log.item(slot.id()).is_some_and(Item::opens_turn);
    slots[input..].iter().rposition(is_said).map(|at| input + at)
}

/// Messages in view that an operator's words pin.
pub(crate) fn matching(job: &Job<'_>, originals: &dyn Archive) -> Result<Vec<EntryId>, ArchiveError> {
    let words = &job.policy.keep.matching;
    let mut found = Vec::new();
    if words.is_empty() {
        return Ok(found);
    }
    for (id, ..) in job.context.message_slots() {
        let message = originals.message(id)?;
        let answered = message.results().map(|result| result.text());
        let told: Vec<String> = std::iter::once(message.said()).chain(answered).collect();
        if words.iter().any(|word| told.iter().any(|text| text.contains(word))) {
            found.push(id);
        }
    }
    Ok(found)
}

/// The exchange a message in view belongs to, whole.
pub(super) fn unit_of(context: &Context, id: EntryId) -> Vec<EntryId> {
    let slots = context.slots();
    let Some(at) = slots.iter().position(|slot| slot.id() == id) else { return Vec::new() };
    let after = context.units().partition_point(|&start| start as usize <= at);
    let end = context.units().get(after).map_or(slots.len(), |&start| start as usize);
    slots[context.units()[after - 1] as usize..end].iter().map(Slot::id).collect()
}
