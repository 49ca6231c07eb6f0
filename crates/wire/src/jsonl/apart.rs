//! Lines that are not one object: several joined, one cut off, halves of lines that two writers mixed, zeros
//! where a disk lost a block, or no JSON at all.

use super::problems::Damage;
use super::{JsonlObject, Problems, part_of};
use serde_json::value::RawValue;

/// How many beginnings of objects are tried in one line. Each may be read to the line's end in vain, and a
/// line that holds more halves than this is no transcript's.
const TRIES_MAX: usize = 64;

/// Takes the objects of a line which as a whole was refused.
pub(super) fn take_apart(
    whole: JsonlObject<'_>,
    refusal: &serde_json::Error,
    is_ended: bool,
    problems: &mut Problems,
    take: &mut impl FnMut(JsonlObject<'_>, &mut Problems) -> serde_json::Result<()>,
) {
    let mut refused = None;
    let (mut taken, mut end, mut is_broken) = (0, 0, false);
    for piece in LinePieces::of(whole.text) {
        is_broken |= !is_blank(&whole.text[end..piece.start]);
        end = piece.start + piece.json.len();
        match take(part_of(whole, piece.json), problems) {
            Ok(()) => taken += 1,
            Err(_) => refused = Some(reason(refusal)),
        }
    }
    is_broken |= !is_blank(&whole.text[end..]);
    let damage = match (refused, taken, is_broken) {
        (Some(why), 0, false) => Damage::Refused { why },
        (None, _, false) if whole.text.contains('\0') => Damage::Zeros,
        (_, 0, _) if is_json(whole.text) => Damage::NotAnObject,
        (_, 0, _) if !is_ended => Damage::CutOff,
        (_, 0, _) => Damage::NotJson,
        (Some(_), ..) | (None, _, true) => Damage::Broken,
        (None, 1, false) => return,
        (None, _, false) => Damage::Joined,
    };
    problems.add_damage(whole.line, damage);
}

/// What a reader says against a line, without the column, which no two lines share.
fn reason(refusal: &serde_json::Error) -> String {
    let why = refusal.to_string();
    why.rsplit_once(" at line ").map_or(why.as_str(), |(why, _)| why).to_owned()
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<&RawValue>(text).is_ok()
}

/// Whether nothing stands here that could be part of a record.
fn is_blank(text: &str) -> bool {
    text.bytes().all(|byte| byte == 0 || byte.is_ascii_whitespace())
}

/// One object of a line, and where it begins.
struct LinePiece<'a> {
    start: usize,
    json: &'a str,
}

/// The objects of a line that stand by themselves: nothing follows but another, or the end. What is nested in
/// the half of an object is followed by the rest of that half.
struct LinePieces<'a> {
    text: &'a str,
    at: usize,
    tries: usize,
}

impl<'a> LinePieces<'a> {
    fn of(text: &'a str) -> Self {
        Self { text, at: 0, tries: 0 }
    }

    fn piece_at(&self, start: usize) -> Option<LinePiece<'a>> {
        let mut values = serde_json::Deserializer::from_str(&self.text[start..]).into_iter::<&RawValue>();
        let json = values.next()?.ok()?.get();
        let behind = self.text[start + json.len()..].trim_start_matches(['\0', ' ', '\t', '\r']);
        (behind.is_empty() || behind.starts_with('{')).then_some(LinePiece { start, json })
    }
}

impl<'a> Iterator for LinePieces<'a> {
    type Item = LinePiece<'a>;

    fn next(&mut self) -> Option<LinePiece<'a>> {
        while self.tries < TRIES_MAX {
            let start = self.at + memchr::memchr(b'{', self.text.as_bytes().get(self.at..)?)?;
            if let Some(piece) = self.piece_at(start) {
                self.at = start + piece.json.len();
                return Some(piece);
            }
            self.at = start + 1;
            self.tries += 1;
        }
        None
    }
}
