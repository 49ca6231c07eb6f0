//! Files of one JSON object per line: finding the objects, and surviving the lines that are not.
//!
//! What an object means is left to the reader of each format.

mod ahead;
mod apart;
mod field;
mod line_text;
mod problems;
mod raw_list;
mod text;

pub(crate) use field::{Field, FieldValue, object_values};
pub(crate) use line_text::decoded;
pub(crate) use problems::Problems;
pub(crate) use raw_list::RawList;
pub(crate) use text::{JsonText, TextOrBlocks};

use crate::{ByteSource, Lines, ReadError, SourceLine, Span};
use ahead::{LineContent, each_line_ahead};
use apart::take_apart;
use line_text::LineText;
use problems::Damage;

/// One object of a file.
#[derive(Clone, Copy)]
pub(crate) struct JsonlObject<'a> {
    /// The line it stands on, from 1.
    pub line: u64,
    /// Where it stands.
    pub span: Span,
    /// Its JSON, mended where it was no text.
    pub text: &'a str,
    /// The line it is of.
    line_text: &'a LineText<'a>,
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
    let text = LineText::of(line.bytes);
    if text.has_other_bytes() {
        problems.add_damage(line.number, Damage::NotUtf8);
    }
    if text.has_half_pairs {
        problems.add_damage(line.number, Damage::HalfPair);
    }
    let whole = JsonlObject { line: line.number, span: line.span, text: &text.text, line_text: &text };
    if let Err(error) = take(whole, problems) {
        take_apart(whole, &error, line.is_ended, problems, take);
    }
}

/// The object that `piece`, a slice of the text of `whole`, stands for.
pub(crate) fn part_of<'a>(whole: JsonlObject<'a>, piece: &'a str) -> JsonlObject<'a> {
    let skipped = whole.line_text.bytes_between(whole.text, piece);
    let len = whole.line_text.bytes_between(piece, &piece[piece.len()..]) as u32;
    let span = Span { offset: whole.span.offset + skipped, len };
    JsonlObject { span, text: piece, ..whole }
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
        assert_eq!(told, ["Some(1) holds several records with no newline between; all are taken"]);
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
        let (numbers, told) = read(b"{\"n\":1,\"t\":\"\xff\"}\nno json\n{\"m\":1}\n{\"n\":2}\n\xff\n");
        assert_eq!(numbers, [1, 2]);
        assert_eq!(
            told,
            [
                "Some(1) is not UTF-8 throughout; what cannot be read is shown as \u{fffd} (2 such lines, this the first)",
                "Some(2) is not JSON; left out (2 such lines, this the first)",
                "Some(3) cannot be read (missing field `n`); left out",
            ]
        );
    }

    #[test]
    fn what_is_whole_in_a_damaged_line_is_taken() {
        let damaged = "Some(1) is damaged; the whole records in it are taken, the rest is left out";
        let cases: [(&[u8], &[u32], &[&str]); 7] = [
            (b"{\"n\":1,\"t\":\"ha{\"n\":2}\n", &[2], &[damaged]),
            (b"{\"n\":1,\"deep\":{\"n\":7},\"t{\"n\":2}\n", &[2], &[damaged]),
            (b"{\"n\":1}{\"n\":2,\"t\":\"ha\n{\"n\":3}\n", &[1, 3], &[damaged]),
            (
                b"\0\0\0{\"n\":1}\0\0\n\0\0\n{\"n\":2}\n",
                &[1, 2],
                &[
                    "Some(1) holds zero bytes, as a disk leaves where it lost something; what else is there is taken (2 such lines, this the first)",
                ],
            ),
            (
                b"[{\"n\":1}]\n\"n\"\n{\"n\":2}\n",
                &[2],
                &["Some(1) is JSON, but no record; left out (2 such lines, this the first)"],
            ),
            (
                b"{\"n\":1}\n{\"n\":2}{\"n\":3",
                &[1, 2],
                &["Some(2) is damaged; the whole records in it are taken, the rest is left out"],
            ),
            (b"{\"n\":{\"n\":{\"n\":{\"n\n", &[], &["Some(1) is not JSON; left out"]),
        ];
        for (bytes, numbers, told) in cases {
            let expected = (numbers.to_vec(), told.iter().map(|what| (*what).to_owned()).collect());
            assert_eq!(read(bytes), expected, "{}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn a_line_of_many_beginnings_is_given_up_soon() {
        let mut bytes = br#"{"n":"#.repeat(200_000);
        bytes.extend(b"\n{\"n\":1}\n");
        assert_eq!(read(&bytes), (vec![1], vec!["Some(1) is not JSON; left out".into()]));
    }
}
