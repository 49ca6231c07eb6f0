//! What the user's side says and what tools answer, cut into the few kinds every protocol can write.

use super::arrange::UserPiece;
use super::picture::{Picture, UNREADABLE};
use super::{NO_USER_MESSAGE, opaque_marker};
use crate::validate::is_blank;
use epitome_core::{Call, Image, Opaque, ResultPart, ToolResult};
use std::borrow::Cow;

/// A piece that says something.
pub(super) enum PlainPiece<'a> {
    Text(Cow<'a, str>),
    Note(&'a str),
    Picture(Picture<'a>),
    Opaque(&'a Opaque),
}

/// What the user's side said, without what says nothing.
pub(super) fn said<'a>(said: &[UserPiece<'a>]) -> Vec<PlainPiece<'a>> {
    said.iter().flat_map(pieces_of).collect()
}

fn pieces_of<'a>(said: &UserPiece<'a>) -> Vec<PlainPiece<'a>> {
    match said {
        UserPiece::Text(text) => text_piece(text).into_iter().collect(),
        UserPiece::Note(text) => (!is_blank(text)).then_some(PlainPiece::Note(text)).into_iter().collect(),
        UserPiece::Image(image) => vec![picture_piece(image)],
        UserPiece::Opaque(opaque) => vec![PlainPiece::Opaque(opaque)],
        UserPiece::Orphan(result) => orphan_pieces(result),
        UserPiece::Foreign(call) => vec![PlainPiece::Text(foreign_text(call).into())],
    }
}

/// A system note where the protocol has no place for one.
pub(super) fn note_text(note: &str) -> String {
    format!("[system note] {note}")
}

/// What a tool answered, without what says nothing.
pub(super) fn answered(result: &ToolResult) -> Vec<PlainPiece<'_>> {
    let pieces = result.parts.iter().filter_map(|part| match part {
        ResultPart::Text { text } => text_piece(text),
        ResultPart::Image(image) => Some(picture_piece(image)),
        ResultPart::Opaque(opaque) => Some(PlainPiece::Opaque(opaque)),
    });
    pieces.collect()
}

fn text_piece(text: &str) -> Option<PlainPiece<'_>> {
    (!is_blank(text)).then_some(PlainPiece::Text(text.into()))
}

fn picture_piece(image: &Image) -> PlainPiece<'_> {
    Picture::of(image).map_or(PlainPiece::Text(UNREADABLE.into()), PlainPiece::Picture)
}

fn orphan_pieces(result: &ToolResult) -> Vec<PlainPiece<'_>> {
    let opening = format!("[result of call {}, apart from it]\n{}", result.call, result.text());
    let mut pieces = vec![PlainPiece::Text(opening.into())];
    pieces.extend(answered(result).into_iter().filter(|piece| matches!(piece, PlainPiece::Picture(_))));
    pieces
}

pub(super) fn foreign_text(call: &Call) -> String {
    format!("[{} was called with: {}]", call.name, call.input)
}

/// What stands for a run of which nothing can be written.
pub(super) fn absent(pieces: &[PlainPiece<'_>]) -> String {
    let marker = pieces.iter().find_map(|piece| match piece {
        PlainPiece::Opaque(opaque) => Some(opaque_marker(&opaque.kind)),
        PlainPiece::Text(_) | PlainPiece::Note(_) | PlainPiece::Picture(_) => None,
    });
    marker.unwrap_or_else(|| NO_USER_MESSAGE.into())
}
