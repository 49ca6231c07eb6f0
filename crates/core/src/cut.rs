//! Where a context is cut. An exchange falls whole on one side, always.

use crate::{Context, EntryId, Tokens};

/// Where a context is cut: everything before `keep_from` may be superseded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Between two turns.
    Between {
        /// The first message kept.
        keep_from: EntryId,
        /// Its slot.
        slot: usize,
    },
    /// Inside a turn too large to keep.
    Within {
        /// Where that turn begins.
        turn: EntryId,
        /// The first message kept.
        keep_from: EntryId,
        /// Its slot.
        slot: usize,
    },
    /// After everything: no tail is kept.
    After,
}

/// How much of the newest part of a context to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// At least this many messages.
    Messages(usize),
    /// At most this many tokens, cutting inside a turn where it must be.
    Tokens(Tokens),
    /// At most this many tokens, and whole turns only.
    TurnsWithin(Tokens),
    /// This many turns.
    Turns(usize),
}

impl Cut {
    /// The first slot kept, `slots` being how many there are.
    pub fn slot(&self, slots: usize) -> usize {
        match self {
            Self::Between { slot, .. } | Self::Within { slot, .. } => *slot,
            Self::After => slots,
        }
    }
}

/// Finds the cut that keeps `keep` of the newest slots, in logarithmic time.
///
/// A call that still waits for its result is kept with everything after it, whatever `keep` says.
/// None where there is nothing in front of the cut.
pub fn find_cut(context: &Context, keep: Keep) -> Option<Cut> {
    let slots = context.slots().len();
    let start = match keep {
        Keep::Messages(count) => at_or_before(context.units(), slots.saturating_sub(count)),
        Keep::Turns(count) => {
            context.turns().iter().rev().nth(count.max(1) - 1).map_or(0, |&slot| slot as usize)
        }
        Keep::Tokens(most) => at_or_after(context.units(), first_within(context, most), slots),
        Keep::TurnsWithin(most) => at_or_after(context.turns(), first_within(context, most), slots),
    };
    let start = context.open_from().map_or(start, |open| start.min(open));
    (start > 0).then(|| cut_at(context, start))
}

/// The first slot from which all that follows takes at most `most`.
fn first_within(context: &Context, most: Tokens) -> usize {
    let all = context.tokens();
    context.sums().partition_point(|&before| all - before > most)
}

/// The last of `starts` at or before `slot`; the last of all where `slot` is the end.
fn at_or_before(starts: &[u32], slot: usize) -> usize {
    let after = starts.partition_point(|&start| (start as usize) <= slot);
    after.checked_sub(1).map_or(0, |last| starts[last] as usize)
}

/// The first of `starts` at or after `slot`; `end` where there is none.
fn at_or_after(starts: &[u32], slot: usize, end: usize) -> usize {
    starts.get(starts.partition_point(|&start| (start as usize) < slot)).map_or(end, |&start| start as usize)
}

fn cut_at(context: &Context, slot: usize) -> Cut {
    let Some(keep_from) = context.slots().get(slot).map(crate::Slot::id) else { return Cut::After };
    if context.turns().binary_search(&(slot as u32)).is_ok() {
        return Cut::Between { keep_from, slot };
    }
    let turn = at_or_before(context.turns(), slot);
    Cut::Within { turn: context.slots()[turn].id(), keep_from, slot }
}
