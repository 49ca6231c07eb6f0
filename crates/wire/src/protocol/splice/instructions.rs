//! Where instructions given in the middle of an Anthropic list stand once something around them has gone. The provider
//! takes them right behind a user's message, or behind a reply that ends in a server tool's call, and with nothing or a
//! reply behind them. Where a gap leaves them elsewhere they wait for the next such place, which only what was there when the gap
//! was made decides: from turn to turn they stay where they are.

use super::join::ListPiece;
use crate::document::View;

/// The pieces of a list of `count` elements, with each instruction where the provider takes it. One that stands between the
/// neighbours it came with is left to its client.
pub(super) fn place(pieces: Vec<ListPiece<'_>>, count: usize) -> Vec<ListPiece<'_>> {
    let roles: Vec<PieceRole> = pieces.iter().map(PieceRole::of).collect();
    if !roles.contains(&PieceRole::Instruction) {
        return pieces;
    }
    let moves: Vec<bool> = (0..pieces.len())
        .map(|at| roles[at] == PieceRole::Instruction && !is_as_it_came(&pieces, at, count))
        .collect();
    let (mut placed, mut waiting) = (Vec::with_capacity(pieces.len()), Vec::new());
    let mut last = None;
    for (at, piece) in pieces.into_iter().enumerate() {
        if moves[at] {
            waiting.push(piece);
        } else {
            last = Some(roles[at]).filter(|role| *role != PieceRole::Instruction).or(last);
            placed.push(piece);
        }
        let next = roles[at + 1..].iter().find(|role| **role != PieceRole::Instruction);
        if last.is_some_and(PieceRole::takes_behind) && next.is_none_or(|next| next.is_reply()) {
            placed.append(&mut waiting);
        }
    }
    // Behind a reply that is begun there is no such place.
    placed.extend(waiting);
    placed
}

/// Who speaks in a piece, as far as instructions beside it are concerned.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PieceRole {
    Instruction,
    User,
    Reply,
    /// A reply that waits for a tool of the provider's own.
    PausedReply,
}

impl PieceRole {
    fn of(piece: &ListPiece<'_>) -> Self {
        let json = piece.json();
        // Few pieces say either word; the others need no parser.
        let [may_instruct, may_reply] = ["\"system\"", "\"assistant\""].map(|role| json.contains(role));
        if !may_instruct && !may_reply {
            return Self::User;
        }
        let role = View::parse(json).ok().and_then(|view| view.at(&["role"])?.text());
        match role.as_deref() {
            Some("system") => Self::Instruction,
            Some("assistant") if ends_in_server_call(json) => Self::PausedReply,
            Some("assistant") => Self::Reply,
            Some(_) | None => Self::User,
        }
    }

    fn is_reply(self) -> bool {
        match self {
            Self::Reply | Self::PausedReply => true,
            Self::Instruction | Self::User => false,
        }
    }

    /// Whether instructions may stand right behind it.
    fn takes_behind(self) -> bool {
        match self {
            Self::User | Self::PausedReply => true,
            Self::Instruction | Self::Reply => false,
        }
    }
}

fn ends_in_server_call(reply: &str) -> bool {
    let last = || View::parse(reply).ok()?.at(&["content"])?.list()?.last()?.at(&["type"])?.text();
    reply.contains("\"server_tool_use\"") && last().as_deref() == Some("server_tool_use")
}

/// Whether a piece stands between those that it stood between in its client's list of `count` elements.
fn is_as_it_came(pieces: &[ListPiece<'_>], at: usize, count: usize) -> bool {
    let Some((first, last)) = pieces[at].from() else { return false };
    let before = at.checked_sub(1).and_then(|before| pieces[before].from());
    let is_behind = match at {
        0 => first == 0,
        _ => before.is_some_and(|(_, before)| before + 1 == first),
    };
    let is_before = match pieces.get(at + 1) {
        Some(after) => after.from().is_some_and(|(after, _)| last + 1 == after),
        None => last + 1 == count,
    };
    is_behind && is_before
}
