//! Making room without a cut: the bulk of old messages gives way to pointers, and harness texts said again
//! later give way to their newest copy. Which messages leave view is `keep`'s.

use crate::context::shown_tokens;
use crate::keep::{Chooser, KeepSelection, KeepSet, matching};
use crate::policy::{Notice, PruneWhen};
use crate::{
    ArchiveError, Author, Block, CallId, Edit, EntryId, Form, Image, Job, LogReader, Role, Slot, Tokens,
    ledger,
};
use std::collections::{HashMap, HashSet};

/// An edit and what the context takes after it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pruning {
    /// Each message with its new form.
    pub edit: Edit,
    /// What the context takes then.
    pub tokens: Tokens,
}

/// Repeated harness texts: of equal ones the newest stays. The others are not shown at all where the context
/// holds together without them, and give way to a pointer where it does not.
pub(crate) fn trim(job: &Job<'_>, reader: LogReader<'_>) -> Result<Pruning, ArchiveError> {
    let older = repeated(job, reader)?;
    let mut forms = Vec::with_capacity(older.len());
    // The side of what is shown before; none at the beginning.
    let mut before = None;
    let slots = job.context.slots();
    for (at, slot) in slots.iter().enumerate() {
        let side = side_of(job, slot);
        if older.contains(&slot.id()) {
            let after = slots[at + 1..].iter().filter(|slot| !older.contains(&slot.id()));
            let after = after.filter_map(|slot| side_of(job, slot)).next();
            let left_out = holds_together(before, after);
            forms.push((slot.id(), Form { repeated: !left_out, left_out, ..Form::WHOLE }));
            before = if left_out { before } else { side };
        } else {
            before = side.or(before);
        }
    }
    weigh(job, reader, forms)
}

/// Harness texts in view that are said again later, word for word; whoever they are said as.
fn repeated(job: &Job<'_>, reader: LogReader<'_>) -> Result<HashSet<EntryId>, ArchiveError> {
    let mut newest: HashMap<Vec<Block>, EntryId> = HashMap::new();
    let mut older = HashSet::new();
    for (id, form, _) in job.context.message_slots() {
        let is_harness = job.log.item(id).is_some_and(|item| {
            item.author == Author::Harness && item.answers.is_empty() && item.calls.is_empty()
        });
        if is_harness && !form.repeated && !form.left_out && !is_pinned(job, id) {
            older.extend(newest.insert(reader.archive.message(id)?.blocks.clone(), id));
        }
    }
    Ok(older)
}

fn is_pinned(job: &Job<'_>, id: EntryId) -> bool {
    job.pins.contains(&id) || job.context.pins().contains(&id)
}

/// The side a slot is shown on; none where it is not shown.
fn side_of(job: &Job<'_>, slot: &Slot) -> Option<Role> {
    match slot {
        Slot::Message { form: Form { left_out: true, .. }, .. } => None,
        Slot::Message { id, .. } => job.log.item(*id).map(|item| item.role),
        Slot::Summary { .. } => Some(Role::User),
    }
}

/// Whether these two may stand next to each other: providers want the user's side first, and between two replies.
fn holds_together(before: Option<Role>, after: Option<Role>) -> bool {
    let asks = |side: Option<Role>| matches!(side, Some(Role::User | Role::Tool));
    asks(before) || asks(after)
}

/// The bulk of messages older than the protected part, by what the policy lets pruning touch. Nothing
/// where all of it together is not worth its price.
pub(crate) fn prune(job: &Job<'_>, reader: LogReader<'_>) -> Result<Pruning, ArchiveError> {
    let made = weigh(job, reader, wanted(job, reader)?)?;
    let saved = job.context.tokens().less(made.tokens);
    if is_worth(job, saved) {
        return Ok(made);
    }
    Ok(Pruning { edit: Edit::default(), tokens: job.context.tokens() })
}

/// Whether a pass that saves so much by our count is worth its price, in the tokens that its record tells: the
/// provider's.
fn is_worth(job: &Job<'_>, saved: Tokens) -> bool {
    let rules = &job.policy.prune;
    rules.saving_compare.holds(job.budget.scale.theirs(saved), rules.saving_min)
}

