//! Choosing the newest part by its room: which exchanges fit, which results give way to a pointer so that
//! more of them do, and what a message takes in the form it would be shown in.

use super::{KeepSet, NewestWork};
use crate::context::shown_tokens;
use crate::{ArchiveError, EntryId, Form, Job, LogReader, Message, Role, Slot, Tokens};
use std::collections::HashSet;
use std::sync::Arc;

/// A result of an older exchange that takes more than this part of the newest part's room gives way to a
/// pointer: four like it would fill the room alone.
const MASK_SHARE: (u64, u64) = (1, 4);

/// What a choice is made from.
pub(crate) struct Chooser<'c, 'a> {
    pub job: &'c Job<'a>,
    reader: LogReader<'c>,
    /// Messages of an exchange that still waits for results, and all behind it.
    open: HashSet<EntryId>,
    /// Messages of the model's newest work.
    work: HashSet<EntryId>,
}

/// The newest part of a context.
pub(super) struct NewestPart {
    /// The slot at which it begins.
    pub from: usize,
    /// Messages whose results give way to a pointer.
    pub masked: HashSet<EntryId>,
    /// What it takes without what is kept in any case.
    pub tokens: Tokens,
}

/// What the newest part may take.
#[derive(Clone, Copy)]
pub(super) struct TailRoom {
    /// By the policy.
    pub most: Tokens,
    /// At the very most, for a newest exchange that cannot be shortened and for input that nobody has answered.
    pub stretched: Tokens,
    /// Whether there is no more in the window, whatever the policy says.
    pub is_all: bool,
}

/// The summary keeps at least a quarter of what tail and summary share.
const STRETCH_SHARE: (u64, u64) = (3, 4);

impl TailRoom {
    /// So many percent of what tail and summary share.
    pub(super) fn of(shared: Tokens, percent: u32) -> Self {
        let most = shared.share(percent.into(), 100);
        Self { most, stretched: shared.share(STRETCH_SHARE.0, STRETCH_SHARE.1), is_all: false }
    }

    /// All of `most`, and no more.
    pub(super) fn all(most: Tokens) -> Self {
        Self { most, stretched: most, is_all: true }
    }

    /// What is left when so much is taken.
    pub(super) fn less(self, taken: Tokens) -> Self {
        Self { most: self.most.less(taken), stretched: self.stretched.less(taken), ..self }
    }

    /// What words may take beside blocks that cannot be cut and take `rigid`: what these leave, and up to half of it all
    /// where that can be had by stretching. A target is no reason to leave nothing of what was said.
    pub(super) fn beside(self, rigid: Tokens) -> Tokens {
        let left = self.less(rigid);
        left.most.max(left.stretched.min(self.most.share(1, 2)))
    }
}

impl<'c, 'a> Chooser<'c, 'a> {
    pub(crate) fn new(job: &'c Job<'a>, reader: LogReader<'c>) -> Self {
        let open = job.context.open_from().map(|open| &job.context.slots()[open..]).unwrap_or_default();
        let work = NewestWork::of(job).into_iter().flat_map(|work| work.ids).collect();
        Self { job, reader, open: open.iter().map(Slot::id).collect(), work }
    }

    /// A message as it was said.
    pub(super) fn message(&self, id: EntryId) -> Result<Arc<Message>, ArchiveError> {
        self.reader.archive.message(id)
    }

    /// The form of a message that is kept whole. Seals on thinking bind it to the prefix that is about to
    /// change; an open exchange must keep its own.
    pub(super) fn plain_form(&self, id: EntryId) -> Form {
        let is_reply = self.job.log.item(id).is_some_and(|item| item.role == Role::Assistant);
        Form { thinking: self.job.can.forms && is_reply && !self.open.contains(&id), ..Form::WHOLE }
    }

    /// What a message takes when it takes on `form`.
    pub(super) fn size(&self, id: EntryId, form: Form) -> Result<Tokens, ArchiveError> {
        let (now, size) = self.job.context.form_of(id, self.job.sizes);
        if now.and(form) == now { Ok(size) } else { shown_tokens(id, now.and(form), self.reader) }
    }

