//! Choosing lines: the most chance of future use per token, each fact counted once.
//!
//! The greedy choice of a weighted cover, with gains looked at again only when they come up: a
//! line's gain can only fall while others are chosen, so a stale gain is an upper bound.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

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
    /// Its facts.
    pub facts: Vec<u32>,
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

/// The candidates worth taking, best first, until `budget` is spent by their costs.
pub(super) fn choose<T>(candidates: &[Candidate<T>], weights: &mut [f64], budget: f64) -> Vec<usize> {
    let mut heap: BinaryHeap<Offer> = (0..candidates.len())
        .map(|candidate| Offer { ratio: ratio(&candidates[candidate], weights), candidate })
        .filter(|offer| offer.ratio > 0.0)
        .collect();
    let (mut chosen, mut spent) = (Vec::new(), 0.0);
    while let Some(offer) = heap.pop() {
        let candidate = &candidates[offer.candidate];
        let ratio = ratio(candidate, weights);
        if ratio < offer.ratio - 1e-12 {
            if ratio > 0.0 {
                heap.push(Offer { ratio, ..offer });
            }
            continue;
        }
        if spent + candidate.cost > budget {
            continue;
        }
        spent += candidate.cost;
        candidate.facts.iter().for_each(|&fact| weights[fact as usize] = 0.0);
        chosen.push(offer.candidate);
    }
    chosen
}

fn ratio<T>(candidate: &Candidate<T>, weights: &[f64]) -> f64 {
    let gain: f64 = candidate.facts.iter().map(|&fact| weights[fact as usize]).sum();
    (gain * candidate.share + candidate.bonus) / candidate.cost
}

#[cfg(test)]
mod tests {
    use super::{Candidate, choose};

    #[test]
    fn a_fact_is_paid_for_once() {
        let line =
            |facts: &[u32], cost| Candidate { of: (), bonus: 0.0, share: 1.0, cost, facts: facts.to_vec() };
        let lines = [line(&[0], 1.0), line(&[0, 1], 1.5), line(&[2], 5.0)];
        assert_eq!(choose(&lines, &mut [1.0, 1.0, 1.0], 6.5), [1, 2]);
    }
}
