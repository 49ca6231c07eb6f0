//! What stays in view: the always-keep set, the newest exchanges, and the forms they take.

mod always;
mod rule;

use crate::context::shown_tokens;
use crate::{ArchiveError, Context, EntryId, Form, Item, Job, Keep, Role, Slot, Tail, Tokens, find_cut};
use always::unit_of;
pub(crate) use always::{always, matching};

/// What a plan keeps, in the order the model will see it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// Always-kept messages that the tail does not hold, shown in front of the summary.
    pub front: Vec<EntryId>,
    /// Always-kept messages told inside the summary, where they cannot be shown in front of it.
    pub folded: Vec<EntryId>,
    /// The newest messages.
    pub tail: Vec<EntryId>,
    /// Forms they take on now.
    pub forms: Vec<(EntryId, Form)>,
    /// What the messages shown take in these forms.
    pub tokens: Tokens,
    /// What one always-kept message may take.
    pub limit: Tokens,
    /// Whether some always-kept exchange is too large to be shown where it cannot be shortened.
    folds_exchanges: bool,
}

/// Always-kept messages together take at most this part of the room; past it the large ones are cut to head and tail.
const ALWAYS_SHARE: (u64, u64) = (1, 2);

/// An open exchange that cannot be shortened may take this part of all the room there is, target or not.
const OPEN_SHARE: (u64, u64) = (1, 2);

/// How the newest part is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// As the policy's rule says, with so many messages fewer.
    Rule {
        /// Fewer than the rule says.
        fewer: u32,
    },
    /// So that all that is kept takes at most its part of a room.
    Room {
        /// What there is for everything kept and a summary.
        room: Tokens,
        /// The newest messages' part of it.
        percent: u32,
    },
    /// From this message on.
    From(EntryId),
    /// Up to the exchange of this message, which leaves view with all that follows.
    Before(EntryId),
}

impl Kept {
    /// Chooses what stays in view of `job`'s context.
    pub fn choose(job: &Job<'_>, pins: &[EntryId], shape: Shape) -> Result<Self, ArchiveError> {
        let first = first_after_summary(job.context);
        match shape {
            Shape::Room { room, percent } => Self::within(job, pins, room, percent),
            Shape::Rule { fewer } => {
                let start = rule::start(job, first, fewer, &always(job, pins));
                Self::from_slot(job, pins, start.max(first))
            }
            Shape::From(id) => {
                // From the exchange it belongs to: a result without its call is nothing.
                let begin = unit_of(job.context, id).first().copied().unwrap_or(id);
                let at = job.context.slots().iter().position(|slot| slot.id() == begin);
                Self::from_slot(job, pins, at.unwrap_or(job.context.slots().len()).max(first))
            }
            Shape::Before(id) => Self::before_unit(job, pins, id),
        }
    }

    /// Everything in front of the exchange `id` belongs to, an exchange that is still open, and what is
    /// kept in any case.
    fn before_unit(job: &Job<'_>, pins: &[EntryId], id: EntryId) -> Result<Self, ArchiveError> {
        let always = always(job, pins);
        let limit = limit_of(job, &always, job.budget.room());
        let unit = unit_of(job.context, id);
        let ids = job.context.message_slots().map(|(id, ..)| id);
        let mut front: Vec<EntryId> = ids.take_while(|id| unit.first() != Some(id)).chain(always).collect();
        let open = job.context.open_from().map(|open| &job.context.slots()[open..]);
        let tail = open.unwrap_or_default().iter().map(Slot::id).collect();
        front.sort_unstable();
        front.dedup();
        Self::assemble(job, front, limit, tail, job.budget.room())
    }

    /// Everything from `start` on, and what is kept in any case.
    fn from_slot(job: &Job<'_>, pins: &[EntryId], start: usize) -> Result<Self, ArchiveError> {
        let always = always(job, pins);
        let limit = limit_of(job, &always, job.budget.room());
        let tail: Vec<EntryId> =
            job.context.slots().get(start..).unwrap_or_default().iter().map(Slot::id).collect();
        Self::assemble(job, always, limit, tail, job.budget.room())
    }

