//! Whether a plan is worth carrying out: what it would free, and at whose expense.

use crate::finish::is_little;
use crate::keep::summary_min;
use crate::policy::Newest;
use crate::{Plan, Range, Trigger};

impl Plan<'_> {
    /// Why the context is left as it is though it is due: hardly anything would leave it. A context that does not fit is
    /// compacted for whatever there is.
    pub(crate) fn gains_too_little(&self) -> Option<String> {
        let job = &self.job;
        let before = job.context.tokens();
        let most = before.less(self.kept.tokens + summary_min(job));
        let is_urgent = job.circumstances.over.is_some() || !job.budget.fits(before);
        // A rule on messages or turns is obeyed for its own sake.
        let is_for_tokens = matches!(job.trigger, Trigger::Threshold | Trigger::Idle)
            && matches!(job.policy.keep.newest, Newest::Percent(_));
        (is_for_tokens && !is_urgent && is_little(most, before)).then(|| {
            format!("at most {most} of {before} tokens could be freed, less than a tenth: what is kept in any case takes the rest")
        })
    }

    /// Whether all that a person would get is somebody's summary in fewer words, of a context that is small already.
    pub(crate) fn rewrites_only(&self) -> bool {
        let job = &self.job;
        let is_asked = job.trigger.is_manual() && job.range == Range::All && self.changes.summary.is_none();
        let is_small = job.context.tokens() <= job.budget.target(job.policy);
        let keeps_all = self.leaving().is_empty()
            && !self.kept.forms.iter().any(|(_, form)| form.shorten.is_some() || form.results);
        let has_summary = job.context.summary(job.log).is_some();
        is_asked && is_small && keeps_all && has_summary && !self.edits_first()
    }
}
