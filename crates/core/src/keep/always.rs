//! What is kept in any case: the ends of what people said, instructions given in the middle, and pins with
//! their whole exchange.

use crate::context::exchanges;
use crate::policy::Always;
use crate::{ArchiveError, Context, EntryId, Job, Role, Slot};

/// Pins and instructions, and the first and newest message a person wrote where the policy says so: oldest
/// first, each once.
pub(crate) fn always(job: &Job<'_>, pins: &[EntryId]) -> Vec<EntryId> {
    let wants = |what| job.policy.keep.always.contains(&what);
    let pinned = pins.iter().flat_map(|&pin| match unit_of(job.context, pin) {
        unit if unit.is_empty() => exchange_of(job, pin),
        unit => unit,
    });
    let first = job.first_said().filter(|_| wants(Always::First));
    let newest = job.newest_said().filter(|_| wants(Always::Newest));
    let mut ids: Vec<EntryId> =
        first.into_iter().chain(pinned).chain(instructions(job)).chain(newest).collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// Instructions in view. Those that a transcript's own tool took out of it are that tool's to give again.
fn instructions<'j>(job: &'j Job<'_>) -> impl Iterator<Item = EntryId> + 'j {
    let in_view = job.context.message_slots().map(|(id, ..)| id);
    in_view.filter(|&id| job.log.item(id).is_some_and(|item| item.role == Role::System))
}

/// Messages in view that an operator's words pin.
pub(crate) fn matching(job: &Job<'_>) -> Result<Vec<EntryId>, ArchiveError> {
    let words = &job.policy.keep.matching;
    let mut found = Vec::new();
    if words.is_empty() {
        return Ok(found);
    }
    for (id, ..) in job.context.message_slots() {
        let message = job.archive.message(id)?;
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

/// The exchange of a message that an earlier compaction took out of view.
fn exchange_of(job: &Job<'_>, id: EntryId) -> Vec<EntryId> {
    let mut all = exchanges(job.log, job.history).into_iter();
    all.find(|exchange| exchange.contains(&id)).unwrap_or_default()
}
