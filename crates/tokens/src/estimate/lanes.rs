//! Walking the automaton over ASCII in several places at once.
//!
//! Each step waits for the one before it, and a processor that waits could do several such walks. A
//! text can be taken up in its middle: behind the first byte of a run the state is known, whatever
//! came before. The parts' prices add up to exactly what one walk would give.

use super::table::{Transition, TransitionTable, state_behind};

/// Walks done at once; more of them compete for the same look-ups.
const LANES: usize = 4;
/// Shorter texts are walked in one go: finding where to split them costs as much as it saves.
const SPLIT_BYTES_MIN: usize = 128;
/// How far from an even split the beginning of a run is looked for; runs are rarely longer.
const SEARCH_BYTES: usize = 24;

/// The state behind `ascii`, and its price in thousandths of a token.
pub(super) fn walk(table: &TransitionTable, state: u8, ascii: &[u8]) -> (u8, u64) {
    match split(state, ascii) {
        Some(parts) => walk_together(table, parts),
        None => walk_alone(table, state, ascii),
    }
}

/// Cuts a text into parts of about one length, each with the state it begins in.
fn split(state: u8, ascii: &[u8]) -> Option<[(u8, &[u8]); LANES]> {
    if ascii.len() < SPLIT_BYTES_MIN {
        return None;
    }
    let mut parts = [(state, ascii); LANES];
    for lane in 1..LANES {
        let (begin, whole) = parts[lane - 1];
        let near = whole.len() / (LANES - lane + 1);
        let (at, state) = (near..near + SEARCH_BYTES).find_map(|at| {
            let pair = whole.get(at - 2..at)?;
            Some((at, state_behind(pair[0], pair[1])?))
        })?;
        parts[lane - 1] = (begin, &whole[..at]);
        parts[lane] = (state, &whole[at..]);
    }
    Some(parts)
}

fn walk_together(table: &TransitionTable, parts: [(u8, &[u8]); LANES]) -> (u8, u64) {
    let [mut at_a, mut at_b, mut at_c, mut at_d] = parts.map(|(state, _)| Transition::at(state));
    let [a, b, c, d] = parts.map(|(_, part)| part.as_chunks::<2>().0);
    let mut milli_tokens = 0;
    for (((&a, &b), &c), &d) in a.iter().zip(b).zip(c).zip(d) {
        at_a = table.step_pair(at_a, a);
        at_b = table.step_pair(at_b, b);
        at_c = table.step_pair(at_c, c);
        at_d = table.step_pair(at_d, d);
        milli_tokens += u64::from(at_a.cost() + at_b.cost() + at_c.cost() + at_d.cost());
    }
    let together = 2 * a.len().min(b.len()).min(c.len()).min(d.len());
    let mut last = at_d.state();
    for (at, (_, part)) in [at_a, at_b, at_c, at_d].into_iter().zip(parts) {
        let (end, cost) = walk_alone(table, at.state(), &part[together..]);
        milli_tokens += cost;
        last = end;
    }
    (last, milli_tokens)
}

fn walk_alone(table: &TransitionTable, state: u8, ascii: &[u8]) -> (u8, u64) {
    let (pairs, odd) = ascii.as_chunks::<2>();
    let (mut at, mut milli_tokens) = (Transition::at(state), 0);
    for &pair in pairs {
        at = table.step_pair(at, pair);
        milli_tokens += u64::from(at.cost());
    }
    let mut state = at.state();
    for &byte in odd {
        let (next, cost) = table.step(state, byte);
        state = next;
        milli_tokens += u64::from(cost);
    }
    (state, milli_tokens)
}

#[cfg(test)]
mod tests {
    use super::walk;
    use crate::Family;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn many_walks_give_what_one_gives(
            text in "([a-z]{1,20}|[A-Z]{1,5}|[0-9]{1,7}|[!-/]{1,5}|[ \t]{1,4}|[\r\n]{1,3}){0,200}",
            before in "[a-zA-Z0-9 \n.]?",
        ) {
            let table = Family::Claude.table();
            let (state, _) = walk(table, super::super::START, before.as_bytes());
            let byte_by_byte = text.bytes().fold((state, 0), |(state, sum), byte| {
                let (next, cost) = table.step(state, byte);
                (next, sum + u64::from(cost))
            });
            prop_assert_eq!(walk(table, state, text.as_bytes()), byte_by_byte);
        }
    }
}
