//! What a transcript shows of the window its session was held in, where it does not say: where its tool compacted by
//! itself, and the longest prompt that was answered. A catalog knows what a model can be had with, and not what this
//! session had.

use epitome_core::Tokens;

/// What was seen of a session's window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WindowEvidence {
    /// What the context took when the session's own tool last compacted it without being asked.
    pub filled: Option<Tokens>,
    /// The longest prompt that was answered since then; of all, where it never did.
    pub prompt: Option<Tokens>,
}

/// A tool that compacts by itself waits until at least so much of the window is taken; one that does so earlier was told
/// to, and shows nothing of the window.
const FILLED_SHARE_MIN: (u64, u64) = (1, 2);

impl WindowEvidence {
    /// The window shown by it, one of `offered`, which are those that models of the same provider are had with; none where it
    /// shows no other than `assumed`. A compaction shows the smallest window that holds what was compacted; an answered
    /// prompt, that the window is no smaller than it.
    pub fn window(&self, assumed: Tokens, offered: &[Tokens]) -> Option<Tokens> {
        let holding = |tokens: Tokens| offered.iter().copied().filter(|window| *window >= tokens).min();
        let is_full = |(filled, window): &(Tokens, Tokens)| {
            *filled >= window.share(FILLED_SHARE_MIN.0, FILLED_SHARE_MIN.1)
        };
        let filled = self.filled.and_then(|filled| Some((filled, holding(filled)?))).filter(is_full);
        let filled = filled.map(|(_, window)| window);
        let prompt = self.prompt.filter(|prompt| *prompt > filled.unwrap_or(assumed));
        let held = prompt.map(|prompt| holding(prompt).unwrap_or(prompt));
        held.or(filled).filter(|window| *window != assumed || filled.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::{Tokens, WindowEvidence};

    const OFFERED: [Tokens; 2] = [Tokens(200_000), Tokens(1_000_000)];

    fn window(filled: Option<u64>, prompt: Option<u64>, assumed: u64) -> Option<u64> {
        let seen = WindowEvidence { filled: filled.map(Tokens), prompt: prompt.map(Tokens) };
        seen.window(Tokens(assumed), &OFFERED).map(|window| window.0)
    }

    #[test]
    fn a_compaction_by_itself_shows_the_smallest_window_that_held_it() {
        assert_eq!(window(Some(167_442), Some(166_000), 1_000_000), Some(200_000));
        assert_eq!(window(Some(998_659), None, 200_000), Some(1_000_000));
        assert_eq!(
            window(Some(167_442), None, 200_000),
            Some(200_000),
            "the catalog is right, and is shown to be"
        );
    }

    #[test]
    fn one_that_was_set_to_come_early_shows_nothing() {
        assert_eq!(window(Some(60_000), None, 1_000_000), None);
    }

    #[test]
    fn a_prompt_that_was_answered_fitted() {
        assert_eq!(window(None, Some(350_000), 200_000), Some(1_000_000), "asked for by a beta");
        assert_eq!(window(None, Some(150_000), 200_000), None, "what is assumed holds it");
        assert_eq!(window(Some(167_000), Some(400_000), 1_000_000), Some(1_000_000), "the window grew since");
        assert_eq!(
            window(None, Some(3_000_000), 200_000),
            Some(3_000_000),
            "larger than any that is offered"
        );
    }
}
