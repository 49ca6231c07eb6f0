//! How much room a conversation has: what its request takes beside the history, and what was learned of the
//! window when the provider said it was full.

use super::{Asked, Conversation, Rebuilt};
use crate::reading;
use epitome_core::{Budget, Measure, Tokens};
use epitome_engine::{EngineError, Recovery};
use epitome_wire::Fixed;
use epitome_wire::overflow::{Numbers, RequestFacts};

/// The answer's length where neither request nor catalog limit it.
const OUTPUT_TOKENS: u64 = 8_192;
/// After an overflow that tells no numbers, what did not fit is taken to be a third more than what does.
const SHRINK_SHARE: (u64, u64) = (3, 4);

impl Conversation {
    /// Sets the budget by what this request brings beside its messages.
    pub(super) fn give_room(&mut self, asked: &Asked<'_>) {
        let full_at = self.tally().full_at.take();
        self.window = full_at.map_or(self.window, |full| self.window.min(full));
        let fixed = reading::fixed(self.protocol, asked.body, asked.opening);
        let most = self.model.output_tokens_max.map_or(OUTPUT_TOKENS, |most| most.value);
        let output = fixed.max_tokens.unwrap_or(most).min(most.max(1));
        let prompt_max = self.model.input_tokens_max.map(|most| Tokens(most.value));
        let tokens = self.count_fixed(&fixed);
        let budget = Budget::new(self.window, tokens, Tokens(output)).with_prompt_max(prompt_max);
        if self.session.setup().budget != budget {
            self.session.set_budget(budget);
        }
    }

    /// What system prompt and tools take; counted anew only where they changed.
    fn count_fixed(&mut self, fixed: &Fixed) -> Tokens {
        let mut hasher = blake3::Hasher::new();
        for part in fixed.system.iter().chain(&fixed.tools) {
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
        }
        let hash = hasher.finalize();
        if let Some((_, tokens)) = self.fixed.filter(|(known, _)| *known == hash) {
            return tokens;
        }
        let tools: Vec<&str> = fixed.tools.iter().map(AsRef::as_ref).collect();
        let system: Tokens = fixed.system.iter().map(|text| self.gauge.text(text)).sum();
        let tokens = system + Tokens(self.gauge.0.count_tools(&tools));
        self.fixed = Some((hash, tokens));
        tokens
    }

    /// Makes room after the provider refused a request as too long; none where no more can be done.
    pub(crate) async fn recover(&mut self, told: Numbers) -> Result<Option<Rebuilt>, EngineError> {
        let (budget, tokens) = self.room();
        self.window = learned_window(self.window, budget.fixed + tokens, told);
        let reserve = budget.reserve.min(self.window.share(1, 4));
        self.session.set_budget(Budget { window: self.window, reserve, ..budget });
        let recovered = self.session.recover(told.gap()).await;
        let rebuilt = self.settle(recovered.map(|recovery| match recovery {
            Recovery::Retry(report) => Some(*report),
            Recovery::Surface { .. } => None,
        }))?;
        self.tally().recoveries += u64::from(rebuilt.is_some());
        Ok(rebuilt)
    }

    /// About what the messages behind the newest one taken up will take.
    pub(crate) fn count_input(&self, asked: &Asked<'_>) -> Tokens {
        let places = asked.opening + self.len()..asked.body.len();
        places.map(|at| self.gauge.text(asked.body.element(at))).sum()
    }

    /// What we know of the size of its next request.
    pub(crate) fn known(&self) -> RequestFacts {
        let (budget, tokens) = self.room();
        RequestFacts { estimate: Some(budget.fixed + tokens), window: Some(budget.window), largest: None }
    }
}

/// The window on our scale: what the provider calls its limit, as much smaller as our count of the refused
/// request was below the provider's.
fn learned_window(window: Tokens, ours: Tokens, told: Numbers) -> Tokens {
    let limit = told.limit().unwrap_or(window);
    let scaled = match told.requested.filter(|requested| *requested > Tokens::ZERO) {
        Some(requested) => limit.share(ours.0, requested.0),
        None => ours.share(SHRINK_SHARE.0, SHRINK_SHARE.1),
    };
    scaled.min(limit).min(window)
}

#[cfg(test)]
mod tests {
    use super::learned_window;
    use epitome_core::Tokens;
    use epitome_wire::overflow::Numbers;

    #[test]
    fn a_window_is_learned_on_our_own_scale() {
        let told = |window: Option<u64>, requested: Option<u64>| {
            let (window, requested) = (window.map(Tokens), requested.map(Tokens));
            learned_window(
                Tokens(32_000),
                Tokens(24_000),
                Numbers { window, requested, ..Numbers::default() },
            )
        };
        let (limit, asked) = (Some(30_000), Some(36_000));
        let learned = [told(limit, asked), told(None, asked), told(limit, None), told(None, None)];
        assert_eq!(learned, [20_000, 21_333, 18_000, 18_000].map(Tokens));
    }
}
