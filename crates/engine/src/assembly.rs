//! The one place where a window, a counter and a budget are chosen for a session: from its policy, what is known
//! of its model, and what a request, a transcript or a provider's refusal says.

use crate::calibration::SharedCalibration;
use crate::count::measure_for;
use crate::fixed_size::FixedSize;
use crate::timeline::Lens;
use epitome_core::policy::CountText;
use epitome_core::{Archive, Budget, Measure, Policy, Scale, Tokens, is_window};
use epitome_tokens as tokens;
use epitome_tokens::Counter;
use serde::Serialize;
use std::sync::Arc;

/// Everything that decides how much room a session has, and how it is counted.
#[derive(Clone)]
pub struct Assembly {
    policy: Arc<Policy>,
    model: tokens::ModelSpec,
    counter: Counter,
    measure: Arc<dyn Measure>,
    count_method: Arc<str>,
    sizes_key: Arc<str>,
    known: WindowFacts,
    /// How the provider's count compares with ours.
    calibration: SharedCalibration,
    fixed: FixedSize,
    /// What a sender adds to each request that nobody here can see, in the provider's tokens.
    unrecorded: Tokens,
    /// The longest answer asked for; what the catalog says where nobody asked.
    output: Option<Tokens>,
    /// The budget of whoever brings their own.
    given: Option<Budget>,
}

impl std::fmt::Debug for Assembly {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { model, count_method, known, fixed, output, .. } = self;
        f.debug_struct("Assembly")
            .field("model", &model.id)
            .field("count_method", count_method)
            .field("known", known)
            .field("fixed", fixed)
            .field("output", output)
            .finish_non_exhaustive()
    }
}

/// What is known of a window beside the catalog and the policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WindowFacts {
    /// What somebody said for this run.
    pub stated: Option<Tokens>,
    /// What the provider lists for the model, or the transcript records.
    pub recorded: Option<Tokens>,
    /// What the transcript shows of it without saying so: see [`crate::WindowEvidence`].
    pub shown: Option<Tokens>,
    /// What the provider's refusals have taught, in its own tokens.
    pub learned: Option<Tokens>,
}

/// Where a window's figure comes from, most believed first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum WindowSource {
    /// Somebody stated it: a flag, `window.tokens`, an override of the catalog.
    Explicit,
    /// The provider said so when it refused a request.
    Learned,
    /// The provider lists it, or the transcript records it.
    Provider,
    /// The transcript shows it: its tool compacted by itself there, or a prompt as long was answered.
    Evidence,
    /// The catalog has it.
    Catalog,
    /// Nobody knows: it is the policy's guess.
    Guess,
}

/// A window and where its figure comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct WindowChoice {
    /// In tokens.
    pub tokens: Tokens,
    /// Where the figure comes from.
    pub from: WindowSource,
}

/// Nobody knows the window, and the policy makes no guess.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the window of `{model}` is not known, and `window.unknown` is not set; set `window.tokens`")]
pub struct NoWindow {
    /// The model.
    pub model: String,
}

/// What a provider says of a request it refused as too long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RefusalFigures {
    /// The limit it names.
    pub limit: Option<Tokens>,
    /// What it counted.
    pub requested: Option<Tokens>,
}

/// After a refusal that tells no numbers, what did not fit is taken to be a third more than what does.
const SHRINK_SHARE: (u64, u64) = (3, 4);
/// An answer's length where neither request nor catalog limit it.
const OUTPUT_TOKENS: Tokens = Tokens(8_192);

