//! What the user's side says and what tools answer, cut into the few kinds every protocol can write.

use super::arrange::Said;
use super::picture::{Picture, UNREADABLE};
use super::{NO_USER_MESSAGE, opaque_marker};
use crate::validate::is_blank;
use epitome_core::{Call, Image, Opaque, ResultPart, ToolResult};
use std::borrow::Cow;

/// A piece that says something.
pub(super) enum Piece<'a> {
    Text(Cow<'a, str>),
    Note(&'a str),
    Picture(Picture<'a>),
    Opaque(&'a Opaque),
}

/// What the user's side said, without what says nothing.
pub(super) fn said<'a>(said: &[Said<'a>]) -> Vec<Piece<'a>> {
    said.iter().flat_map(pieces_of).collect()
}

fn pieces_of<'a>(said: &Said<'a>) -> Vec<Piece<'a>> {
    match said {
        Said::Text(text) => text_piece(text).into_iter().collect(),
        Said::Note(text) => (!is_blank(text)).then_some(Piece::Note(text)).into_iter().collect(),
        Said::Image(image) => vec![picture_piece(image)],
        Said::Opaque(opaque) => vec![Piece::Opaque(opaque)],
        Said::Orphan(result) => orphan_pieces(result),
        Said::Foreign(call) => vec![Piece::Text(foreign_text(call).into())],
    }
}

/// A system note where the protocol has no place for one.
pub(super) fn note_text(note: &str) -> String {
    format!("[system note] {note}")
}

/// What a tool answered, without what says nothing.
pub(super) fn answered(result: &ToolResult) -> Vec<Piece<'_>> {
    let pieces = result.parts.iter().filter_map(|part| match part {
        ResultPart::Text { text } => text_piece(text),
        ResultPart::Image(image) => Some(picture_piece(image)),
        ResultPart::Opaque(opaque) => Some(Piece::Opaque(opaque)),
    });
    pieces.collect()
}

fn text_piece(text: &str) -> Option<Piece<'_>> {
    (!is_blank(text)).then_some(Piece::Text(text.into()))
}

fn picture_piece(image: &Image) -> Piece<'_> {
    Picture::of(image).map_or(Piece::Text(UNREADABLE.into()), Piece::Picture)
}

fn orphan_pieces(result: &ToolResult) -> Vec<Piece<'_>> {
    let opening = format!("[result of call {}, apart from it]\n{}", result.call, result.text());
    let mut pieces = vec![Piece::Text(opening.into())];
    pieces.extend(answered(result).into_iter().filter(|piece| matches!(piece, Piece::Picture(_))));
    pieces
}

pub(super) fn foreign_text(call: &Call) -> String {
    format!("[{} was called with: {}]", call.name, call.input)
}

/// What stands for a run of which nothing can be written.
pub(super) fn absent(pieces: &[Piece<'_>]) -> String {
    let marker = pieces.iter().find_map(|piece| match piece {
        Piece::Opaque(opaque) => Some(opaque_marker(&opaque.kind)),
        Piece::Text(_) | Piece::Note(_) | Piece::Picture(_) => None,
    });
    marker.unwrap_or_else(|| NO_USER_MESSAGE.into())
}