    /// Whether an earlier pass has cut a message for want of room, and this one may do otherwise.
    pub(super) fn is_cut(&self, id: EntryId) -> bool {
        self.job.can.forms && self.job.context.form_of(id, self.job.sizes).0.shorten.is_some()
    }

    /// What a message takes when it takes on `form` and is no longer cut.
    pub(super) fn size_uncut(&self, id: EntryId, form: Form) -> Result<Tokens, ArchiveError> {
        if !self.is_cut(id) {
            return self.size(id, form);
        }
        let form = self.job.context.form_of(id, self.job.sizes).0.uncut().and(form);
        if form == Form::WHOLE { Ok(self.job.sizes.total(id)) } else { shown_tokens(id, form, self.reader) }
    }

    /// The newest whole exchanges that fit `room`, what is kept in any case not counted. The newest one stays
    /// even where it does not fit, if it can be shown shortened, is still open, or leaves the summary some
    /// room. Where not all of them fit, large results of older ones give way to pointers.
    pub(super) fn newest(&self, set: &KeepSet, room: TailRoom) -> Result<NewestPart, ArchiveError> {
        let whole = self.newest_above(set, room, None)?;
        if whole.from <= first_after_summary(self.job) {
            return Ok(whole);
        }
        let masked = self.newest_above(set, room, Some(room.most.share(MASK_SHARE.0, MASK_SHARE.1)))?;
        Ok(if masked.from < whole.from { masked } else { whole })
    }

    /// The same, with results larger than `mask` masked.
    fn newest_above(
        &self,
        set: &KeepSet,
        room: TailRoom,
        mask: Option<Tokens>,
    ) -> Result<NewestPart, ArchiveError> {
        let context = self.job.context;
        let slots = context.slots().len();
        let first = first_after_summary(self.job);
        let mut newest = NewestPart { from: slots, masked: HashSet::new(), tokens: Tokens::ZERO };
        for start in context.units().iter().rev().map(|&unit| unit as usize).take_while(|&unit| unit >= first)
        {
            let (tokens, masked) = self.unit(set, start..newest.from, mask)?;
            let is_open = context.open_from().is_some_and(|open| start >= open);
            let is_newest = newest.from == slots;
            let stays = is_open || (is_newest && (self.job.can.forms || tokens <= room.stretched));
            if newest.tokens + tokens > room.most && !stays {
                break;
            }
            newest.from = start;
            newest.tokens += tokens;
            newest.masked.extend(masked);
        }
        Ok(newest)
    }

    /// What the slots of a unit take without what is kept in any case, and whose results are masked for it.
    fn unit(
        &self,
        set: &KeepSet,
        slots: std::ops::Range<usize>,
        mask: Option<Tokens>,
    ) -> Result<(Tokens, Vec<EntryId>), ArchiveError> {
        let (mut tokens, mut masked) = (Tokens::ZERO, Vec::new());
        for id in self.job.context.slots()[slots].iter().map(Slot::id).filter(|&id| !set.contains(id)) {
            let whole = self.size(id, self.plain_form(id))?;
            let is_large = mask.is_some_and(|least| self.job.sizes.of(id).results > least);
            let may_mask = is_large && self.job.can.forms && !self.work.contains(&id);
            let short = if may_mask { self.size(id, self.masked_form(id))? } else { whole };
            if short < whole {
                masked.push(id);
            }
            tokens += short.min(whole);
        }
        Ok((tokens, masked))
    }

    /// The form of a message whose results give way to a pointer.
    pub(super) fn masked_form(&self, id: EntryId) -> Form {
        Form { results: true, notice: self.job.policy.prune.notice, ..self.plain_form(id) }
    }
}

/// The first slot behind the newest summary, and behind what was kept in front of it.
pub(super) fn first_after_summary(job: &Job<'_>) -> usize {
    let is_summary = |slot: &Slot| matches!(slot, Slot::Summary { .. });
    job.context.slots().iter().rposition(is_summary).map_or(0, |at| at + 1)
}