    /// What takes at most its part of `room`.
    fn within(job: &Job<'_>, pins: &[EntryId], room: Tokens, percent: u32) -> Result<Self, ArchiveError> {
        let always = always(job, pins);
        let limit = limit_of(job, &always, room);
        // Messages that the tail shows anyway cost no room in front of it.
        let tail = Self::tail(job, TailRoom::of(job, room, percent, &always, limit));
        let outside: Vec<EntryId> = always.iter().copied().filter(|id| !tail.contains(id)).collect();
        let tail_room = TailRoom::of(job, room, percent, &outside, limit);
        let mut tail = Self::tail(job, tail_room);
        let (share, of) = OPEN_SHARE;
        let most = job.budget.room().share(share, of).max(tail_room.most);
        if !job.can.forms && job.context.newest_tokens(tail.len()) > most {
            // Only an open exchange can be this large, and it cannot be shown shortened here: the summary covers it.
            tail.clear();
        }
        Self::assemble(job, always, limit, tail, tail_room.most)
    }

    fn assemble(
        job: &Job<'_>,
        always: Vec<EntryId>,
        limit: Tokens,
        tail: Vec<EntryId>,
        most: Tokens,
    ) -> Result<Self, ArchiveError> {
        let is_too_large = |id: &EntryId| {
            let is_exchange = |item: &Item| !(item.calls.is_empty() && item.answers.is_empty());
            job.sizes.total(*id) > limit && job.log.item(*id).is_some_and(is_exchange)
        };
        let mut kept = Self { limit, folds_exchanges: always.iter().any(is_too_large), ..Self::default() };
        for id in always.into_iter().filter(|id| !tail.contains(id)) {
            kept.put_before(job, id)?;
        }
        kept.take_tail(job, tail, most)?;
        Ok(kept)
    }

    /// Puts in front what is kept in any case and is no longer in view.
    pub(crate) fn bring_back(&mut self, job: &Job<'_>, pins: &[EntryId]) -> Result<(), ArchiveError> {
        let always = always(job, pins);
        self.limit = limit_of(job, &always, job.budget.room());
        for id in always
            .into_iter()
            .filter(|id| !self.tail.contains(id) && !self.front.contains(id))
            .collect::<Vec<_>>()
        {
            self.put_before(job, id)?;
        }
        self.front.sort_unstable();
        Ok(())
    }

    fn put_before(&mut self, job: &Job<'_>, id: EntryId) -> Result<(), ArchiveError> {
        let Some(item) = job.log.item(id) else { return Ok(()) };
        let size = job.sizes.total(id);
        let is_large = size > self.limit;
        let is_exchange = !item.calls.is_empty() || !item.answers.is_empty();
        // An exchange that cannot be shown whole is told whole: its halves must not part.
        let must_fold = !job.can.forms && (is_large || (is_exchange && self.folds_exchanges));
        if !job.can.front || must_fold {
            self.folded.push(id);
            return Ok(());
        }
        let form = Form { shorten: is_large.then_some(self.limit), ..Form::WHOLE };
        if is_large {
            self.forms.push((id, form));
        }
        self.front.push(id);
        self.tokens += if is_large { shown_tokens(id, form, job.reader())? } else { size };
        Ok(())
    }

    /// The newest whole exchanges that fit; the newest one even where it does not, if it can be shown
    /// shortened, is still open, or leaves the summary some room.
    fn tail(job: &Job<'_>, room: TailRoom) -> Vec<EntryId> {
        let context = job.context;
        let slots = context.slots().len();
        let first = first_after_summary(context);
        let mut start =
            find_cut(context, Keep::Tokens(room.most)).map_or(0, |cut| cut.slot(slots)).max(first);
        let newest = context.units().last().map_or(0, |&unit| unit as usize);
        if start > newest && (job.can.forms || context.tokens_between(newest, slots) <= room.stretched) {
            start = newest.max(first);
        }
        context.slots().get(start..).unwrap_or_default().iter().map(Slot::id).collect()
    }