/// Pictures of more than `bytes_max` each, or all where that is not known, give way to labels wherever they stand: with
/// them no request is taken at all.
pub(crate) fn label(
    job: &Job<'_>,
    reader: LogReader<'_>,
    bytes_max: Option<u64>,
) -> Result<Pruning, ArchiveError> {
    let is_over =
        |image: &Image| bytes_max.is_none_or(|most| !image.is_url && image.data.len() as u64 > most);
    let wanted = Form { images: true, ..Form::WHOLE };
    let (mut forms, mut tokens) = (Vec::new(), job.context.tokens());
    for (id, form, size) in job.context.message_slots() {
        // Asked of the message and not of its size: a policy may count a picture as nothing.
        if !form.images && reader.archive.message(id)?.images().any(is_over) {
            tokens = tokens.less(size) + shown_tokens(id, form.and(wanted), reader)?;
            forms.push((id, wanted));
        }
    }
    Ok(Pruning { edit: Edit { forms }, tokens })
}

/// What is shed has at least so many bytes: less makes no difference to a body that is too large.
const SHED_BYTES_MIN: usize = 4 << 10;

/// Large results, and large attachments of the user's side, give way to pointers: those of older exchanges, or of the newest where
/// no other has any. What somebody said stays.
pub(crate) fn shed(job: &Job<'_>, reader: LogReader<'_>) -> Result<Pruning, ArchiveError> {
    let newest = job.context.units().last().map_or(0, |&unit| unit as usize);
    let (older, newest) = job.context.slots().split_at(newest);
    let forms = match bulky(older, reader)? {
        none if none.is_empty() => bulky(newest, reader)?,
        some => some,
    };
    let mut tokens = job.context.tokens();
    for (id, form, size) in job.context.message_slots() {
        if let Some((_, wanted)) = forms.iter().find(|(bulky, _)| *bulky == id) {
            tokens = tokens.less(size) + shown_tokens(id, form.and(*wanted), reader)?;
        }
    }
    Ok(Pruning { edit: Edit { forms }, tokens })
}

/// The messages among `slots` with something to shed, and the form that sheds it.
fn bulky(slots: &[Slot], reader: LogReader<'_>) -> Result<Vec<(EntryId, Form)>, ArchiveError> {
    let mut forms = Vec::new();
    for slot in slots {
        let Slot::Message { id, form } = slot else { continue };
        let message = reader.archive.message(*id)?;
        let printed: usize = message.results().map(|result| result.text().len()).sum();
        let attached = message.blocks.iter().map(|block| match block {
            Block::Opaque(opaque) if message.role == Role::User => opaque.json.len(),
            Block::Opaque(_)
            | Block::Text { .. }
            | Block::Thinking { .. }
            | Block::Call(_)
            | Block::Result(_)
            | Block::Image(_) => 0,
        });
        let wanted = Form {
            results: !form.results && printed >= SHED_BYTES_MIN,
            opaque: !form.opaque && attached.sum::<usize>() >= SHED_BYTES_MIN,
            ..Form::WHOLE
        };
        if wanted != Form::WHOLE {
            forms.push((*id, wanted));
        }
    }
    Ok(forms)
}

/// As [`prune`], for the newest messages that a compaction keeps, under a policy that prunes with compactions.
pub(crate) fn prune_tail(
    job: &Job<'_>,
    reader: LogReader<'_>,
    kept: &mut KeepSelection,
) -> Result<(), ArchiveError> {
    match job.policy.prune.when {
        PruneWhen::Compaction if job.can.forms => {}
        PruneWhen::Compaction | PruneWhen::Never | PruneWhen::ToolRound | PruneWhen::Check => return Ok(()),
    }
    let (mut forms, mut saved) = (Vec::new(), Tokens::ZERO);
    for (id, form) in wanted(job, reader)?.into_iter().filter(|(id, _)| kept.tail.contains(id)) {
        let now = kept.form_of(job, id);
        let before = shown_tokens(id, now, reader)?;
        let after = shown_tokens(id, now.and(form), reader)?;
        if after < before {
            saved += before.less(after);
            forms.push((id, form));
        }
    }
    if is_worth(job, saved) {
        kept.tokens = kept.tokens.less(saved);
        kept.add_forms(forms);
    }
    Ok(())
}

