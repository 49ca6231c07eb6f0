//! What a compaction would do, with nothing appended: a sketch, for which nobody is asked, and a preview, for which
//! everybody is but the operator. Both are the way a compaction goes, stopped early.

use super::{CompactOptions, Driver};
use crate::error::EngineError;
use crate::ports::{BoxFuture, Operator};
use crate::session::{PlanOptions, Session};
use epitome_core::{
    CheckpointView, Decision, EntryId, ModelQuestion, Next, Plan, PlanDraft, Record, Strategy, Tokens,
    Trigger,
};
use serde::Serialize;
use std::sync::Arc;

/// What a compaction would set out to do.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PlanSketch {
    /// The ways of making room, in the order they would be tried.
    pub strategies: Vec<Strategy>,
    /// What the history is to come down to, in the provider's tokens.
    pub target: Tokens,
    /// Messages that would leave view.
    pub leaving: Vec<EntryId>,
    /// Messages that would stay: in view, but for those in `folded`.
    pub staying: Vec<EntryId>,
    /// Of these, the ones that are out of view now.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub returning: Vec<EntryId>,
    /// Of these, the ones that would be told inside the summary.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub folded: Vec<EntryId>,
    /// Calls of a model, where one would be asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<SketchedCalls>,
}

/// The calls a summary would take if each went well at once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SketchedCalls {
    /// Who would be asked.
    pub summarizer: String,
    /// How many calls.
    pub calls: u64,
    /// What all of them would send, by our count; an estimate where there are several.
    pub input: Tokens,
    /// What all of them may answer.
    pub output_max: Tokens,
}

impl Driver {
    /// What a compaction would come to, with nothing appended. Models and hooks are asked as for a real one, and
    /// an operator counts as agreeing.
    pub async fn preview(
        &self,
        session: &Session,
        trigger: Trigger,
        options: CompactOptions,
    ) -> Result<Arc<Record>, EngineError> {
        let mut copy = session.clone();
        let mut approving = self.clone();
        approving.ports.operator = Some(Arc::new(ApproveAll));
        let mut conclusion = approving.conclusion(&mut copy, trigger, options).await?;
        copy.judge_progress(&mut conclusion);
        copy.conclude(conclusion)
    }

    /// What a compaction would set out to do; none where there is nothing to do. Nobody is asked, hooks
    /// included, and the session stays as it is.
    pub fn sketch(
        &self,
        session: &Session,
        trigger: Trigger,
        options: CompactOptions,
    ) -> Result<Option<PlanSketch>, EngineError> {
        let mut available = self.available();
        available.hooks = false;
        let asked = PlanOptions { available, range: options.range, circumstances: options.circumstances };
        let PlanDraft::Plan(plan) = Plan::draft(session.job(trigger, asked))? else { return Ok(None) };
        let mut sketch = PlanSketch {
            strategies: plan.strategies().to_vec(),
            target: plan.target(),
            leaving: plan.leaving().into_iter().filter(|id| plan.kept().binary_search(id).is_err()).collect(),
            staying: plan.kept().to_vec(),
            returning: out_of_view(session, plan.kept()),
            folded: plan.folded_ids(),
            calls: None,
        };
        // Beginning a plan reads what it covers; that is worth it only where a model would be paid for it.
        if self.ports.model.is_some()
            && let Next::Call(question) = plan.begin()?
        {
            sketch.calls = Some(self.calls_of(session, &question));
        }
        Ok(Some(sketch))
    }

    fn calls_of(&self, session: &Session, question: &ModelQuestion<'_>) -> SketchedCalls {
        let measure = &**session.assembly().measure();
        let (now, all) = (question.requests(), question.calls_left() as u64);
        let of_all = |tokens: Tokens| tokens.share(all, (now.len() as u64).max(1));
        let name = self.ports.model.as_ref().map(|asked| asked.model.name().to_owned());
        SketchedCalls {
            summarizer: name.unwrap_or_default(),
            calls: all,
            input: of_all(now.iter().map(|request| request.tokens(measure)).sum()),
            output_max: of_all(now.iter().map(|request| request.output_max).sum()),
        }
    }
}

/// An operator who agrees to everything, for previews.
struct ApproveAll;

impl Operator for ApproveAll {
    fn decide(&self, _: CheckpointView) -> BoxFuture<'_, Decision> {
        Box::pin(std::future::ready(Decision::Approve))
    }
}

/// Those of `kept`, which are in order, that are not shown now: looked up among them, being few, and not in what may be a
/// long context.
fn out_of_view(session: &Session, kept: &[EntryId]) -> Vec<EntryId> {
    let mut is_shown = vec![false; kept.len()];
    for (id, ..) in session.context().message_slots() {
        if let Ok(at) = kept.binary_search(&id) {
            is_shown[at] = true;
        }
    }
    kept.iter().zip(is_shown).filter(|(_, is_shown)| !is_shown).map(|(id, _)| *id).collect()
}