impl WindowChoice {
    /// The window to go by: explicit before learned before the provider's before what the transcript shows before the
    /// catalog's before a guess.
    ///
    /// # Errors
    /// Where nobody knows it and the policy makes no guess.
    pub fn of(policy: &Policy, model: &tokens::ModelSpec, known: &WindowFacts) -> Result<Self, NoWindow> {
        let row = &model.window_tokens;
        let catalog = |source| (row.source == source).then_some(Tokens(row.value));
        let explicit = known.stated.or(policy.window.tokens).or(catalog(tokens::SpecSource::Explicit));
        let all = [
            (explicit, WindowSource::Explicit),
            (catalog(tokens::SpecSource::Learned), WindowSource::Learned),
            (known.recorded, WindowSource::Provider),
            (known.shown, WindowSource::Evidence),
            (catalog(tokens::SpecSource::Catalog), WindowSource::Catalog),
            (policy.window.unknown, WindowSource::Guess),
        ];
        let best = all.into_iter().find_map(|(tokens, from)| Some(Self { tokens: tokens?, from }));
        let best = best.ok_or_else(|| NoWindow { model: model.id.clone() })?;
        let learned = known.learned.filter(|learned| is_window(*learned) && *learned < best.tokens);
        Ok(match learned {
            Some(tokens) => Self { tokens, from: WindowSource::Learned },
            None => best,
        })
    }

    /// The window as it is reported: nothing where it is a guess.
    pub fn reported(&self) -> Option<Tokens> {
        match self.from {
            WindowSource::Explicit
            | WindowSource::Learned
            | WindowSource::Provider
            | WindowSource::Evidence
            | WindowSource::Catalog => Some(self.tokens),
            WindowSource::Guess => None,
        }
    }
}

impl Assembly {
    /// What `policy` makes of a model and of what else is known.
    ///
    /// # Errors
    /// Where nobody knows the window and the policy makes no guess.
    pub fn new(policy: Arc<Policy>, model: tokens::ModelSpec, known: WindowFacts) -> Result<Self, NoWindow> {
        WindowChoice::of(&policy, &model, &known)?;
        let counter = Counter::for_model(&model);
        let (measure, count_method) = measure_for(&policy, &counter);
        let sizes_key = sizes_key(&policy, &counter);
        Ok(Self {
            policy,
            model,
            counter,
            measure,
            count_method,
            sizes_key,
            known,
            calibration: SharedCalibration::default(),
            fixed: FixedSize::Counted(Tokens::ZERO),
            unrecorded: Tokens::ZERO,
            output: None,
            given: None,
        })
    }

    /// Whether counter and window were chosen from these; what a request brings beside them is not compared.
    pub fn is_of(&self, policy: &Arc<Policy>, model: &tokens::ModelSpec, known: &WindowFacts) -> bool {
        Arc::ptr_eq(&self.policy, policy)
            && self.known == *known
            && self.model == *model
            && self.given.is_none()
    }

    /// Whether this is for another model than `other`, one with a smaller window.
    pub(crate) fn is_smaller_model_than(&self, other: &Self) -> bool {
        self.model.id != other.model.id && self.window().tokens < other.window().tokens
    }

    /// How `policy` counts messages of `model`, and the name of that way: for whoever must count before the window
    /// is known, because what is counted says it.
    pub fn counting(policy: &Policy, model: &tokens::ModelSpec) -> (Arc<dyn Measure>, Arc<str>) {
        measure_for(policy, &Counter::for_model(model))
    }

    /// A session whose counter and budget are handed in, for whoever brings their own.
    pub fn of_parts(
        policy: Arc<Policy>,
        measure: Arc<dyn Measure>,
        count_method: &str,
        budget: Budget,
    ) -> Self {
        let model = tokens::ModelSpec::guess("");
        let known = WindowFacts { stated: Some(budget.window), ..WindowFacts::default() };
        Self {
            policy,
            counter: Counter::for_model(&model),
            model,
            measure,
            count_method: count_method.into(),
            sizes_key: count_method.into(),
            known,
            calibration: SharedCalibration::default(),
            fixed: FixedSize::Counted(budget.scale.ours(budget.fixed)),
            unrecorded: budget.unrecorded,
            output: None,
            given: Some(budget),
        }
    }

    /// The same with what is known of how the endpoint counts, shared with other sessions.
    #[must_use]
    pub fn with_calibration(self, calibration: SharedCalibration) -> Self {
        Self { calibration, ..self }
    }

    /// What is learned of how the provider counts. A policy that counts by another system's rule wants that system's
    /// figures as they are, and they say nothing of our own: then there is none.
    pub(crate) fn calibration(&self) -> Option<&SharedCalibration> {
        match self.policy.count.text {
            CountText::Model => Some(&self.calibration),
            CountText::QuarterChars | CountText::QuarterUtf16 | CountText::Cl100k | CountText::Larger => None,
        }
    }

