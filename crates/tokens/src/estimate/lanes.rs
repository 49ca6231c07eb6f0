//! Walking the automaton over ASCII in several places at once.
//!
//! Each step waits for the one before it, and a processor that waits could do several such walks. A
//! text can be taken up in its middle: behind the first byte of a run the state is known, whatever
//! came before. The parts' prices add up to exactly what one walk would give.

use super::table::{Table, state_behind};

/// Walks done at once; more of them compete for the same look-ups.
const LANES: usize = 4;
/// Shorter texts are walked in one go: finding where to split them costs as much as it saves.
const SPLIT_BYTES_MIN: usize = 128;
/// How far from an even split the beginning of a run is looked for; runs are rarely longer.
const SEARCH_BYTES: usize = 24;

/// The state behind `ascii`, and its price in thousandths of a token.
pub(super) fn walk(table: &Table, state: u8, ascii: &[u8]) -> (u8, u64) {
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

fn walk_together(table: &Table, parts: [(u8, &[u8]); LANES]) -> (u8, u64) {
    let mut states = parts.map(|(state, _)| state);
    let [a, b, c, d] = parts.map(|(_, part)| part.as_chunks::<2>().0);
    let mut milli_tokens = 0;
    for (((&a, &b), &c), &d) in a.iter().zip(b).zip(c).zip(d) {
        for (state, pair) in states.iter_mut().zip([a, b, c, d]) {
            let (next, cost) = table.step_pair(*state, pair);
            *state = next;
            milli_tokens += u64::from(cost);
        }
    }
    let together = 2 * a.len().min(b.len()).min(c.len()).min(d.len());
    let mut last = states[LANES - 1];
    for (state, (_, part)) in states.into_iter().zip(parts) {
        let (end, cost) = walk_alone(table, state, &part[together..]);
        milli_tokens += cost;
        last = end;
    }
    (last, milli_tokens)
}

fn walk_alone(table: &Table, mut state: u8, ascii: &[u8]) -> (u8, u64) {
    let (pairs, odd) = ascii.as_chunks::<2>();
    let mut milli_tokens = 0;
    for &pair in pairs {
        let (next, cost) = table.step_pair(state, pair);
        state = next;
        milli_tokens += u64::from(cost);
    }
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
