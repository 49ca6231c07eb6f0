//! Choosing lines: the most chance of future use per token, each fact counted once.
//!
//! The greedy choice of a weighted cover, with gains looked at again only when they come up: a
//! line's gain can only fall while others are chosen, so a stale gain is an upper bound.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

/// A line that could be put back.
pub(super) struct Candidate<T> {
    /// What it stands for.
    pub of: T,
    /// What it is worth on its own, beside its facts.
    pub bonus: f64,
    /// How much of its facts' worth it earns.
    pub share: f64,
    /// What it takes, about.
    pub cost: f64,
}

/// Lines that could be put back, each with its facts. These stand in one list: there are more lines than an allocation for
/// each is worth.
pub(super) struct Candidates<T> {
    all: Vec<Candidate<T>>,
    /// Where the facts of each end.
    ends: Vec<u32>,
    facts: Vec<u32>,
}

impl<T: Copy> Candidates<T> {
    pub(super) fn new() -> Self {
        Self { all: Vec::new(), ends: Vec::new(), facts: Vec::new() }
    }

    pub(super) fn push(&mut self, candidate: Candidate<T>, facts: impl IntoIterator<Item = u32>) {
        self.facts.extend(facts);
        self.ends.push(self.facts.len() as u32);
        self.all.push(candidate);
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// Has the candidate at a place stand for something else.
    pub(super) fn replace(&mut self, at: usize, of: T) {
        self.all[at].of = of;
    }

    fn facts(&self, at: usize) -> &[u32] {
        let first = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.facts[first as usize..self.ends[at] as usize]
    }

    fn ratio(&self, at: usize, weights: &[f64]) -> f64 {
        let candidate = &self.all[at];
        let gain: f64 = self.facts(at).iter().map(|&fact| weights[fact as usize]).sum();
        (gain * candidate.share + candidate.bonus) / candidate.cost
    }

    /// The candidates worth taking, best first, until `budget` is spent by their costs. Looked for one by one: whoever has
    /// no more room asks for no more.
    pub(super) fn choose<'c>(&'c self, weights: &'c mut [f64], budget: f64) -> impl Iterator<Item = T> + 'c {
        let mut heap: BinaryHeap<Offer> = (0..self.all.len())
            .map(|candidate| Offer { ratio: self.ratio(candidate, weights), candidate })
            .filter(|offer| offer.ratio > 0.0)
            .collect();
        let mut spent = 0.0;
        std::iter::from_fn(move || {
            while let Some(mut offer) = heap.peek_mut() {
                let ratio = self.ratio(offer.candidate, weights);
                if ratio < offer.ratio - 1e-12 && ratio > 0.0 {
                    offer.ratio = ratio;
                    continue;
                }
                let is_stale = ratio < offer.ratio - 1e-12;
                let at = PeekMut::pop(offer).candidate;
                let candidate = &self.all[at];
                if !is_stale && spent + candidate.cost <= budget {
                    spent += candidate.cost;
                    self.facts(at).iter().for_each(|&fact| weights[fact as usize] = 0.0);
                    return Some(candidate.of);
                }
            }
            None
        })
    }
}

struct Offer {
    ratio: f64,
    candidate: usize,
}

impl PartialEq for Offer {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Offer {}
impl PartialOrd for Offer {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Offer {
    fn cmp(&self, other: &Self) -> Ordering {
        // Of equal offers the later line: what was said last is nearer to what comes next.
        self.ratio.total_cmp(&other.ratio).then(self.candidate.cmp(&other.candidate))
    }
}

#[cfg(test)]
mod tests {
    use super::{Candidate, Candidates};

    #[test]
    fn a_fact_is_paid_for_once() {
        let mut lines = Candidates::new();
        for (of, facts, cost) in [(0, &[0][..], 1.0), (1, &[0, 1], 1.5), (2, &[2], 5.0)] {
            lines.push(Candidate { of, bonus: 0.0, share: 1.0, cost }, facts.iter().copied());
        }
        let chosen: Vec<i32> = lines.choose(&mut [1.0, 1.0, 1.0], 6.5).collect();
        assert_eq!(chosen, [1, 2]);
    }
}