    /// How the provider's count compares with ours.
    fn scale(&self) -> Scale {
        self.calibration().map(SharedCalibration::scale).unwrap_or_default()
    }

    /// How to compact.
    pub fn policy(&self) -> &Arc<Policy> {
        &self.policy
    }

    /// The model the session is held with.
    pub fn model(&self) -> &tokens::ModelSpec {
        &self.model
    }

    /// How to count.
    pub fn measure(&self) -> &Arc<dyn Measure> {
        &self.measure
    }

    /// The name of that way of counting.
    pub fn count_method(&self) -> &Arc<str> {
        &self.count_method
    }

    /// All that what a message takes depends on, pictures and framing included: sizes are kept under it.
    pub fn sizes_key(&self) -> &Arc<str> {
        &self.sizes_key
    }

    /// What a timeline reads a log with whose originals are in `archive`.
    pub fn lens<'a>(&'a self, archive: &'a dyn Archive) -> Lens<'a> {
        let (guard, trigger) = (&self.policy.guard, &self.policy.trigger);
        Lens { measure: &*self.measure, archive, guard, trigger, model: &self.model.id }
    }

    /// The window, and who says so.
    pub fn window(&self) -> WindowChoice {
        let guess =
            WindowChoice { tokens: Tokens(self.model.window_tokens.value), from: WindowSource::Guess };
        WindowChoice::of(&self.policy, &self.model, &self.known).unwrap_or(guess)
    }

    /// The room there is, as the policy sees it.
    pub fn budget(&self) -> Budget {
        let (scale, window) = (self.scale(), self.window().tokens);
        let fixed = self.fixed.theirs(scale);
        if let Some(given) = self.given {
            return Budget { window, fixed, scale, ..given }.under(&self.policy);
        }
        let prompt_max = self.model.input_tokens_max.as_ref().map(|most| Tokens(most.value));
        let budget = Budget::new(window, fixed, self.output());
        let budget = budget.with_prompt_max(prompt_max).with_scale(scale).under(&self.policy);
        budget.with_unrecorded(self.unrecorded)
    }

    fn output(&self) -> Tokens {
        let catalog = self.model.output_tokens_max.as_ref().map(|most| Tokens(most.value));
        let most = catalog.unwrap_or(OUTPUT_TOKENS).max(Tokens(1));
        match (self.output, catalog) {
            (Some(asked), Some(_)) => asked.min(most),
            (Some(asked), None) => asked,
            (None, _) => most,
        }
    }

    /// The longest answer to ask for where nobody says and a protocol wants to be told: as long as the model writes, and as
    /// there is room for beside the longest prompt that is sent without being compacted.
    pub fn answer_max(&self) -> Tokens {
        let budget = self.budget();
        let beside = budget.window.less(budget.trigger_point(&self.policy));
        self.output().min(beside.max(OUTPUT_TOKENS))
    }

    /// What a system prompt and tool definitions take.
    pub fn count_fixed(&self, system: &[Arc<str>], tools: &[Arc<str>]) -> Tokens {
        let tools: Vec<&str> = tools.iter().map(AsRef::as_ref).collect();
        let system: Tokens = system.iter().map(|text| self.measure.text(text)).sum();
        system + Tokens(self.counter.count_tools(&tools))
    }

    /// Takes up what a request brings beside its history: what stands before it, and the answer it asks for.
    pub fn set_request(&mut self, fixed: Tokens, output: Option<Tokens>) {
        (self.fixed, self.output) = (FixedSize::Counted(fixed), output);
        self.given = None;
    }

    /// Takes somebody's word for what stands before the history, in the provider's tokens.
    pub fn state_fixed(&mut self, tokens: Tokens) {
        self.fixed = FixedSize::Stated(tokens);
    }

    /// Takes up what a sender adds to each request that its transcript does not record, in the provider's tokens.
    pub fn state_unrecorded(&mut self, tokens: Tokens) {
        self.unrecorded = tokens;
    }

