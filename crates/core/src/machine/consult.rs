//! The question for hooks: what they are told before a compaction, and the merging of their
//! verdicts into the plan. Calling them within a deadline is the engine's.

use super::Next;
use crate::plan::Plan;
use crate::record::Outcome;
use crate::verdict::{
    HookAnswer, HookRun, HookSummary, PlanChanges, SUPPLIES_SUMMARY, UpcomingCompaction, Verdict,
};
use crate::{ArchiveError, EntryId, Slot, Trigger};

/// A question for the hooks.
pub struct Consultation<'a> {
    plan: Plan<'a>,
}

impl<'a> Consultation<'a> {
    pub(super) fn new(plan: Plan<'a>) -> Self {
        Self { plan }
    }

    /// What hooks are told.
    pub fn event(&self) -> UpcomingCompaction {
        let (plan, job) = (&self.plan, &self.plan.job);
        UpcomingCompaction {
            ordinal: job.compactions.len() as u32 + 1,
            trigger: job.trigger,
            is_recovery: job.trigger == Trigger::Overflow,
            strategy: plan.first_cut(),
            tokens: job.budget.request(job.context.tokens()),
            window: job.budget.window,
            target: plan.target(),
            leaving: plan.leaving(),
            staying: plan.staying(),
            cut_turn: plan.cut_turn(),
            previous: job.context.summary(job.log).map(|(_, text)| text.clone()),
            focus: job.focus.map(str::to_owned),
        }
    }

    /// Takes what the hooks said. One veto is enough; every other verdict is checked like a plan of our own.
    pub fn answer(self, answers: Vec<HookAnswer>) -> Result<Next<'a>, ArchiveError> {
        let mut plan = self.plan;
        plan.changes.is_asked = true;
        let mut veto = None;
        for HookAnswer { name, duration_ms, result } in answers {
            let told = match result {
                Err(why) => format!("failed: {why}"),
                Ok(None) => "nothing to say".into(),
                Ok(Some(Verdict::Veto { why })) => {
                    let told = format!("veto: {why}");
                    veto.get_or_insert((name.to_string(), why));
                    told
                }
                Ok(Some(Verdict::Proceed(changes))) => plan.grant(&name, changes),
            };
            plan.progress.hooks.push(HookRun { name, duration_ms, told });
        }
        if let Some((by, why)) = veto {
            return Ok(Next::Done(plan.conclude(Outcome::Vetoed { by, why })));
        }
        plan.begin()
    }
}

impl Plan<'_> {
    /// Takes up what a hook wants, as far as that is sound; says what came of it.
    fn grant(&mut self, name: &str, changes: PlanChanges) -> String {
        let PlanChanges { retain, inject, guidance, summary } = changes;
        let mut told = Vec::new();
        if !retain.is_empty() {
            told.push(self.retain(retain));
        }
        if let Some(text) = inject {
            let (text, note) = self.within_budget(text);
            self.changes.inject.push(text);
            told.push(format!("injects text{note}"));
        }
        if let Some(text) = guidance {
            let (text, note) = self.within_budget(text);
            self.changes.guidance.push(text);
            told.push(format!("guides the summariser{note}"));
        }
        if let Some(supplied) = summary {
            told.push(self.supply(name, supplied));
        }
        if told.is_empty() { "nothing to say".into() } else { told.join("; ") }
    }

    /// Hook output has a budget: it must not refill what is being emptied. Says so where it was cut.
    fn within_budget(&self, text: String) -> (String, &'static str) {
        let head = self.job.measure.head(&text, self.job.policy.guard.hook_tokens_max);
        if head.len() < text.len() { (head.to_owned(), " (cut to its limit)") } else { (text, "") }
    }

    fn retain(&mut self, ids: Vec<EntryId>) -> String {
        let (known, unknown): (Vec<_>, Vec<_>) =
            ids.into_iter().partition(|id| self.job.history.binary_search(id).is_ok());
        let told = match unknown.first() {
            Some(first) => {
                format!(
                    "retains {}, refused {} that are not in this history ({first}…)",
                    known.len(),
                    unknown.len()
                )
            }
            None => format!("retains {}", known.len()),
        };
        self.changes.pins.extend(known);
        self.cut_for = None;
        told
    }

    /// A summary of the hook's own stands, if its kept part is on the branch and splits no exchange.
    fn supply(&mut self, name: &str, supplied: HookSummary) -> String {
        if supplied.text.trim().is_empty() {
            return "refused: its summary is empty".into();
        }
        if let Some(why) = supplied.keep_from.and_then(|id| self.refusal(id)) {
            return format!("refused: {why}");
        }
        if self.changes.summary.is_none() {
            self.changes.summary = Some((name.to_owned(), supplied));
            self.cut_for = None;
            return SUPPLIES_SUMMARY.into();
        }
        "its summary is not needed: another hook supplied one".into()
    }

    /// Why a context cannot be cut in front of `id`.
    fn refusal(&self, id: EntryId) -> Option<String> {
        let context = self.job.context;
        let is_slot = |slot: &Slot| matches!(slot, Slot::Message { id: known, .. } if *known == id);
        let Some(at) = context.slots().iter().position(is_slot) else {
            return Some(format!("{id} is not in view on this branch"));
        };
        let is_between = context.units().binary_search(&(at as u32)).is_ok();
        (!is_between).then(|| format!("a cut at {id} would split an exchange"))
    }
}
