//! What the user's side says and what tools answer, cut into the few kinds every protocol can write.

use super::arrange::{CarriedBlock, MessageResult, UserPiece, said_by};
use super::picture::Picture;
use crate::protocol::held::ShownPiece;
use crate::validate::is_blank;
use epitome_core::{Call, EntryId, Image, ResultPart, Role};
use serde_json::value::RawValue;
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

/// Something the user's side said.
pub(super) enum SaidPiece<'a> {
    Plain(PlainPiece<'a>),
    /// As it stands in the transcript, where that can be written.
    Held {
        id: Option<EntryId>,
        piece: &'a ShownPiece,
    },
}

impl<'a> SaidPiece<'a> {
    /// Its JSON, to be written as it is.
    pub(super) fn kept(&self) -> Option<Box<RawValue>> {
        match self {
            Self::Plain(_) => None,
            Self::Held { piece, .. } => piece.keep(),
        }
    }

    /// What it says, to be written anew.
    pub(super) fn plain(self) -> Vec<PlainPiece<'a>> {
        match self {
            Self::Plain(piece) => vec![piece],
            Self::Held { id, piece } => read_anew(id, piece),
        }
    }
}

/// What the user's side said, without what says nothing.
pub(super) fn said<'a>(said: &[UserPiece<'a>]) -> Vec<SaidPiece<'a>> {
    let mut all = Vec::with_capacity(said.len());
    for piece in said {
        match piece {
            UserPiece::Held { id, piece } => all.push(SaidPiece::Held { id: *id, piece }),
            UserPiece::Text(_)
            | UserPiece::Note(_)
            | UserPiece::Image { .. }
            | UserPiece::Opaque(_)
            | UserPiece::Orphan(_)
            | UserPiece::Foreign(_) => all.extend(pieces_of(piece).into_iter().map(SaidPiece::Plain)),
        }
    }
    all
}

fn pieces_of<'a>(said: &UserPiece<'a>) -> Vec<PlainPiece<'a>> {
    match said {
        UserPiece::Text(text) => text_piece(text).into_iter().collect(),
        UserPiece::Note(text) => (!is_blank(text)).then_some(PlainPiece::Note(text)).into_iter().collect(),
        UserPiece::Image { id, image } => vec![picture_piece(*id, image)],
        UserPiece::Opaque(carried) => vec![PlainPiece::Opaque(*carried)],
        UserPiece::Orphan(answer) => orphan_pieces(*answer),
        UserPiece::Foreign(call) => vec![PlainPiece::Text(foreign_text(call).into())],
        UserPiece::Held { id, piece } => read_anew(*id, piece),
    }
}

/// What a piece says that cannot be written as it stands.
fn read_anew(id: Option<EntryId>, piece: &ShownPiece) -> Vec<PlainPiece<'_>> {
    let said = piece.read().iter().filter_map(|block| said_by(id, block, Role::User));
    said.flat_map(|said| pieces_of(&said)).collect()
}

/// A system note where the protocol has no place for one.
pub(super) fn note_text(note: &str) -> String {
    format!("[system note] {note}")
}

/// What a tool answered, without what says nothing.
pub(super) fn answered<'a>(MessageResult { id, result, .. }: MessageResult<'a>) -> Vec<PlainPiece<'a>> {
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

fn orphan_pieces(answer: MessageResult<'_>) -> Vec<PlainPiece<'_>> {
    let MessageResult { result, .. } = answer;
    let opening = format!("[result of call {}, apart from it]\n{}", result.call, result.text());
    let mut pieces = vec![PlainPiece::Text(opening.into())];
    pieces.extend(answered(answer).into_iter().filter(|piece| !matches!(piece, PlainPiece::Text(_))));
    pieces
}

pub(super) fn foreign_text(call: &Call) -> String {
    format!("[{} was called with: {}]", call.name, call.input)
}