    /// What stands before the history, by our own count.
    pub fn fixed_counted(&self) -> Tokens {
        self.fixed.ours(self.scale())
    }

    /// Uses another policy, and its way of counting; whether that is another way than before.
    ///
    /// # Errors
    /// Where nobody knows the window and that policy makes no guess; the old one stays.
    pub fn set_policy(&mut self, policy: Arc<Policy>) -> Result<bool, NoWindow> {
        WindowChoice::of(&policy, &self.model, &self.known)?;
        if policy.count != self.policy.count {
            (self.measure, self.count_method) = measure_for(&policy, &self.counter);
            self.sizes_key = sizes_key(&policy, &self.counter);
        }
        let is_other = policy.count != self.policy.count;
        self.policy = policy;
        Ok(is_other)
    }

    /// Learns from a refusal of a request that takes `counted` by our count: the window that the provider names, and how
    /// its count compares with ours. The window now, where that is another. Where its count is not to be believed, the
    /// window is taken to be as much smaller as our count of the refused request was below it.
    pub fn learn(&mut self, counted: Tokens, figures: RefusalFigures) -> Option<Tokens> {
        let limit = figures.limit.filter(|tokens| is_window(*tokens)).unwrap_or(self.window().tokens);
        let theirs = |ours: Tokens| self.scale().theirs(ours);
        let is_learned =
            |requested| self.calibration().is_some_and(|it| it.learn_refusal(requested, counted));
        let window = match figures.requested.filter(|tokens| is_window(*tokens)) {
            Some(requested) if is_learned(requested) => limit,
            Some(requested) => theirs(limit.share(counted.0, requested.0)),
            None => theirs(counted.share(SHRINK_SHARE.0, SHRINK_SHARE.1)),
        };
        self.learn_window(window.min(limit))
    }

    /// Learns a window, in the provider's tokens; it only ever becomes smaller. The window now, where it has.
    pub fn learn_window(&mut self, window: Tokens) -> Option<Tokens> {
        if !is_window(window) || window >= self.window().tokens {
            return None;
        }
        self.known.learned = Some(window);
        Some(window)
    }
}

fn sizes_key(policy: &Policy, counter: &Counter) -> Arc<str> {
    format!("{:?} {counter:?}", policy.count).into()
}

/// What a policy's points come to in a budget, in tokens of the whole request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Thresholds {
    /// The window, as the policy sees it.
    pub window: Tokens,
    /// Kept free for the answer.
    pub reserve: Tokens,
    /// Where compaction is due.
    pub trigger: Tokens,
    /// What it comes down to, fixed parts included; nothing where the strategy decides.
    pub target: Option<Tokens>,
    /// Where the early warning comes.
    pub approaching: Option<Tokens>,
    /// Where a summary is begun before it is needed.
    pub speculate: Option<Tokens>,
    /// The newest part that pruning leaves alone.
    pub protect: Option<Tokens>,
    /// The newest tool results that pruning leaves alone.
    pub protect_results: Option<Tokens>,
}

impl Thresholds {
    /// The points of `policy` in `budget`.
    pub fn of(policy: &Policy, budget: &Budget) -> Self {
        let budget = budget.under(policy);
        let trigger = budget.trigger_point(policy);
        let in_window = |point: Option<epitome_core::Threshold>| point.map(|point| point.of(budget.window));
        Self {
            window: budget.window,
            reserve: budget.reserve,
            trigger,
            target: policy.trigger.target.map(|_| budget.request(budget.target(policy))),
            approaching: in_window(policy.trigger.approaching),
            speculate: policy.speculate.enabled.then(|| trigger.less(speculation_lead(policy, trigger))),
            protect: in_window(policy.prune.protect),
            protect_results: policy.prune.protect_results,
        }
    }
}

/// How far before the trigger a summary is begun at the most.
pub(crate) fn speculation_lead(policy: &Policy, trigger: Tokens) -> Tokens {
    let rule = &policy.speculate;
    rule.lead.of(trigger).clamp(rule.lead_min, rule.lead_max)
}

#[cfg(test)]
mod tests;
