//! What stays in view: what is kept in any case, the newest exchanges, and the forms they take. The target
//! bounds the second; the first stands outside it.

mod always;
mod chooser;
mod forms;
mod rule;

use crate::policy::TargetOf;
use crate::{ArchiveError, EntryId, Form, Item, Job, Role, Slot, Tail, Tokens};
use always::NewestWork;
pub(crate) use always::{KeepSet, matching, worked_on};
use always::{KeptMessage, unanswered, unit_of};
pub(crate) use chooser::Chooser;
use chooser::{TailRoom, first_after_summary};
use forms::forms_within;
use std::collections::HashSet;

/// What a plan keeps, in the order the model will see it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct KeepSelection {
    /// Messages kept in any case that the tail does not hold, shown in front of the summary.
    pub front: Vec<EntryId>,
    /// Such messages told inside the summary, where they cannot be shown in front of it, each with what it
    /// may take.
    pub folded: Vec<(EntryId, Tokens)>,
    /// The newest messages.
    pub tail: Vec<EntryId>,
    /// Forms they take on now.
    pub forms: Vec<(EntryId, Form)>,
    /// Of those kept in any case, the ones that an earlier pass cut for want of room: how far they are cut now is
    /// decided anew.
    pub uncut: Vec<EntryId>,
    /// What the messages shown take in these forms.
    pub tokens: Tokens,
    /// What is kept in any case takes so much, told inside the summary or shown.
    pub outside: Tokens,
    /// Of `tokens`, what the target bounds.
    pub beside: Tokens,
    /// Whether some exchange is too large to be shown where it cannot be shortened.
    folds_exchanges: bool,
}

/// A summary, its frame and the line that says what was dropped need this much to say anything.
pub(crate) const SUMMARY_MIN: Tokens = Tokens(400);
/// What the model is to answer needs this much to be understood.
const INPUT_MIN: Tokens = Tokens(400);
/// In a very small room either gets this part of it.
const MIN_SHARE: (u64, u64) = (1, 4);

/// An open exchange that cannot be shortened may take this part of all the room there is, target or not.
const OPEN_SHARE: (u64, u64) = (1, 2);

/// Of all the room there is, blocks that we do not read may take this part.
const RIGID_SHARE: (u64, u64) = (1, 2);

/// What takes more than this part of the window is cut whatever it holds.
const GIANT_SHARE: (u64, u64) = (1, 2);

/// How the newest part is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TailShape {
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

impl KeepSelection {
    /// Nothing yet, beside what is kept in any case.
    pub(crate) fn beside(job: &Job<'_>, set: &KeepSet) -> Self {
        let is_cut_exchange = |(id, one): (EntryId, &KeptMessage)| {
            one.limit.is_some() && job.log.item(id).is_some_and(Item::is_exchange)
        };
        let folds_exchanges = set.iter().any(is_cut_exchange);
        Self { folds_exchanges, outside: set.tokens(), ..Self::default() }
    }

    /// Chooses what stays in view.
    pub(crate) fn choose(
        chooser: &Chooser<'_, '_>,
        pins: &[EntryId],
        shape: TailShape,
    ) -> Result<Self, ArchiveError> {
        let set = KeepSet::of(chooser, pins)?;
        let (job, first) = (chooser.job, first_after_summary(chooser.job));
        match shape {
            TailShape::Room { room, percent } => Self::within(chooser, &set, room, percent),
            TailShape::Rule { fewer } => {
                let start = rule::start(job, first, fewer, &set);
                Self::from_slot(chooser, &set, start.max(first))
            }
            TailShape::From(id) => {
                // From the exchange it belongs to: a result without its call is nothing.
                let begin = unit_of(job.context, id).first().copied().unwrap_or(id);
                let at = job.context.slots().iter().position(|slot| slot.id() == begin);
                Self::from_slot(chooser, &set, at.unwrap_or(job.context.slots().len()).max(first))
            }
            TailShape::Before(id) => Self::before_unit(chooser, &set, id),
        }
    }

    /// Everything in front of the exchange `id` belongs to, the model's newest work, an exchange that is
    /// still open, and what is kept in any case.
    fn before_unit(chooser: &Chooser<'_, '_>, set: &KeepSet, id: EntryId) -> Result<Self, ArchiveError> {
        let context = chooser.job.context;
        let slots = context.slots();
        let unit = unit_of(context, id);
        let range = slots.iter().position(|slot| Some(&slot.id()) == unit.first()).unwrap_or(slots.len());
        let work = set.work_from().into_iter().chain(context.open_from()).min();
        let tail = slots[work.map_or(slots.len(), |work| work.max(range))..].iter().map(Slot::id).collect();
        let before = slots[..range].iter().filter_map(|slot| match slot {
            Slot::Message { id, .. } => Some(*id).filter(|&id| !set.contains(id)),
            Slot::Summary { .. } => None,
        });
        let most = chooser.job.room().less(set.tokens() + summary_min(chooser.job));
        let mut kept = Self::assemble(chooser, set, tail, &HashSet::new(), TailRoom::all(most))?;
        kept.put_all_before(chooser, before.collect(), most)?;
        Ok(kept)
    }