/// Each message in view that may be shown shorter, with the form it would take on.
fn wanted(job: &Job<'_>, reader: LogReader<'_>) -> Result<Vec<(EntryId, Form)>, ArchiveError> {
    let rules = &job.policy.prune;
    let exempt = Exemptions::of(job, reader)?;
    let stale = if rules.superseded_reads { stale_reads(job, reader)? } else { HashSet::new() };
    let mut forms = Vec::new();
    for (at, slot) in job.context.slots().iter().enumerate() {
        let Slot::Message { id, form } = slot else { continue };
        if exempt.messages.contains(id) || !exempt.may_break_cache(job, at) {
            continue;
        }
        let wanted = if at < exempt.from { old_form(job, reader, *id)? } else { Form::WHOLE };
        let is_old = wanted.results && !exempt.newest.contains(id);
        let results = (is_old || stale.contains(id)) && !exempt.kept.contains(id);
        let notice = if results { rules.notice } else { Notice::Pointer };
        let wanted = Form { results, notice, ..wanted };
        if form.and(wanted) != *form {
            forms.push((*id, wanted));
        }
    }
    Ok(forms)
}

/// What pruning leaves alone.
struct Exemptions {
    /// The first slot that is too new.
    from: usize,
    /// Messages left alone whole.
    messages: HashSet<EntryId>,
    /// Messages whose results are too new.
    newest: HashSet<EntryId>,
    /// Messages whose results are left alone, old, stale or not.
    kept: HashSet<EntryId>,
    /// Whether the provider's cache is cold anyway.
    is_cold: bool,
}

impl Exemptions {
    fn of(job: &Job<'_>, reader: LogReader<'_>) -> Result<Self, ArchiveError> {
        let rules = &job.policy.prune;
        let ends = [job.first_said(), job.newest_said()].into_iter().flatten();
        let pins: Vec<EntryId> = job
            .pins
            .iter()
            .chain(job.context.pins())
            .copied()
            .chain(matching(job, reader.archive)?)
            .collect();
        let set = KeepSet::of(&Chooser::new(job, reader), &pins)?;
        let messages = ends.chain(set.iter().map(|(id, _)| id)).collect();
        let is_cold = rules
            .cache_cold_minutes
            .is_some_and(|least| job.circumstances.idle_minutes.is_some_and(|idle| idle >= least));
        let (newest, kept) = (newest_results(job), kept_results(job, reader)?);
        Ok(Self { from: protected_from(job), messages, newest, kept, is_cold })
    }

    /// Whether the message of slot `at` may be changed without losing more of the cache than allowed.
    fn may_break_cache(&self, job: &Job<'_>, at: usize) -> bool {
        let slots = job.context.slots().len();
        let most = job.policy.prune.cache_tokens_max;
        self.is_cold || most.is_none_or(|most| job.context.tokens_between(at + 1, slots) <= most)
    }
}

/// The first slot that pruning leaves alone: what is newer takes at most the protected amount, and
/// an exchange is protected whole.
fn protected_from(job: &Job<'_>) -> usize {
    let slots = job.context.slots().len();
    let Some(protect) = job.policy.prune.protect else { return slots };
    let most = job.budget.point_of(protect);
    crate::find_cut(job.context, crate::Keep::AtLeast(most)).map_or(0, |cut| cut.slot(slots))
}

/// Messages whose results are among the newest, by their tokens; what the model has not seen yet always is.
fn newest_results(job: &Job<'_>) -> HashSet<EntryId> {
    let mut found = HashSet::new();
    let Some(most) = job.policy.prune.protect_results else { return found };
    let (mut newest, mut is_seen) = (Tokens::ZERO, false);
    for (id, ..) in job.context.message_slots().rev() {
        let Some(item) = job.log.item(id) else { continue };
        is_seen |= item.role == Role::Assistant;
        newest += job.sizes.of(id).results;
        if newest <= most || !is_seen {
            found.insert(id);
        }
    }
    found
}

