//! Files of one JSON object per line: finding the objects, and surviving the lines that are not.
//!
//! What an object means is left to the reader of each format.

mod ahead;
mod problems;
mod text;

pub(crate) use problems::Problems;
pub(crate) use text::{JsonText, TextOrBlocks};

use crate::{ByteSource, Lines, ReadError, SourceLine, Span};
use ahead::{LineContent, each_line_ahead};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// One object of a file.
#[derive(Clone, Copy)]
pub(crate) struct JsonlObject<'a> {
    /// The line it stands on, from 1.
    pub line: u64,
    /// Where it stands.
    pub span: Span,
    /// Its JSON.
    pub text: &'a str,
}

/// Hands each object of `source` to `take`, in order.
///
/// `take` parses what it is given and refuses what it cannot parse, having changed nothing; a refused
/// line is tried again as several objects, and what remains is a problem, not a failure.
pub(crate) fn each_object(
    source: &dyn ByteSource,
    problems: &mut Problems,
    mut take: impl FnMut(JsonlObject<'_>, &mut Problems) -> serde_json::Result<()>,
) -> Result<(), ReadError> {
    let mut lines = Lines::of(source);
    while let Some(line) = lines.next()? {
        if !line.bytes.trim_ascii_start().is_empty() {
            take_line(line, problems, &mut take);
        }
    }
    Ok(())
}

/// One object of a file, or what was made of its line ahead.
pub(crate) enum AheadObject<'a, T> {
    /// As it stands.
    Object(JsonlObject<'a>),
    /// Parsed ahead.
    Parsed {
        /// The line it stands on, from 1.
        line: u64,
        /// Where it stands.
        span: Span,
        /// What parsing gave.
        parsed: T,
    },
}

/// The same as [`each_object`], with lines parsed ahead on several threads. A line that `parse` makes
/// nothing of comes as it is.
pub(crate) fn each_object_ahead<T: Send>(
    source: &dyn ByteSource,
    problems: &mut Problems,
    parse: impl Fn(&str) -> Option<T> + Sync,
    mut take: impl FnMut(AheadObject<'_, T>, &mut Problems) -> serde_json::Result<()>,
) -> Result<(), ReadError> {
    each_line_ahead(source, &parse, |ahead| {
        let (line, span) = (ahead.line, ahead.span);
        match ahead.found {
            LineContent::Parsed(parsed) => {
                let taken = take(AheadObject::Parsed { line, span, parsed }, problems);
                debug_assert!(taken.is_ok(), "what was parsed is not refused");
            }
            LineContent::Bytes { bytes, is_ended } => {
                let line = SourceLine { number: line, span, bytes: &bytes, is_ended };
                take_line(line, problems, &mut |object, problems| {
                    take(AheadObject::Object(object), problems)
                });
            }
        }
    })
}

/// Takes a line that is not blank: one object, or whatever else it holds.
fn take_line(
    line: SourceLine<'_>,
    problems: &mut Problems,
    take: &mut impl FnMut(JsonlObject<'_>, &mut Problems) -> serde_json::Result<()>,
) {
    let text = decoded(line.bytes);
    if matches!(text, Cow::Owned(_)) {
        problems.add(line.number, "is not UTF-8 throughout; what cannot be read is shown as \u{fffd}");
    }
    let whole = JsonlObject { line: line.number, span: line.span, text: &text };
    if let Err(error) = take(whole, problems) {
        take_apart(whole, &error, line.is_ended, problems, take);
    }
}

/// The text of a line; bytes that are no text become the replacement character.
pub(crate) fn decoded(bytes: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// Takes a line that is not one object: several of them, or one cut off, or no JSON at all.
fn take_apart(
    whole: JsonlObject<'_>,
    refusal: &serde_json::Error,
    is_ended: bool,
    problems: &mut Problems,
    take: &mut impl FnMut(JsonlObject<'_>, &mut Problems) -> serde_json::Result<()>,
) {
    if whole.text.len() != whole.span.len as usize {
        return problems
            .add(whole.line, "is not one object, and being no UTF-8 cannot be taken apart; left out");
    }
    let mut pieces = serde_json::Deserializer::from_str(whole.text).into_iter::<&RawValue>();
    let mut taken = 0;
    for piece in &mut pieces {
        let Ok(piece) = piece else {
            problems.add(whole.line, broken(is_ended, taken));
            return;
        };
        match take(part_of(whole, piece.get()), problems) {
            Ok(()) => taken += 1,
            Err(_) => problems.add(whole.line, format!("cannot be read ({refusal}); left out")),
        }
    }
    if taken > 1 {
        problems.add(whole.line, format!("holds {taken} objects with no newline between; all are taken"));
    }
}

fn broken(is_ended: bool, taken: usize) -> String {
    match (is_ended, taken) {
        (false, 0) => "is cut off, as a last line is while it is written; the file is taken up to it".into(),
        (false, _) => format!("is cut off after {taken} objects, which are taken"),
        (true, 0) => "is not JSON; left out".into(),
        (true, _) => format!("is not JSON after its first {taken} objects, which are taken"),
    }
}

/// The object that `piece`, a slice of the text of `whole`, stands for.
pub(crate) fn part_of<'a>(whole: JsonlObject<'a>, piece: &'a str) -> JsonlObject<'a> {
    let skipped = (piece.as_ptr() as usize).wrapping_sub(whole.text.as_ptr() as usize);
    let span = Span { offset: whole.span.offset + skipped as u64, len: piece.len() as u32 };
    JsonlObject { line: whole.line, span, text: piece }
}

/// The raw elements of the `content` list of a JSON object; none where it has no such list.
pub(crate) fn raw_content(object: &str) -> Vec<&RawValue> {
    #[derive(Deserialize)]
    struct ContentField<'a> {
        #[serde(borrow)]
        content: Vec<&'a RawValue>,
    }
    serde_json::from_str::<ContentField<'_>>(object).map_or_else(|_| Vec::new(), |holder| holder.content)
}

#[cfg(test)]
mod tests {
    use super::{Problems, each_object};
    use serde::Deserialize;

    #[derive(Deserialize)]
    struct Numbered {
        n: u32,
    }

    fn read(bytes: &[u8]) -> (Vec<u32>, Vec<String>) {
        let (mut problems, mut numbers) = (Problems::default(), Vec::new());
        each_object(&bytes.to_vec(), &mut problems, |object, _| {
            numbers.push(serde_json::from_str::<Numbered>(object.text)?.n);
            Ok(())
        })
        .expect("memory can be read");
        let told = problems.told().into_iter().map(|p| format!("{:?} {}", p.line, p.what)).collect();
        (numbers, told)
    }

    #[test]
    fn two_objects_on_a_line_are_both_taken() {
        let (numbers, told) = read(b"{\"n\":1}{\"n\":2}\n{\"n\":3}\n");
        assert_eq!(numbers, [1, 2, 3]);
        assert_eq!(told, ["Some(1) holds 2 objects with no newline between; all are taken"]);
    }

    #[test]
    fn a_last_line_that_is_cut_off_is_told_and_the_rest_is_taken() {
        let (numbers, told) = read(b"{\"n\":1}\n\n{\"n\":2");
        assert_eq!(numbers, [1]);
        let cut = "Some(3) is cut off, as a last line is while it is written; the file is taken up to it";
        assert_eq!(told, [cut]);
    }

    #[test]
    fn a_whole_last_line_needs_no_newline() {
        assert_eq!(read(b"{\"n\":1}\n{\"n\":2}"), (vec![1, 2], vec![]));
    }

    #[test]
    fn bytes_that_are_no_text_do_not_stop_reading() {
        let (numbers, told) = read(b"{\"n\":1,\"t\":\"\xff\"}\nno json\n{\"m\":1}\n{\"n\":2}\n");
        assert_eq!(numbers, [1, 2]);
        assert_eq!(told.len(), 3);
    }
}
