//! Verification: which facts of the superseded range the new context still holds, and putting back
//! the lost ones that matter most.
//!
//! It looks at texts alone and trusts no summariser, ours included.

mod groundwork;
mod inventory;
mod repair;
mod visible_text;
mod words;

pub(crate) use groundwork::{ComparedMessages, Groundwork};
pub use repair::repair;

use crate::facts::{Class, Fact, Mention, Tier};
use crate::ledger::Ledger;
use crate::side_thread::do_both;
use crate::{EntryId, Material};
use inventory::{Inventory, StockedFact, StockedMessages};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use visible_text::{VisibleText, flat, pointers};

/// As many lost facts are named in a report: enough to judge it, few enough to read.
const EXAMPLES_MAX: usize = 20;
/// As many are remembered for repair; no repair budget holds more.
const MISSING_MAX: usize = 2000;

/// What became of the facts of one class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FactTally {
    /// In view, literally.
    pub kept: u64,
    /// Not in view, but a pointer in view leads to it.
    pub recoverable: u64,
    /// Neither.
    pub lost: u64,
    /// Of the lost: only an outdated value is in view, which is worse.
    pub wrong: u64,
}

/// What a compaction kept and lost, fact by fact.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LossReport {
    /// Facts in view; those put back by [`repair`] included.
    pub kept: u64,
    /// Facts behind a pointer.
    pub recoverable: u64,
    /// Facts gone from view with nothing that leads to them.
    pub lost: u64,
    /// Facts that [`repair`] put back.
    pub repaired: u64,
    /// The same by class; classes without facts are left out.
    pub by_class: BTreeMap<Class, FactTally>,
    /// The most important lost facts, most important first.
    pub lost_examples: Vec<Fact>,
}

/// A comparison: what it found, and what a repair can still put back.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verification {
    /// What is kept of it.
    pub report: LossReport,
    /// Facts worth putting back, most important first.
    missing: Vec<MissingFact>,
}

/// A fact that is not in view.
#[derive(Clone, Debug, PartialEq)]
struct MissingFact {
    fact: Fact,
    fate: FactFate,
}

/// What became of one fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FactFate {
    Kept,
    Recoverable,
    Lost,
    Wrong,
}

/// Compares the superseded range with the text of the whole new context, summary included.
///
/// `ledger` is that of the material. A pointer counts where `resolvable`, oldest first, says that it leads to its original.
pub fn verify(
    material: &Material<'_>,
    ledger: &Ledger,
    shown_text: &str,
    resolvable: &[EntryId],
) -> Verification {
    let messages = StockedMessages::of(material);
    let facts = Inventory::of(&messages).with(ledger, &messages);
    let flat = flat(shown_text);
    compare(facts, &VisibleText::of(shown_text, &flat), &pointers(shown_text, resolvable))
}

/// Looks facts up in what is shown, where these pointers lead to their originals.
fn compare(
    facts: Vec<StockedFact<'_>>,
    shown: &VisibleText<'_>,
    pointers: &HashSet<EntryId>,
) -> Verification {
    let look_up = |facts: &[StockedFact<'_>]| -> Vec<FactFate> {
        facts.iter().map(|fact| shown.fate(fact.mention, fact.source, pointers)).collect()
    };
    let (front, back) = facts.split_at(facts.len() / 2);
    let (front, back) = do_both(|| look_up(front), || look_up(back));
    let mut found = Verification::default();
    let mut missing = Vec::new();
    for (fact, fate) in facts.iter().zip(front.into_iter().chain(back)) {
        found.report.count(fact.mention.class, fate);
        if fate != FactFate::Kept {
            let rank = (tier(fact.mention, fate), std::cmp::Reverse(fact.source), missing.len());
            missing.push((rank, fact, fate));
        }
    }
    // Of tens of thousands a few are kept.
    if missing.len() > MISSING_MAX {
        missing.select_nth_unstable_by_key(MISSING_MAX, |(rank, ..)| *rank);
        missing.truncate(MISSING_MAX);
    }
    missing.sort_unstable_by_key(|(rank, ..)| *rank);
    let mut line: Arc<str> = "".into();
    let kept =
        missing.iter().map(|(_, fact, fate)| MissingFact { fact: fact.to_fact(&mut line), fate: *fate });
    found.missing = kept.collect();
    found.name_lost();
    found
}

impl Verification {
    /// Names the most important of what is lost as it stands now.
    fn name_lost(&mut self) {
        let lost = self.missing.iter().filter(|missing| missing.fate != FactFate::Recoverable);
        self.report.lost_examples = lost.take(EXAMPLES_MAX).map(|missing| missing.fact.clone()).collect();
    }
}

impl LossReport {
    fn count(&mut self, class: Class, fate: FactFate) {
        let tally = self.by_class.entry(class).or_default();
        match fate {
            FactFate::Kept => (self.kept, tally.kept) = (self.kept + 1, tally.kept + 1),
            FactFate::Recoverable => {
                (self.recoverable, tally.recoverable) = (self.recoverable + 1, tally.recoverable + 1)
            }
            FactFate::Lost => (self.lost, tally.lost) = (self.lost + 1, tally.lost + 1),
            FactFate::Wrong => {
                self.lost += 1;
                tally.lost += 1;
                tally.wrong += 1;
            }
        }
    }

    /// Counts a fact as put back.
    fn mend(&mut self, missing: &MissingFact) {
        let tally = self.by_class.entry(missing.fact.class).or_default();
        self.kept += 1;
        self.repaired += 1;
        tally.kept += 1;
        match missing.fate {
            FactFate::Kept => {}
            FactFate::Recoverable => {
                (self.recoverable, tally.recoverable) = (self.recoverable - 1, tally.recoverable - 1)
            }
            FactFate::Lost => (self.lost, tally.lost) = (self.lost - 1, tally.lost - 1),
            FactFate::Wrong => {
                self.lost -= 1;
                tally.lost -= 1;
                tally.wrong -= 1;
            }
        }
    }
}

/// The order in which facts are put back: the person's rules and open todos, files changed, errors,
/// then everything else by how recently it was referred to. What a pointer leads to can wait,
/// except a rule: nobody looks up what they do not know they must obey.
fn tier(fact: Mention<'_>, fate: FactFate) -> (bool, Tier) {
    let tier = match fact.class.row().tier {
        // A file that was only read can be read again.
        Tier::Change if fact.value == "read" => Tier::Rest,
        tier @ (Tier::Duty | Tier::Change | Tier::Trouble | Tier::Reference | Tier::Rest) => tier,
    };
    (tier != Tier::Duty && fate == FactFate::Recoverable, tier)
}

#[cfg(test)]
mod tests;
