//! What the user's side says and what tools answer, cut into the few kinds every protocol can write.

use super::arrange::{CallResult, CarriedBlock, UserPiece};
use super::picture::Picture;
use crate::validate::is_blank;
use epitome_core::{Call, EntryId, Image, ResultPart};
use std::borrow::Cow;

/// A piece that says something.
pub(super) enum PlainPiece<'a> {
    Text(Cow<'a, str>),
    Note(&'a str),
    Picture(Picture<'a>),
    /// A picture nobody could read.
    Unreadable(Option<EntryId>),
    Opaque(CarriedBlock<'a>),
}

/// What the user's side said, without what says nothing.
pub(super) fn said<'a>(said: &[UserPiece<'a>]) -> Vec<PlainPiece<'a>> {
    said.iter().flat_map(pieces_of).collect()
}

fn pieces_of<'a>(said: &UserPiece<'a>) -> Vec<PlainPiece<'a>> {
    match said {
        UserPiece::Text(text) => text_piece(text).into_iter().collect(),
        UserPiece::Note(text) => (!is_blank(text)).then_some(PlainPiece::Note(text)).into_iter().collect(),
        UserPiece::Image { id, image } => vec![picture_piece(*id, image)],
        UserPiece::Opaque(carried) => vec![PlainPiece::Opaque(*carried)],
        UserPiece::Orphan(answer) => orphan_pieces(*answer),
        UserPiece::Foreign(call) => vec![PlainPiece::Text(foreign_text(call).into())],
    }
}

/// A system note where the protocol has no place for one.
pub(super) fn note_text(note: &str) -> String {
    format!("[system note] {note}")
}

/// What a tool answered, without what says nothing.
pub(super) fn answered<'a>(CallResult { id, result }: CallResult<'a>) -> Vec<PlainPiece<'a>> {
    let pieces = result.parts.iter().filter_map(|part| match part {
        ResultPart::Text { text } => text_piece(text),
        ResultPart::Image(image) => Some(picture_piece(id, image)),
        ResultPart::Opaque(opaque) => Some(PlainPiece::Opaque(CarriedBlock { id, opaque })),
    });
    pieces.collect()
}

fn text_piece(text: &str) -> Option<PlainPiece<'_>> {
    (!is_blank(text)).then_some(PlainPiece::Text(text.into()))
}

fn picture_piece(id: Option<EntryId>, image: &Image) -> PlainPiece<'_> {
    Picture::of(image).map_or(PlainPiece::Unreadable(id), PlainPiece::Picture)
}

fn orphan_pieces(answer: CallResult<'_>) -> Vec<PlainPiece<'_>> {
    let CallResult { result, .. } = answer;
    let opening = format!("[result of call {}, apart from it]\n{}", result.call, result.text());
    let mut pieces = vec![PlainPiece::Text(opening.into())];
    pieces.extend(answered(answer).into_iter().filter(|piece| !matches!(piece, PlainPiece::Text(_))));
    pieces
}

pub(super) fn foreign_text(call: &Call) -> String {
    format!("[{} was called with: {}]", call.name, call.input)
}