/// Messages whose results stay: of tools the policy names, and errors where it says so.
fn kept_results(job: &Job<'_>, reader: LogReader<'_>) -> Result<HashSet<EntryId>, ArchiveError> {
    let rules = &job.policy.prune;
    let mut kept = HashSet::new();
    if rules.tools_kept.is_empty() && !rules.errors_kept {
        return Ok(kept);
    }
    let names = if rules.tools_kept.is_empty() { HashMap::new() } else { tool_names(job, reader)? };
    let is_kept = |call: &CallId| names.get(call).is_some_and(|name| rules.tools_kept.contains(name));
    for (id, ..) in job.context.message_slots() {
        let Some(item) = job.log.item(id).filter(|item| !item.answers.is_empty()) else { continue };
        if item.answers.iter().any(is_kept) || (rules.errors_kept && has_error(reader, id)?) {
            kept.insert(id);
        }
    }
    Ok(kept)
}

fn tool_names(job: &Job<'_>, reader: LogReader<'_>) -> Result<HashMap<CallId, String>, ArchiveError> {
    let mut names = HashMap::new();
    for (id, ..) in job.context.message_slots() {
        if job.log.item(id).is_some_and(|item| !item.calls.is_empty()) {
            let message = reader.archive.message(id)?;
            names.extend(message.calls().map(|call| (call.id.clone(), call.name.to_string())));
        }
    }
    Ok(names)
}

fn has_error(reader: LogReader<'_>, id: EntryId) -> Result<bool, ArchiveError> {
    Ok(reader.archive.message(id)?.results().any(|result| result.is_error))
}

fn old_form(job: &Job<'_>, reader: LogReader<'_>, id: EntryId) -> Result<Form, ArchiveError> {
    let rules = &job.policy.prune;
    let Some(item) = job.log.item(id) else { return Ok(Form::WHOLE) };
    let sizes = job.sizes.of(id);
    let arguments = rules.arguments && has_long_arguments(job, reader, id)?;
    Ok(Form {
        results: rules.results && sizes.results >= rules.size_min,
        arguments,
        arguments_over: if arguments { rules.size_min } else { Tokens::ZERO },
        thinking: rules.thinking && item.role == Role::Assistant && sizes.thinking > Tokens::ZERO,
        images: rules.images && sizes.images > Tokens::ZERO,
        ..Form::WHOLE
    })
}

/// Whether some call's arguments alone are large; short ones of the same reply are left as they are.
fn has_long_arguments(job: &Job<'_>, reader: LogReader<'_>, id: EntryId) -> Result<bool, ArchiveError> {
    let least = job.policy.prune.size_min;
    if job.sizes.of(id).calls <= least {
        return Ok(false);
    }
    Ok(reader.archive.message(id)?.calls().any(|call| job.measure.text(&call.input) > least))
}

/// Results of reading a file, or a part of it, that was read again or written later on.
fn stale_reads(job: &Job<'_>, reader: LogReader<'_>) -> Result<HashSet<EntryId>, ArchiveError> {
    let mut reads: HashMap<String, Vec<(Option<String>, EntryId)>> = HashMap::new();
    let mut stale = HashSet::new();
    let mut ledger = ledger::ReadTracker::default();
    for (id, ..) in job.context.message_slots() {
        for touched in ledger.take(id, &*reader.archive.message(id)?) {
            match touched {
                ledger::FileTouch::Read { path, part, result } => {
                    let earlier = reads.entry(path).or_default();
                    // The whole file stands for any part of it; a part stands for the same part.
                    let is_covered = |known: &Option<String>| part.is_none() || *known == part;
                    let covered = earlier.extract_if(.., |(known, _)| is_covered(known));
                    stale.extend(covered.map(|(_, shown)| shown).filter(|&shown| shown != result));
                    earlier.push((part, result));
                }
                ledger::FileTouch::Written { path } => {
                    let earlier = reads.remove(&path).unwrap_or_default();
                    stale.extend(earlier.into_iter().map(|(_, shown)| shown));
                }
            }
        }
    }
    Ok(stale)
}

fn weigh(job: &Job<'_>, reader: LogReader<'_>, forms: Vec<(EntryId, Form)>) -> Result<Pruning, ArchiveError> {
    let mut tokens = job.context.tokens();
    let mut worth = Vec::with_capacity(forms.len());
    for (id, wanted) in forms {
        let (form, size) = job.context.form_of(id, job.sizes);
        let after = shown_tokens(id, form.and(wanted), reader)?;
        if after < size {
            tokens = tokens.less(size) + after;
            worth.push((id, wanted));
        }
    }
    Ok(Pruning { edit: Edit { forms: worth }, tokens })
}
