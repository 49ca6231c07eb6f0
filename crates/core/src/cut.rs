//! Finding a cut: a binary search over a context's token sums, moved to the start of an exchange,
//! so that one falls whole on one side, always. What is kept besides the newest part, and in which
//! form, is `keep`'s.

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
    /// The fewest messages that take at least this many tokens.
    AtLeast(Tokens),
    /// From the first place to cut at or after the message with which this many tokens are reached.
    Reached(Tokens),
    /// None but a call that still waits, and what follows it.
    Nothing,
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
            // A person may speak while tools run: that turn begins inside an exchange, which stays whole.
            let turn = context.turns().iter().rev().nth(count.max(1) - 1);
            turn.map_or(0, |&slot| at_or_before(context.units(), slot as usize))
        }
        Keep::Tokens(most) => at_or_after(context.units(), first_within(context, most), slots),
        Keep::AtLeast(least) => reached(context, least).map_or(0, |slot| at_or_before(context.units(), slot)),
        Keep::Reached(least) => {
            let found = reached(context, least).map(|slot| at_or_after(context.units(), slot, slots));
            found.filter(|&slot| slot < slots).unwrap_or(0)
        }
        Keep::Nothing => slots,
        Keep::TurnsWithin(most) => {
            let turn = at_or_after(context.turns(), first_within(context, most), slots);
            at_or_after(context.units(), turn, slots)
        }
    };
    let start = context.open_from().map_or(start, |open| start.min(open));
    (start > 0).then(|| cut_at(context, start))
}

/// The first slot from which all that follows takes at most `most`.
fn first_within(context: &Context, most: Tokens) -> usize {
    let all = context.tokens();
    context.sums().partition_point(|&before| all - before > most)
}

/// The newest slot from which all that follows takes at least `least`.
fn reached(context: &Context, least: Tokens) -> Option<usize> {
    let all = context.tokens();
    context.sums().partition_point(|&before| all - before >= least).checked_sub(1)
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

#[cfg(test)]
mod tests {
    use super::{Cut, Keep, find_cut};
    use crate::{
        Author, Context, Entry, Item, Log, LogReader, MemoryArchive, Role, SizeTable, Sizes, Tokens,
        ZeroMeasure,
    };

    /// A message: `user`, `note` of a harness, `text`, `call 1 2` or `result 1`.
    fn item(word: &str) -> Item {
        let (kind, ids) = word.split_once(' ').unwrap_or((word, ""));
        let ids = ids.split_whitespace().map(Into::into).collect();
        let (role, author) = match kind {
            "user" => (Role::User, Author::Person),
            "note" => (Role::User, Author::Harness),
            "result" => (Role::Tool, Author::Tool),
            _ => (Role::Assistant, Author::Model),
        };
        let (calls, answers) = match kind {
            "call" => (ids, Box::default()),
            "result" => (Box::default(), ids),
            _ => (Box::default(), Box::default()),
        };
        Item { role, author, calls, answers }
    }

    /// The transcript with its cut: ` / ` between turns, ` // ` inside one.
    fn cut(transcript: &str, keep: Keep) -> String {
        let words: Vec<&str> = transcript.split(", ").collect();
        let (mut log, mut sizes, mut context) = (Log::default(), SizeTable::default(), Context::default());
        for word in &words {
            let id = log.push(Entry::Message(item(word)));
            sizes.set(id, Sizes { text: Tokens(1), ..Sizes::default() });
            let (log, sizes, archive) = (&log, &sizes, &MemoryArchive::default());
            let reader = LogReader { log, sizes, measure: &ZeroMeasure, archive };
            context.take(id, reader).expect("messages need no archive");
        }
        let (at, mark) = match find_cut(&context, keep) {
            None => return words.join(", "),
            Some(Cut::Between { slot, .. }) => (slot, " / "),
            Some(Cut::Within { slot, .. }) => (slot, " // "),
            Some(Cut::After) => (words.len(), " /"),
        };
        format!("{}{mark}{}", words[..at].join(", "), words[at..].join(", "))
    }

    #[test]
    fn a_result_stays_with_its_call() {
        let cut = |keep| cut("user, call 1, result 1, text", Keep::Tokens(Tokens(keep)));
        assert_eq!(
            [cut(1), cut(2), cut(3), cut(4)],
            [
                "user, call 1, result 1 // text",
                "user, call 1, result 1 // text",
                "user // call 1, result 1, text",
                "user, call 1, result 1, text",
            ]
        );
    }

    #[test]
    fn parallel_results_stay_together_in_any_order() {
        let transcript = "user, call 1 2, result 2, user, result 1, text";
        assert_eq!(cut(transcript, Keep::Messages(2)), "user // call 1 2, result 2, user, result 1, text");
    }

    #[test]
    fn what_a_harness_appends_stays_with_the_exchange_it_follows() {
        let cut = |transcript| cut(transcript, Keep::Messages(1));
        assert_eq!(cut("user, call 1, result 1, note, note"), "user // call 1, result 1, note, note");
        assert_eq!(cut("user, call 1, note"), "user // call 1, note");
        assert_eq!(cut("user, text, note"), "user, text // note");
        assert_eq!(cut("user, call 1, result 1, user, note"), "user, call 1, result 1, user // note");
    }

    #[test]
    fn a_call_that_waits_is_kept_whatever_the_limit() {
        assert_eq!(cut("user, text, call 1", Keep::Tokens(Tokens(0))), "user, text // call 1");
        assert_eq!(cut("user, text", Keep::Tokens(Tokens(0))), "user, text /");
    }

    #[test]
    fn a_least_amount_is_kept_whole_or_from_the_next_place_to_cut() {
        let transcript = "user, text, user, call 1, result 1, text";
        let cut = |keep| cut(transcript, keep);
        assert_eq!(cut(Keep::AtLeast(Tokens(2))), "user, text, user // call 1, result 1, text");
        assert_eq!(cut(Keep::Reached(Tokens(2))), "user, text, user, call 1, result 1 // text");
        assert_eq!(cut(Keep::Reached(Tokens(7))), transcript);
        assert_eq!(cut(Keep::Nothing), format!("{transcript} /"));
    }

    #[test]
    fn turns_are_counted_from_the_newest() {
        let transcript = "user, text, user, call 1, result 1, user, text";
        assert_eq!(cut(transcript, Keep::Turns(1)), "user, text, user, call 1, result 1 / user, text");
        assert_eq!(cut(transcript, Keep::Turns(2)), "user, text / user, call 1, result 1, user, text");
        let within = Keep::TurnsWithin(Tokens(4));
        assert_eq!(cut(transcript, within), "user, text, user, call 1, result 1 / user, text");
    }
}
