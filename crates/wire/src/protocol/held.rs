//! What a request can take from a tool's file as it stands there: the pieces of shown messages that nothing was cut
//! from and that the protocol takes. What it does not take, the encoders write anew, and the fields that are lost by
//! that are listed.

use super::Protocol;
use super::encode::{EncodeError, Substitute, input, is_taken};
use super::splice::fates;
use super::unread;
use crate::Conversation;
use crate::document::View;
use crate::held::{HeldMessages, HeldPiece};
use epitome_core::{Block, EntryId, MessageView};
use serde_json::Value;
use serde_json::value::RawValue;
use std::cell::Cell;
use std::ops::Range;

/// A piece of a shown message, by the blocks of it that it is.
pub(super) struct ShownPiece {
    id: EntryId,
    piece: HeldPiece,
    /// Its JSON, where the piece is shown whole and its protocol takes it.
    literal: Option<Literal>,
    pub(super) blocks: Range<usize>,
    is_kept: Cell<bool>,
}

struct Literal {
    raw: Box<RawValue>,
    value: Value,
}

/// The pieces of each of some shown messages.
#[derive(Default)]
pub(super) struct ShownPieces(Vec<Vec<ShownPiece>>);

impl ShownPieces {
    /// The pieces of `shown`, for a request of `to`.
    pub(super) fn find(
        held: HeldMessages,
        to: Protocol,
        conversation: &Conversation,
        shown: &[MessageView],
    ) -> Result<Self, EncodeError> {
        let pieces = |view: &MessageView| -> Result<Vec<ShownPiece>, EncodeError> {
            let place = view.id.and_then(|id| Some((id, conversation.originals.place(id)?)));
            let Some((id, (spans, part))) = place else { return Ok(Vec::new()) };
            let runs: Result<Vec<Vec<u8>>, _> =
                spans.iter().map(|&span| conversation.originals.source().slice(span)).collect();
            // What cannot be read any more was not shown either.
            let found = (held.pieces)(&runs.map_err(EncodeError::Read)?, part).unwrap_or_default();
            Ok(aligned(id, found, view, Some(to).filter(|to| held.protocol == *to)))
        };
        shown.iter().map(pieces).collect::<Result<_, _>>().map(Self)
    }

    /// The pieces of the message at a place.
    pub(super) fn of(&self, at: usize) -> &[ShownPiece] {
        self.0.get(at).map_or(&[], Vec::as_slice)
    }

    /// Lists the fields that nobody reads of what was not kept.
    pub(super) fn list(&self, from: Protocol, substitutes: &mut Vec<Substitute>) {
        let mut found = Vec::new();
        for ShownPiece { id, piece, is_kept, .. } in self.0.iter().flatten() {
            found.extend(piece.around.iter().map(|key| (Some(*id), key.to_string())));
            if let Ok(view) = View::parse(&piece.json)
                && !is_kept.get()
            {
                unread::fields_of_piece(from, view, &mut |key| found.push((Some(*id), key.to_owned())));
            }
        }
        unread::list_once(found, substitutes);
    }
}

impl ShownPiece {
    /// What it is read as.
    pub(super) fn read(&self) -> &[Block] {
        &self.piece.blocks
    }

    /// Its JSON, where it can be written as it is.
    pub(super) fn value(&self) -> Option<&Value> {
        self.literal.as_ref().map(|literal| &literal.value)
    }

    /// The `type` of it; empty where it has none.
    pub(super) fn kind(&self) -> &str {
        self.value().and_then(|value| value.get("type")?.as_str()).unwrap_or_default()
    }

    /// Its JSON, to be written as it is.
    pub(super) fn keep(&self) -> Option<Box<RawValue>> {
        let raw = self.literal.as_ref().map(|literal| literal.raw.clone());
        self.is_kept.set(raw.is_some());
        raw
    }
}

/// The pieces with the blocks of the message that each is. A form leaves blocks out or puts others in their places, in
/// order; so a piece is shown as it is where its blocks stand next. `own` is the protocol of the request, where it is
/// that of the pieces.
fn aligned(id: EntryId, found: Vec<HeldPiece>, view: &MessageView, own: Option<Protocol>) -> Vec<ShownPiece> {
    let mut at = 0;
    let role = view.message.role;
    let place = |piece: HeldPiece| {
        let rest = &view.message.blocks[at..];
        let is_whole = rest.starts_with(&piece.blocks);
        let count = if is_whole { piece.blocks.len() } else { shown_of(&piece.blocks, rest) };
        let blocks = at..at + count;
        at += count;
        let can_stay = is_whole && piece.is_literal && !piece.blocks.is_empty();
        let parsed = own.filter(|_| can_stay).and_then(|to| Some((to, input::json(&piece.json)?)));
        let taken = parsed.filter(|(to, (value, _))| is_taken(*to, role, &piece.blocks, value));
        let literal = taken.map(|(_, (value, raw))| Literal { raw, value });
        ShownPiece { id, piece, literal, blocks, is_kept: Cell::new(false) }
    };
    found.into_iter().map(place).collect()
}

/// How many of `rest` are what was left of `blocks`.
fn shown_of(blocks: &[Block], rest: &[Block]) -> usize {
    let (_, left) = fates(&blocks.iter().collect::<Vec<_>>(), rest);
    rest.len() - left.len()
}