    /// Everything from `start` on, the model's newest work, and what else is kept in any case.
    fn from_slot(chooser: &Chooser<'_, '_>, set: &KeepSet, start: usize) -> Result<Self, ArchiveError> {
        let first = first_after_summary(chooser.job);
        let work = set.work_from().filter(|&work| work >= first);
        let start = work.map_or(start, |work| work.min(start));
        let tail = chooser.job.context.slots().get(start..).unwrap_or_default();
        let most = chooser.job.room().less(set.tokens());
        let tail = tail.iter().map(Slot::id).collect();
        let mut kept = Self::assemble(chooser, set, tail, &HashSet::new(), TailRoom::all(most))?;
        kept.move_opening_replies(chooser.job);
        Ok(kept)
    }

    /// What is kept in any case, and beside it at most a part of `target`.
    fn within(
        chooser: &Chooser<'_, '_>,
        set: &KeepSet,
        target: Tokens,
        percent: u32,
    ) -> Result<Self, ArchiveError> {
        let job = chooser.job;
        let room = TailRoom::of(spare(job, target, set.tokens()), percent);
        let newest = chooser.newest(set, room)?;
        let mut tail: Vec<EntryId> =
            job.context.slots().get(newest.from..).unwrap_or_default().iter().map(Slot::id).collect();
        let is_cut = |&id: &EntryId| set.get(id).is_some_and(|standing| standing.limit.is_some());
        let most = job.budget.room().share(OPEN_SHARE.0, OPEN_SHARE.1).max(room.most);
        if !job.can.forms && (newest.tokens > most || tail.iter().any(is_cut)) {
            // It cannot be shown shortened here: the summary covers it, and tells what is kept in any case.
            tail.clear();
        }
        let mut kept = Self::assemble(chooser, set, tail, &newest.masked, room)?;
        kept.move_opening_replies(job);
        Ok(kept)
    }

    fn assemble(
        chooser: &Chooser<'_, '_>,
        set: &KeepSet,
        tail: Vec<EntryId>,
        masked: &HashSet<EntryId>,
        room: TailRoom,
    ) -> Result<Self, ArchiveError> {
        let mut kept = Self::beside(chooser.job, set);
        for (id, standing) in set.iter().filter(|(id, _)| !tail.contains(id)) {
            kept.put_before(chooser, id, standing)?;
        }
        kept.take_tail(chooser, set, tail, masked, room)?;
        Ok(kept)
    }

    /// Puts in front what is kept in any case and is no longer in view.
    pub(crate) fn bring_back(
        &mut self,
        chooser: &Chooser<'_, '_>,
        set: &KeepSet,
    ) -> Result<(), ArchiveError> {
        for (id, standing) in set.iter() {
            if !self.tail.contains(&id) && !self.front.contains(&id) {
                self.put_before(chooser, id, standing)?;
            }
        }
        self.front.sort_unstable();
        self.move_opening_replies(chooser.job);
        Ok(())
    }

    /// A list that begins with a reply is refused by some providers: what would stand in front of the summary goes behind it
    /// from the reply on where nobody has spoken before.
    fn move_opening_replies(&mut self, job: &Job<'_>) {
        let role = |id: &EntryId| job.log.item(*id).map(|item| item.role);
        let opening = self.front.iter().position(|id| role(id) != Some(Role::System));
        if let Some(at) = opening.filter(|&at| role(&self.front[at]) == Some(Role::Assistant)) {
            self.tail.splice(..0, self.front.drain(at..));
        }
    }

    fn put_before(
        &mut self,
        chooser: &Chooser<'_, '_>,
        id: EntryId,
        standing: &KeptMessage,
    ) -> Result<(), ArchiveError> {
        let job = chooser.job;
        let Some(item) = job.log.item(id) else { return Ok(()) };
        // An exchange that cannot be shown whole is told whole: its halves must not part.
        let is_told = standing.limit.is_some() || (item.is_exchange() && self.folds_exchanges);
        if !job.can.front || (is_told && !job.can.forms) {
            self.folded.push((id, standing.limit.unwrap_or(Tokens(u64::MAX))));
            return Ok(());
        }
        self.front.push(id);
        self.stand(chooser, id, standing.form)
    }

