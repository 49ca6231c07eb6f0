//! The messages a summary is made from and checked against, read once for a cut. What is made of them is left
//! to the summariser and to [`crate::verify`].

use crate::{
    Archive, ArchiveError, EntryId, Form, Job, Material, Original, Plan, Tokens, keep::KeepSelection,
    verify::ComparedMessages,
};
use std::collections::{HashMap, HashSet};

/// What [`Material`] borrows from.
pub(crate) struct MaterialSources<'a> {
    superseded: Vec<Original>,
    visible: Vec<Original>,
    addressable: Vec<EntryId>,
    /// Which of `visible` are shown as messages, and not told inside the summary.
    shown: HashSet<EntryId>,
    /// Summaries to be read as prose.
    prose: Vec<&'a str>,
    /// How many of them a model that is asked again takes up itself: its own prose, which is the last.
    taken_up: usize,
    /// How many messages that left view are too far back to be read again.
    pub unread: usize,
}

impl<'a> Plan<'a> {
    /// Reads what a summary of this plan is made from.
    pub(crate) fn sources(&self) -> Result<MaterialSources<'a>, ArchiveError> {
        self.job.digests.age();
        let readable = self.job.readable(&self.superseded);
        let unread = self.superseded.len() - readable.len();
        let forms = self.forms();
        let cut: Vec<EntryId> =
            self.visible.iter().copied().filter(|id| forms.get(id).is_some_and(Form::is_cut)).collect();
        let merged = |ids: &[EntryId]| {
            let mut all: Vec<EntryId> = ids.iter().chain(&cut).copied().collect();
            all.sort_unstable();
            all
        };
        let visible = self.read(&self.visible)?.into_iter().map(|(id, message)| {
            let form = forms.get(&id).copied().unwrap_or(Form::WHOLE);
            (id, form.apply(id, &message, self.job.measure))
        });
        let own = self.job.own_prose();
        Ok(MaterialSources {
            superseded: self.read(&merged(&readable))?,
            visible: visible.collect(),
            addressable: merged(&self.superseded),
            shown: self.kept.front.iter().chain(&self.kept.tail).copied().collect(),
            prose: self.job.prose().into_iter().chain(own).collect(),
            taken_up: own.iter().len(),
            unread,
        })
    }

    fn read(&self, ids: &[EntryId]) -> Result<Vec<Original>, ArchiveError> {
        Ok(ids.iter().copied().zip(self.originals.messages(ids)?).collect())
    }

    /// The form each message that stays will have, where it is not whole.
    fn forms(&self) -> HashMap<EntryId, Form> {
        let KeepSelection { folded, forms, uncut, .. } = &self.kept;
        let form_of = |id, form: Form| if uncut.contains(&id) { form.uncut() } else { form };
        let shown = self.job.context.message_slots().map(|(id, form, _)| (id, form_of(id, form)));
        let mut all: HashMap<EntryId, Form> = shown.filter(|(_, form)| *form != Form::WHOLE).collect();
        let told = folded.iter().filter(|(_, limit)| *limit < Tokens(u64::MAX));
        let told = told.map(|&(id, limit)| (id, Form { shorten: Some(limit), ..Form::WHOLE }));
        for (id, form) in forms.iter().copied().chain(told) {
            let known = all.entry(id).or_insert(Form::WHOLE);
            *known = known.and(form);
        }
        all
    }
}

impl MaterialSources<'_> {
    /// What a summary is made from, and checked against.
    pub(crate) fn material<'m>(&'m self, job: &'m Job<'_>) -> Material<'m> {
        Material {
            superseded: &self.superseded,
            addressable: &self.addressable,
            visible: &self.visible,
            earlier: Some(job.earlier.ledger),
            previous: &self.prose,
            focus: job.focus,
            measure: job.measure,
            digests: job.digests,
        }
    }

    /// The same for whoever writes beside a model's prose, into which the model has merged its own of before.
    pub(crate) fn beside_prose<'m>(&'m self, job: &'m Job<'_>) -> Material<'m> {
        Material { previous: &self.prose[..self.prose.len() - self.taken_up], ..self.material(job) }
    }

    /// The messages, to be compared with what is written of them.
    pub(crate) fn compared<'m>(&'m self, job: &'m Job<'_>) -> ComparedMessages<'m> {
        ComparedMessages::of(self.material(job), &self.shown)
    }
}
