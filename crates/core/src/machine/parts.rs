//! Chunking of the material for summary calls: in one part, in equal parts, or in parts that fit a
//! window, each of whole exchanges. What each call is told is `wording`'s.

use crate::plan::Plan;
use crate::policy::{Parts, SummaryRule};
use crate::request::Purpose;
use crate::{EntryId, Tokens};
use std::collections::VecDeque;

/// One piece of the material, and what its call is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MaterialPart {
    pub purpose: Purpose,
    pub ids: Vec<EntryId>,
}

/// The parts of what leaves view, in the order they are asked for.
pub(super) fn parts(plan: &Plan<'_>, room: Tokens) -> VecDeque<MaterialPart> {
    // What an earlier compaction kept is among it.
    let leaving = plan.leaving();
    // Prose is one account of all that leaves, asked for once: the machine tells what the turn was about.
    let is_apart = plan.job.policy.keep.within_turn && plan.job.policy.summary.parts == Parts::All;
    let turn = plan.cut_turn().filter(|_| is_apart);
    let split = turn.map_or(leaving.len(), |turn| leaving.partition_point(|&id| id < turn));
    let (history, prefix) = leaving.split_at(split);
    let mut parts: VecDeque<MaterialPart> = VecDeque::new();
    if !history.is_empty() || prefix.is_empty() {
        parts.extend(number(pieces(plan, history, room)));
    }
    if !prefix.is_empty() {
        parts.push_back(MaterialPart { purpose: Purpose::TurnPrefix, ids: prefix.to_vec() });
    }
    parts
}

fn number(pieces: Vec<Vec<EntryId>>) -> Vec<MaterialPart> {
    let of = pieces.len() as u32;
    let purpose = |number: u32| if of == 1 { Purpose::History } else { Purpose::Part { number, of } };
    pieces.into_iter().zip(1..).map(|(ids, number)| MaterialPart { purpose: purpose(number), ids }).collect()
}

/// The history in as many pieces as the policy says, or as its summariser's window needs.
fn pieces(plan: &Plan<'_>, ids: &[EntryId], room: Tokens) -> Vec<Vec<EntryId>> {
    let SummaryRule { chunks, .. } = plan.job.policy.summary;
    let units = exchanges(plan, ids);
    if chunks > 1 {
        return equal(&units, ids.len(), chunks as usize);
    }
    fitting(plan, &units, room)
}

/// Each exchange, or message outside one, of `ids`.
pub(super) fn exchanges(plan: &Plan<'_>, ids: &[EntryId]) -> Vec<Vec<EntryId>> {
    let context = plan.job.context;
    let mut units: Vec<Vec<EntryId>> = Vec::new();
    let mut starts = context.units().iter().map(|&unit| context.slots()[unit as usize].id()).peekable();
    for &id in ids {
        let mut begins = units.is_empty();
        while starts.next_if(|&start| start <= id).is_some() {
            begins = true;
        }
        match units.last_mut().filter(|_| !begins) {
            Some(unit) => unit.push(id),
            None => units.push(vec![id]),
        }
    }
    units
}

/// So many pieces of equal count, each boundary moved forward past results.
fn equal(units: &[Vec<EntryId>], count: usize, chunks: usize) -> Vec<Vec<EntryId>> {
    let each = count.div_ceil(chunks).max(1);
    let mut pieces: Vec<Vec<EntryId>> = vec![Vec::new()];
    for unit in units {
        if pieces.last().is_some_and(|piece| piece.len() >= each) && pieces.len() < chunks {
            pieces.push(Vec::new());
        }
        if let Some(piece) = pieces.last_mut() {
            piece.extend(unit);
        }
    }
    pieces
}

/// Pieces that each take at most `room`; an exchange larger than that is a piece of its own.
fn fitting(plan: &Plan<'_>, units: &[Vec<EntryId>], room: Tokens) -> Vec<Vec<EntryId>> {
    let size = |unit: &Vec<EntryId>| -> Tokens {
        unit.iter().map(|&id| plan.job.context.form_of(id, plan.job.sizes).1).sum()
    };
    let mut pieces: Vec<Vec<EntryId>> = vec![Vec::new()];
    let mut taken = Tokens::ZERO;
    for unit in units {
        let tokens = size(unit);
        if taken + tokens > room && pieces.last().is_some_and(|piece| !piece.is_empty()) {
            pieces.push(Vec::new());
            taken = Tokens::ZERO;
        }
        taken += tokens;
        if let Some(piece) = pieces.last_mut() {
            piece.extend(unit);
        }
    }
    pieces
}

/// A part in two halves, at an exchange; none where it is a single one.
pub(super) fn halves(plan: &Plan<'_>, part: &MaterialPart) -> Option<[MaterialPart; 2]> {
    let units = exchanges(plan, &part.ids);
    if units.len() < 2 {
        return None;
    }
    let middle = units.len() / 2;
    let half = |units: &[Vec<EntryId>]| MaterialPart { purpose: part.purpose, ids: units.concat() };
    Some([half(&units[..middle]), half(&units[middle..])])
}
