//! Making room without removing a message: the bulk of old ones gives way to pointers, and harness
//! texts said again later give way to their newest copy.

use crate::context::shown_tokens;
use crate::policy::Prune;
use crate::{ArchiveError, Author, Block, Edit, EntryId, Form, Job, Role, Slot, Tokens, ledger};
use std::collections::{HashMap, HashSet};

/// An edit and what the context takes after it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pruning {
    /// Each message with its new form.
    pub edit: Edit,
    /// What the context takes then.
    pub tokens: Tokens,
}

/// Repeated harness texts: all but the newest copy give way to a pointer.
pub(crate) fn trim(job: &Job<'_>) -> Result<Pruning, ArchiveError> {
    let mut newest: HashMap<Vec<Block>, EntryId> = HashMap::new();
    let mut forms = Vec::new();
    for (id, form, tokens) in job.context.message_slots() {
        let is_harness = job.log.item(id).is_some_and(|item| {
            item.author == Author::Harness && item.answers.is_empty() && item.calls.is_empty()
        });
        if !is_harness || form.repeated || tokens < job.policy.prune.size_min || job.pins.contains(&id) {
            continue;
        }
        if let Some(older) = newest.insert(job.archive.message(id)?.blocks.clone(), id) {
            forms.push((older, Form { repeated: true, ..Form::WHOLE }));
        }
    }
    weigh(job, forms)
}

/// The bulk of messages older than the protected part, by what the policy lets pruning touch.
pub(crate) fn prune(job: &Job<'_>) -> Result<Pruning, ArchiveError> {
    let rules = &job.policy.prune;
    let protected = protected_from(job);
    let stale = if rules.superseded_reads { stale_reads(job)? } else { HashSet::new() };
    let untouched = [job.first_said(), job.newest_said()];
    let mut forms = Vec::new();
    for (at, slot) in job.context.slots().iter().enumerate() {
        let Slot::Message { id, form } = slot else { continue };
        if untouched.contains(&Some(*id)) || job.pins.contains(id) {
            continue;
        }
        let wanted = if at < protected { old_form(job, *id, rules) } else { Form::WHOLE };
        let wanted =
            if stale.contains(id) { wanted.and(Form { results: true, ..Form::WHOLE }) } else { wanted };
        if form.and(wanted) != *form {
            forms.push((*id, wanted));
        }
    }
    weigh(job, forms)
}

/// The first slot that pruning leaves alone: what is newer takes at most the protected amount, and
/// an exchange is protected whole.
fn protected_from(job: &Job<'_>) -> usize {
    let most = job.policy.prune.protect.map(|protect| protect.of(job.budget.window)).unwrap_or_default();
    crate::find_cut(job.context, crate::Keep::Tokens(most))
        .map_or(0, |cut| cut.slot(job.context.slots().len()))
}

fn old_form(job: &Job<'_>, id: EntryId, rules: &Prune) -> Form {
    let Some(item) = job.log.item(id) else { return Form::WHOLE };
    let large = |size: Tokens| size >= rules.size_min;
    Form {
        results: rules.results && large(item.sizes.results),
        arguments: rules.arguments && large(item.sizes.calls),
        thinking: rules.thinking && item.role == Role::Assistant && item.sizes.thinking > Tokens::ZERO,
        images: rules.images && item.sizes.images > Tokens::ZERO,
        ..Form::WHOLE
    }
}

/// Results of reading a file that was read again whole, or written, later on.
fn stale_reads(job: &Job<'_>) -> Result<HashSet<EntryId>, ArchiveError> {
    let mut reads: HashMap<String, Vec<EntryId>> = HashMap::new();
    let mut stale = HashSet::new();
    let mut ledger = ledger::Reads::default();
    for (id, ..) in job.context.message_slots() {
        for touched in ledger.take(id, &*job.archive.message(id)?) {
            match touched {
                ledger::Touched::Read { path, result } => reads.entry(path).or_default().push(result),
                ledger::Touched::Written { path } => stale.extend(reads.remove(&path).unwrap_or_default()),
            }
        }
    }
    for results in reads.into_values() {
        stale.extend(&results[..results.len() - 1]);
    }
    Ok(stale)
}

fn weigh(job: &Job<'_>, forms: Vec<(EntryId, Form)>) -> Result<Pruning, ArchiveError> {
    let mut tokens = job.context.tokens();
    let mut worth = Vec::with_capacity(forms.len());
    for (id, wanted) in forms {
        let Some((item, (form, size))) = job.log.item(id).zip(job.context.form_of(job.log, id)) else {
            continue;
        };
        let after = shown_tokens(item, id, form.and(wanted), job.measure, job.archive)?;
        if after < size {
            tokens = tokens.less(size) + after;
            worth.push((id, wanted));
        }
    }
    Ok(Pruning { edit: Edit { forms: worth }, tokens })
}
