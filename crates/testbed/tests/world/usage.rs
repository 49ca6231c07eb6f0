//! What the provider counts, and what it says of that: the truth, too much, too little, nothing.

use crate::World;
use epitome_core::Tokens;
use epitome_core::policy::MeasureBy;
use epitome_engine::FigureSource;
use epitome_tokens::Usage;

/// Below this much a figure is believed however far it is from ours.
const TRUST_TOKENS_MIN: u64 = 2_000;

impl World {
    /// Whether the provider finds the request too long; now and then it says so for no reason.
    pub(crate) fn overflows(&mut self) -> bool {
        self.provider_count() > self.bed.session.budget().window.0 || self.dice.below(40) == 0
    }

    /// What the provider counts for the request.
    pub(crate) fn provider_count(&self) -> u64 {
        let session = &self.bed.session;
        (session.assembly().fixed_counted() + session.context().tokens()).0 * self.provider_percent / 100
    }

    /// The provider says what a call took, in one of the ways providers do.
    pub(crate) fn report_usage(&mut self, prompt: u64, output: u64) {
        let (what, usage) = match self.dice.below(10) {
            0..4 => ("usage: true", Usage { prompt, output, ..Usage::default() }),
            4 => ("usage: too high", Usage { prompt: prompt * 4, output, ..Usage::default() }),
            5 => ("usage: too low", Usage { prompt: prompt / 4, output: output / 4, ..Usage::default() }),
            6 => ("usage: nothing", Usage::default()),
            _ => return self.seen.push("usage: none"),
        };
        self.seen.push(what);
        let before = self.bed.session.figure();
        self.bed.session.record_usage(usage).expect("all is in memory");
        self.check_figure(before, usage);
    }

    /// What was told is the figure that the policy measures by, unless it is nothing, or not to be believed.
    fn check_figure(&mut self, before: (Tokens, FigureSource), usage: Usage) {
        let session = &self.bed.session;
        let told = Tokens(usage.prompt + usage.output);
        let count = session.budget().request(session.context().tokens());
        let ours = session.assembly().fixed_counted() + session.context().tokens();
        let is_far = told.0 > 2 * ours.0 || ours.0 > 2 * told.0;
        let measure = session.policy().trigger.measure;
        let is_odd = measure == MeasureBy::Floor && told.0 > TRUST_TOKENS_MIN && is_far;
        // Well over our count it may be taken for a sum of several calls, by what the provider said before.
        let may_be_sum = measure == MeasureBy::Floor && 4 * told.0 > 5 * ours.0;
        if may_be_sum && session.figure() == before {
            return;
        }
        let expected = match measure {
            MeasureBy::Count => count,
            MeasureBy::Usage | MeasureBy::Hybrid | MeasureBy::Floor if told.is_zero() || is_odd => before.0,
            MeasureBy::Usage | MeasureBy::Hybrid => told,
            MeasureBy::Floor => told.max(count),
        };
        assert_eq!(session.figure().0, expected, "seed {}: {usage:?} by {measure:?}", self.seed);
        if is_odd && !told.is_zero() {
            self.seen.push("usage not believed");
        }
    }
}
