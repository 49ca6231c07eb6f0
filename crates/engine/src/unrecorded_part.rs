//! What recorded calls held that their transcript does not: an agent's own system prompt and tools. It stands before
//! every history alike, so it is an amount and no factor.

use epitome_core::{Scale, Tokens};

/// What recorded calls held beside what their transcript holds, by the smallest prompt that the provider told of: the
/// less history a prompt has, the less of the difference is our count's own error, and a sum over several calls is not
/// the smallest for long.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct UnrecordedPart {
    /// That prompt, as the provider counted it.
    prompt: Option<Tokens>,
    /// What the transcript holds of it, by our count.
    counted: Tokens,
    /// Whether the agent has compacted since.
    is_outdated: bool,
}

impl UnrecordedPart {
    /// Takes up a prompt that the provider told of, of which the transcript holds `counted`.
    pub(crate) fn learn(&mut self, prompt: Tokens, counted: Tokens) {
        let is_smallest = self.is_outdated || self.prompt.is_none_or(|smallest| prompt < smallest);
        // A call that tells nothing is no small one.
        if is_smallest && !prompt.is_zero() {
            *self = Self { prompt: Some(prompt), counted, is_outdated: false };
        }
    }

    /// The agent compacted. Agents put files and plans back into view then without recording it, so the next prompt
    /// counts, small or not.
    pub(crate) fn outdate(&mut self) {
        self.is_outdated = true;
    }

    /// In the provider's tokens, by what is known now of how it counts.
    pub(crate) fn tokens(&self, scale: Scale) -> Tokens {
        self.prompt.map_or(Tokens::ZERO, |prompt| prompt.less(scale.theirs(self.counted)))
    }
}

#[cfg(test)]
mod tests {
    use super::{Scale, Tokens, UnrecordedPart};

    #[test]
    fn it_is_told_by_the_smallest_prompt_and_follows_how_the_provider_counts() {
        let mut part = UnrecordedPart::default();
        let mut after = |prompt, counted| {
            part.learn(Tokens(prompt), Tokens(counted));
            [Scale::SAME, Scale::of(1.25), Scale::of(50.0)].map(|scale| part.tokens(scale).0)
        };
        assert_eq!(after(0, 9_000), [0, 0, 0], "a call that tells nothing");
        assert_eq!(after(80_000, 2_000), [78_000, 77_500, 0], "a sum, as it turns out");
        assert_eq!(after(30_000, 3_000), [27_000, 26_250, 0]);
        assert_eq!(after(50_000, 20_000), [27_000, 26_250, 0], "more history, and more of our error");
        assert_eq!(after(26_000, 400), [25_600, 25_500, 6_000]);
    }

    #[test]
    fn after_a_compaction_of_the_agents_it_is_told_anew() {
        let mut part = UnrecordedPart::default();
        part.learn(Tokens(30_000), Tokens(3_000));
        part.outdate();
        assert_eq!(part.tokens(Scale::SAME), Tokens(27_000), "until a prompt tells");
        let mut after = |prompt, counted| {
            part.learn(Tokens(prompt), Tokens(counted));
            part.tokens(Scale::SAME).0
        };
        assert_eq!([after(0, 500), after(44_000, 5_000), after(60_000, 9_000)], [27_000, 39_000, 39_000]);
    }
}
