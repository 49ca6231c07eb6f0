//! Replies that succeeded and yet tell of a full window.

use super::class::{OverflowClass, OverflowFigures, OverflowRule, OverflowVerdict, RequestFacts};
use crate::protocol::{ModelReply, StopReason};
use epitome_core::Tokens;

/// The smallest window servers cut prompts to; the others are its doubles.
const ROUND_WINDOW_MIN: u64 = 2_048;
/// And the largest that is looked for.
const ROUND_WINDOW_MAX: u64 = 1 << 20;

/// What a reply that succeeded tells of the window, if anything. Its text is never looked at.
pub fn notice(answer: &ModelReply, known: &RequestFacts) -> Option<OverflowVerdict> {
    let usage = answer.usage.map(|taken| taken.usage);
    let prompt = usage.map(|usage| Tokens(usage.prompt)).filter(|&prompt| prompt > Tokens::ZERO);
    let output = usage.map(|usage| Tokens(usage.output));
    let is_silent = answer.message.blocks.is_empty() && answer.error.is_none();
    if answer.stop == Some(StopReason::Window) {
        let total = prompt.zip(output).map(|(prompt, output)| Tokens(prompt.0.saturating_add(output.0)));
        return Some(verdict(5, OverflowClass::SoftStop, total));
    }
    if answer.stop.is_none() && is_silent {
        return Some(verdict(4, OverflowClass::Suspect, None));
    }
    let prompt = prompt?;
    let is_beyond = known.window.is_some_and(|window| prompt > window);
    if is_beyond {
        // It was taken, so the window is not what we believe; how large it is, this prompt does not say.
        return Some(verdict(1, OverflowClass::SilentTruncation, None));
    }
    let wrote_nothing = answer.stop == Some(StopReason::Length) && output == Some(Tokens::ZERO);
    if wrote_nothing
        && known.window.is_none_or(|window| prompt.0.saturating_mul(100) >= window.0.saturating_mul(99))
    {
        return Some(verdict(2, OverflowClass::SilentTruncation, Some(prompt)));
    }
    let window = round_window(prompt)?;
    let was_cut =
        known.estimate.is_some_and(|estimate| prompt.0.saturating_mul(10) < estimate.0.saturating_mul(8));
    was_cut.then(|| verdict(3, OverflowClass::SilentTruncation, Some(window)))
}

fn verdict(detector: u8, class: OverflowClass, window: Option<Tokens>) -> OverflowVerdict {
    let numbers = OverflowFigures { window, ..OverflowFigures::default() };
    OverflowVerdict { class, numbers, rule: OverflowRule::Detector(detector) }
}

/// The round window a prompt lies within two percent of.
fn round_window(prompt: Tokens) -> Option<Tokens> {
    let doubles = std::iter::successors(Some(ROUND_WINDOW_MIN), |window| Some(window * 2));
    let mut windows = doubles.take_while(|&window| window <= ROUND_WINDOW_MAX);
    windows.find(|&window| prompt.0.abs_diff(window) <= window / 50).map(Tokens)
}
