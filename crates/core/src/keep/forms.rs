//! The forms of messages that share a room: how far each is cut so that all of them fit, and which blocks that we do not
//! read give way to a marker for it.

use super::always::{Partners, unanswered};
use super::chooser::{Chooser, TailRoom};
use super::{RIGID_SHARE, fair_limit, is_giant};
use crate::{ArchiveError, EntryId, Form, Job, Tokens};
use std::collections::HashSet;

/// The form each of some messages takes on: masked, plain, or cut where they take more than their room together.
pub(super) fn forms_within(
    chooser: &Chooser<'_, '_>,
    ids: &[EntryId],
    masked: &HashSet<EntryId>,
    room: TailRoom,
) -> Result<Vec<(EntryId, Form)>, ArchiveError> {
    let job = chooser.job;
    let plain = |id| if masked.contains(&id) { chooser.masked_form(id) } else { chooser.plain_form(id) };
    let mut forms: Vec<(EntryId, Form)> = ids.iter().map(|&id| (id, plain(id))).collect();
    let sizes: Result<Vec<Tokens>, _> = forms.iter().map(|&(id, form)| chooser.size(id, form)).collect();
    let sizes = sizes?;
    if !job.can.forms || sizes.iter().copied().sum::<Tokens>() <= room.most {
        return Ok(forms);
    }
    let opened = OpenedBlocks::of(job, ids, &sizes, room);
    let rigid: Vec<Tokens> =
        ids.iter().zip(&sizes).map(|(&id, &size)| opened.rigid(job, id).min(size)).collect();
    let words: Vec<Tokens> = sizes.iter().zip(&rigid).map(|(size, rigid)| size.less(*rigid)).collect();
    let limit = fair_limit(&words, room.beside(rigid.iter().copied().sum()));
    for (at, (id, form)) in forms.iter_mut().enumerate() {
        form.opaque |= opened.contain(job, *id);
        form.shorten = (words[at] > limit).then(|| limit + rigid[at]);
    }
    Ok(forms)
}

/// Messages whose unread blocks give way to a marker: what alone is too large whatever it holds, and what would take most of
/// all the room there is.
struct OpenedBlocks<'l> {
    ids: Vec<EntryId>,
    partners: Partners<'l>,
}

impl<'l> OpenedBlocks<'l> {
    /// Those among `ids`; never input that the model has not seen, whose size is our guess alone.
    fn of(job: &Job<'l>, ids: &[EntryId], sizes: &[Tokens], room: TailRoom) -> Self {
        let input = unanswered(job);
        let has_blocks =
            |(id, _): &(EntryId, Tokens)| !job.sizes.of(*id).opaque.is_zero() && !input.contains(id);
        let carriers = ids.iter().copied().zip(sizes.iter().copied()).filter(has_blocks);
        let (mut opened, mut others): (Vec<_>, Vec<_>) = carriers.partition(|&(_, size)| is_giant(job, size));
        if room.is_all {
            opened.extend(crowding(job, &mut others, room.most));
        }
        let ids: Vec<EntryId> = opened.into_iter().map(|(id, _)| id).collect();
        Self { partners: Partners::of(job, &ids), ids }
    }

    fn contain(&self, job: &Job<'l>, id: EntryId) -> bool {
        self.ids.contains(&id) || self.partners.contain(job, id)
    }

    /// What of a message stays as it is however far it is cut.
    fn rigid(&self, job: &Job<'l>, id: EntryId) -> Tokens {
        if self.contain(job, id) { Tokens::ZERO } else { job.sizes.of(id).opaque }
    }
}

/// The largest carriers of unread blocks, without which the others leave at least half of `most` to words.
fn crowding(job: &Job<'_>, carriers: &mut [(EntryId, Tokens)], most: Tokens) -> Vec<(EntryId, Tokens)> {
    carriers.sort_by_key(|&(id, _)| std::cmp::Reverse(job.sizes.of(id).opaque));
    let mut rigid: Tokens = carriers.iter().map(|&(id, _)| job.sizes.of(id).opaque).sum();
    let is_crowded = |&&(id, _): &&(EntryId, Tokens)| {
        let was_crowded = rigid > most.share(RIGID_SHARE.0, RIGID_SHARE.1);
        rigid = rigid.less(job.sizes.of(id).opaque);
        was_crowded
    };
    carriers.iter().take_while(is_crowded).copied().collect()
}