    /// Puts messages in front that a range leaves there, cut where they take more than `most` together.
    fn put_all_before(
        &mut self,
        chooser: &Chooser<'_, '_>,
        ids: Vec<EntryId>,
        most: Tokens,
    ) -> Result<(), ArchiveError> {
        for (id, form) in forms_within(chooser, &ids, &HashSet::new(), TailRoom::all(most))? {
            self.front.push(id);
            let tokens = self.show(chooser, id, form)?;
            self.beside += tokens;
        }
        self.front.sort_unstable();
        Ok(())
    }

    fn take_tail(
        &mut self,
        chooser: &Chooser<'_, '_>,
        set: &KeepSet,
        tail: Vec<EntryId>,
        masked: &HashSet<EntryId>,
        room: TailRoom,
    ) -> Result<(), ArchiveError> {
        let (standing, others): (Vec<EntryId>, Vec<EntryId>) = tail.iter().partition(|&&id| set.contains(id));
        for (id, standing) in standing.into_iter().filter_map(|id| Some((id, set.get(id)?))) {
            // Cut or not, nothing can be shown in another form where forms cannot be said.
            let form = if chooser.job.can.forms { standing.form } else { Form::WHOLE };
            self.stand(chooser, id, form)?;
        }
        // What the model is to answer is cut last: a newest part of a few tokens would leave a bare pointer of it.
        let input = unanswered(chooser.job);
        let (asked, others): (Vec<EntryId>, Vec<EntryId>) = others.iter().partition(|id| input.contains(id));
        let rigid: Tokens = asked.iter().map(|&id| chooser.job.sizes.of(id).opaque).sum();
        let most = room.stretched.max(room.most).max(rigid + input_min(chooser.job));
        let mut forms = forms_within(chooser, &asked, masked, TailRoom::all(most))?;
        let mut taken = Tokens::ZERO;
        for &(id, form) in &forms {
            taken += chooser.size(id, form)?;
        }
        forms.extend(forms_within(chooser, &others, masked, room.less(taken))?);
        for (id, form) in forms {
            let tokens = self.show(chooser, id, form)?;
            self.beside += tokens;
        }
        self.forms.sort_by_key(|&(id, _)| id);
        self.tail = tail;
        Ok(())
    }

    /// The form a message will be shown in.
    pub(crate) fn form_of(&self, job: &Job<'_>, id: EntryId) -> Form {
        let (now, _) = job.context.form_of(id, job.sizes);
        let now = if self.uncut.contains(&id) { now.uncut() } else { now };
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

    /// Takes a message down that is kept in any case.
    fn stand(&mut self, chooser: &Chooser<'_, '_>, id: EntryId, form: Form) -> Result<(), ArchiveError> {
        self.tokens += chooser.size_uncut(id, form)?;
        self.uncut.extend(chooser.is_cut(id).then_some(id));
        if form != Form::WHOLE {
            self.forms.push((id, form));
        }
        Ok(())
    }

    /// Takes a message that stays in view down in its form; gives what it takes.
    fn show(&mut self, chooser: &Chooser<'_, '_>, id: EntryId, form: Form) -> Result<Tokens, ArchiveError> {
        let tokens = chooser.size(id, form)?;
        if form != Form::WHOLE {
            self.forms.push((id, form));
        }
        self.tokens += tokens;
        Ok(tokens)
    }

    /// The tail as an entry says it.
    pub(crate) fn tail_entry(&self) -> Tail {
        if self.tail.is_empty() { Tail::Nothing } else { Tail::These(self.tail.clone()) }
    }
}

/// What may stand beside what is kept in any case, which takes `outside`: the target or what is left of it,
/// where that leaves the context below its trigger; where nothing would, half of what is free.
pub(crate) fn spare(job: &Job<'_>, target: Tokens, outside: Tokens) -> Tokens {
    let target = match job.policy.trigger.target_of {
        TargetOf::Free => target,
        TargetOf::Request => target.less(outside).max(summary_min(job)),
    };
    let free = job.room().less(outside);
    let below = job.budget.undue(job.policy).less(outside);
    let most = if below >= summary_min(job) { below.min(free) } else { free.share(1, 2) };
    target.min(most)
}

/// The least a summary gets.
pub(crate) fn summary_min(job: &Job<'_>) -> Tokens {
    SUMMARY_MIN.min(job.room().share(MIN_SHARE.0, MIN_SHARE.1))
}

/// The least that is shown of the words that the model is to answer.
fn input_min(job: &Job<'_>) -> Tokens {
    INPUT_MIN.min(job.room().share(MIN_SHARE.0, MIN_SHARE.1))
}

fn is_giant(job: &Job<'_>, size: Tokens) -> bool {
    job.budget.scale.theirs(size) > job.budget.window.share(GIANT_SHARE.0, GIANT_SHARE.1)
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
