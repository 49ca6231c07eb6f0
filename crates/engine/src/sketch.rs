//! A compaction before anyone is asked: what would leave, what would stay, how it would be tried, and
//! what that would take. The same plan, stopped at its first question.

use crate::compacting::Wish;
use crate::session::{EngineError, Session};
use epitome_core::{Body, Drafted, EntryId, Errand, Measure, Next, Plan, Request, Strategy, Tokens, Trigger};
use serde::Serialize;

/// What a compaction would set out to do.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sketch {
    /// The ways of making room, in the order they would be tried.
    pub strategies: Vec<Strategy>,
    /// What the history is to come down to.
    pub target: Tokens,
    /// Messages that would leave view.
    pub leaving: Vec<EntryId>,
    /// Messages that would stay in view.
    pub staying: Vec<EntryId>,
    /// Calls of a model, where one would be asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<SketchedCalls>,
}

/// The calls a summary would take if each went well at once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
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

impl Session {
    /// What a compaction would set out to do; none where there is nothing to do. Nobody is asked, hooks
    /// included, and the session stays as it is.
    pub fn sketch(&self, trigger: Trigger, wish: &Wish) -> Result<Option<Sketch>, EngineError> {
        let mut job = self.job(trigger, wish.moment);
        job.means.hooks = false;
        let Drafted::Plan(plan) = Plan::draft(job)? else { return Ok(None) };
        let mut sketch = Sketch {
            strategies: plan.strategies().to_vec(),
            target: plan.target,
            leaving: plan.leaving(),
            staying: plan.kept.before.iter().chain(&plan.kept.tail).copied().collect(),
            calls: None,
        };
        sketch.calls = match plan.begin()? {
            Next::Call(errand) => Some(self.calls_of(&errand)),
            Next::Consult(_) | Next::Summarize(_) | Next::Delegate(_) | Next::Await(_) | Next::Done(_) => {
                None
            }
        };
        Ok(Some(sketch))
    }

    fn calls_of(&self, errand: &Errand<'_>) -> SketchedCalls {
        let measure = &*self.setup().measure;
        let (now, all) = (errand.requests(), errand.calls_left() as u64);
        let of_all = |tokens: Tokens| tokens.share(all, (now.len() as u64).max(1));
        SketchedCalls {
            summarizer: self
                .setup()
                .asks
                .model
                .as_ref()
                .map_or_else(String::new, |model| model.name().into()),
            calls: all,
            input: of_all(now.iter().map(|request| size_of(request, measure)).sum()),
            output_max: of_all(now.iter().map(|request| request.output_max).sum()),
        }
    }
}

/// What a request takes, by our count.
fn size_of(request: &Request, measure: &dyn Measure) -> Tokens {
    let body = match &request.body {
        Body::Text(text) => measure.text(text),
        Body::Messages { messages, instruction } | Body::Prefix { messages, instruction } => {
            let said: Tokens = messages.iter().map(|message| measure.sizes(message).total()).sum();
            said + measure.text(instruction)
        }
    };
    measure.text(&request.system) + body
}
