//! A figure: how large the next prompt is, how sure we are, and why we think so.

use crate::calibrate::Calibration;
use crate::usage::{Anchor, Epoch};
use serde::{Deserialize, Serialize};

/// The size of a prompt. Never a bare number: part of it was measured, part is estimated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Figure {
    /// The size, in tokens.
    pub tokens: u64,
    /// The part the provider has measured.
    pub anchored: u64,
    /// The part that is our count, corrected.
    pub estimated: u64,
    /// How far off the size may be, either way.
    pub margin: u64,
    /// The epoch it is true in.
    pub epoch: Epoch,
    /// What it rests on.
    pub source: FigureSource,
}

/// What a figure rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FigureSource {
    /// The provider's last usage of this very prefix, and an estimate of what was added.
    Anchored,
    /// Our count alone: no usage of this epoch yet.
    Estimated,
    /// Our count, larger than what usage would make it: usage left something out, or is not trusted.
    Floor,
}

/// What there is to measure a prompt by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measure {
    /// The session's epoch.
    pub epoch: Epoch,
    /// The last measured prefix, of whichever epoch; one of another epoch is not used.
    pub anchor: Option<Anchor>,
    /// Our count of what came after the anchor, without any factor.
    pub added: Parts,
    /// Our count of the whole prompt, without any factor.
    pub whole: Parts,
}

/// A count in two parts: by rule, and by tokenizer or estimate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Parts {
    /// By rule: images, tool prompts, framing.
    pub fixed: u64,
    /// By tokenizer or estimate: text. This is what a calibration corrects.
    pub counted: u64,
}

impl Calibration {
    /// The size of the next prompt: anchored if the epoch allows, and never less than our own count
    /// of it less its margin.
    #[must_use]
    pub fn figure(&self, measure: &Measure) -> Figure {
        let estimated = self.estimated_figure(measure);
        let Some(anchor) = measure.anchor.filter(|anchor| anchor.epoch == measure.epoch) else {
            return estimated;
        };
        let anchored = self.anchored_figure(measure, &anchor);
        let slack = if self.is_usage_trusted() { estimated.margin } else { 0 };
        if estimated.tokens.saturating_sub(slack) > anchored.tokens {
            Figure { source: FigureSource::Floor, ..estimated }
        } else {
            anchored
        }
    }

    fn estimated_figure(&self, measure: &Measure) -> Figure {
        let counted = self.correct(measure.whole.counted);
        let estimated = measure.whole.fixed + counted;
        Figure {
            tokens: estimated,
            anchored: 0,
            estimated,
            margin: self.margin_of(counted),
            epoch: measure.epoch,
            source: FigureSource::Estimated,
        }
    }

    fn anchored_figure(&self, measure: &Measure, anchor: &Anchor) -> Figure {
        let counted = self.correct(measure.added.counted);
        let estimated = measure.added.fixed + counted;
        Figure {
            tokens: anchor.known() + estimated,
            anchored: anchor.known(),
            estimated,
            margin: self.margin_of(counted),
            epoch: measure.epoch,
            source: FigureSource::Anchored,
        }
    }

    fn margin_of(&self, counted: u64) -> u64 {
        (counted as f64 * self.margin()).ceil() as u64
    }
}

/// Whether a prompt fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fit {
    /// It fits, margin included.
    Yes,
    /// It does not, whatever the margin.
    No,
    /// The margin decides: worth one exact count.
    Unsure,
}

/// Whether a prompt leaves `reserve_tokens` free in a window.
#[must_use]
pub const fn fits(figure: &Figure, window_tokens: u64, reserve_tokens: u64) -> Fit {
    let room = window_tokens.saturating_sub(reserve_tokens);
    if figure.tokens + figure.margin <= room {
        Fit::Yes
    } else if figure.tokens.saturating_sub(figure.margin) > room {
        Fit::No
    } else {
        Fit::Unsure
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::usage::Usage;

    fn anchor(epoch: u64) -> Option<Anchor> {
        let usage = Usage { prompt: 90_000, output: 2_000, ..Usage::default() };
        Some(Anchor { epoch: Epoch(epoch), usage, dropped: 500 })
    }

    fn measure(anchor: Option<Anchor>, added: u64, whole: u64) -> Measure {
        let parts = |counted| Parts { fixed: 100, counted };
        Measure { epoch: Epoch(3), anchor, added: parts(added), whole: parts(whole) }
    }

    fn figure(anchor: Option<Anchor>, added: u64, whole: u64) -> Figure {
        Calibration::default().figure(&measure(anchor, added, whole))
    }

    #[test]
    fn only_what_was_added_is_estimated() {
        assert_eq!(
            figure(anchor(3), 1_000, 90_000),
            Figure {
                tokens: 92_600,
                anchored: 91_500,
                estimated: 1_100,
                margin: 150,
                epoch: Epoch(3),
                source: FigureSource::Anchored,
            }
        );
    }

    #[test]
    fn usage_of_an_older_epoch_is_not_used() {
        let estimated = Figure {
            tokens: 20_100,
            anchored: 0,
            estimated: 20_100,
            margin: 3_000,
            epoch: Epoch(3),
            source: FigureSource::Estimated,
        };
        assert_eq!(figure(anchor(2), 1_000, 20_000), estimated);
        assert_eq!(figure(None, 0, 20_000), estimated);
    }

    #[test]
    fn usage_far_below_our_count_does_not_lower_the_figure() {
        let floor = figure(anchor(3), 1_000, 150_000);
        assert_eq!((floor.tokens, floor.source), (150_100, FigureSource::Floor));
    }

    #[test]
    fn the_margin_leaves_room_for_doubt() {
        let figure = figure(anchor(3), 10_000, 100_000);
        assert_eq!((figure.tokens, figure.margin), (101_600, 1_500));
        let fit = |window| fits(&figure, window, 20_000);
        assert_eq!(
            [120_099, 120_100, 123_099, 123_100].map(fit),
            [Fit::No, Fit::Unsure, Fit::Unsure, Fit::Yes]
        );
    }
}