    fn take_tail(&mut self, job: &Job<'_>, tail: Vec<EntryId>, most: Tokens) -> Result<(), ArchiveError> {
        let sizes = job.context.newest_sizes(tail.len());
        let all: Tokens = sizes.iter().copied().sum();
        let limit = if all > most { fair_limit(&sizes, most) } else { all };
        let open = job.context.open_from();
        let begin = job.context.slots().len() - tail.len();
        for (offset, (&id, &size)) in tail.iter().zip(&sizes).enumerate() {
            let is_open = open.is_some_and(|unit| begin + offset >= unit);
            let form = tail_form(job, id, size, limit, is_open);
            if form == Form::WHOLE {
                self.tokens += size;
            } else {
                self.forms.push((id, form));
                self.tokens += shown_tokens(id, form, job.reader())?;
            }
        }
        self.tail = tail;
        Ok(())
    }

    /// The form a message will be shown in.
    pub(crate) fn form_of(&self, job: &Job<'_>, id: EntryId) -> Form {
        let (now, _) = job.context.form_of(id, job.sizes);
        let new = self.forms.iter().filter(|(kept, _)| *kept == id).map(|&(_, form)| form);
        new.fold(now, Form::and)
    }

    /// Has messages take on these forms too.
    pub(crate) fn add_forms(&mut self, forms: Vec<(EntryId, Form)>) {
        for (id, form) in forms {
            match self.forms.iter_mut().find(|(kept, _)| *kept == id) {
                Some((_, taken)) => *taken = taken.and(form),
                None => self.forms.push((id, form)),
            }
        }
    }

    /// The tail as an entry says it.
    pub fn tail_entry(&self) -> Tail {
        if self.tail.is_empty() { Tail::Nothing } else { Tail::These(self.tail.clone()) }
    }
}

/// What the newest messages may take.
#[derive(Clone, Copy)]
struct TailRoom {
    /// By the policy.
    most: Tokens,
    /// At the very most, for a newest exchange that cannot be shortened.
    stretched: Tokens,
}

/// The summary keeps at least a quarter of what tail and summary share.
const STRETCH_SHARE: (u64, u64) = (3, 4);

impl TailRoom {
    fn of(job: &Job<'_>, room: Tokens, percent: u32, always: &[EntryId], limit: Tokens) -> Self {
        let sizes = always.iter().map(|&id| job.sizes.total(id).min(limit));
        let shared = room.less(sizes.sum());
        let most = shared.share(percent.into(), 100);
        Self { most, stretched: shared.share(STRETCH_SHARE.0, STRETCH_SHARE.1) }
    }
}

/// What one always-kept message may take: half of the room, less where there are many large ones.
fn limit_of(job: &Job<'_>, always: &[EntryId], room: Tokens) -> Tokens {
    let half = room.share(ALWAYS_SHARE.0, ALWAYS_SHARE.1);
    let sizes: Vec<Tokens> = always.iter().map(|&id| job.sizes.total(id)).collect();
    fair_limit(&sizes, half)
}

/// The largest limit such that, every size cut to it, the sum is at most `most`.
fn fair_limit(sizes: &[Tokens], most: Tokens) -> Tokens {
    let mut sorted = sizes.to_vec();
    sorted.sort_unstable();
    let mut left = most;
    for (i, &size) in sorted.iter().enumerate() {
        let equal = Tokens(left.0 / (sorted.len() - i) as u64);
        if size > equal {
            return equal;
        }
        left = left.less(size);
    }
    most
}

fn tail_form(job: &Job<'_>, id: EntryId, size: Tokens, limit: Tokens, is_open: bool) -> Form {
    if !job.can.forms {
        return Form::WHOLE;
    }
    // Seals on thinking bind it to the prefix that is about to change; an open exchange must keep its own.
    let is_reply = job.log.item(id).is_some_and(|item| item.role == Role::Assistant);
    let shorten = (size > limit).then_some(limit);
    Form { thinking: is_reply && !is_open, shorten, ..Form::WHOLE }
}

/// The first slot behind the newest summary, and behind what was kept in front of it.
fn first_after_summary(context: &Context) -> usize {
    let is_summary = |slot: &Slot| matches!(slot, Slot::Summary { .. });
    context.slots().iter().rposition(is_summary).map_or(0, |at| at + 1)
}
