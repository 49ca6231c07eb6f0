//! How likely a fact is to be needed again, from how it was used so far.
//!
//! A logistic score of few features, on top of the class's own ([`crate::facts::Class`]). The coefficients were
//! set by judgement; `link` was then moved by a search on half of the corpus's sessions, checked on the other
//! half. Around where they stand the figures are flat (`bench/RETENTION.md`), so nothing hangs on their last
//! digit.

use super::table::{FactTable, FactUse};

/// Coefficients of the score, and what the choice of lines leans on.
pub(super) struct Tuning {
    /// Having stood in a call's arguments at all.
    pub acted: f64,
    /// Per doubling or so of the age of that.
    pub acted_age: f64,
    /// Per doubling or so of how often.
    pub actions: f64,
    /// Per doubling or so of how often it was seen anywhere.
    pub mentions: f64,
    /// Per doubling or so of the age of the last sight.
    pub seen_age: f64,
    /// Having been said by a person.
    pub by_person: f64,
    /// Having been said by the model, outside of calls.
    pub by_model: f64,
    /// The part of a fact's worth that is had only with words it stood beside.
    pub link: f64,
    /// What the newest action is worth by itself.
    pub action: f64,
    /// What a statement is worth by itself, for each of its marks.
    pub meaning: f64,
    /// What a pair of words is worth that a sentence tells, for each doubling or so of the passages that speak of it.
    pub concept: f64,
    /// The part of its worth that the oldest sentence has; the newest has all of it and this much more.
    pub oldest: f64,
    /// The part of a fact's worth that is had in a line which says nothing by itself.
    pub mute: f64,
    /// The part of what naming a fact is worth that is had by its bare name.
    pub name: f64,
    /// What naming the entry of a run of lines takes, in tokens.
    pub pointer: f64,
}

/// The values in use.
pub(super) const TUNING: Tuning = Tuning {
    acted: 2.2,
    acted_age: 0.35,
    actions: 0.5,
    mentions: 0.35,
    seen_age: 0.35,
    by_person: 0.7,
    by_model: 0.3,
    link: 0.55,
    action: 0.05,
    meaning: 0.4,
    concept: 0.015,
    oldest: 0.5,
    mute: 0.9,
    name: 0.75,
    pointer: 2.0,
};

/// A fact's chance of being used later, between 0 and 1; 0 where saying it again gains nothing.
pub(super) fn chance(known: &FactUse, table: &FactTable) -> f64 {
    let Some(score) = known.class.row().score.filter(|_| !known.is_visible && !known.is_outdated) else {
        return 0.0;
    };
    let age = |clock: u64| ((table.end - clock) as f64 / 4000.0).ln_1p();
    let acted = match known.actions {
        0 => 0.0,
        _ => TUNING.acted - TUNING.acted_age * age(known.acted),
    };
    let score = score
        + acted
        + TUNING.actions * f64::from(known.actions).ln_1p()
        + TUNING.mentions * f64::from(known.mentions).ln_1p()
        - TUNING.seen_age * age(known.seen)
        + if known.by_person { TUNING.by_person } else { 0.0 }
        + if known.by_model { TUNING.by_model } else { 0.0 };
    1.0 / (1.0 + (-score).exp())
}
