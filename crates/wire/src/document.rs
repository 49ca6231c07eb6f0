//! Formats that are one JSON document, or a few: reading them whole, and finding each message again.
//!
//! A format says in a [`Dialect`] where its conversations are and how a message is made from the pieces
//! of text it stands in. The same function makes the message now and when its original is asked for
//! later, so only places are kept, never a second copy.

mod draft;
mod pairs;
mod view;

pub(crate) use draft::ConversationDraft;
pub(crate) use view::{ObjectView, View};

use crate::detect::DetectSample;
use crate::held::HeldMessages;
use crate::jsonl::Problems;
use crate::{ByteSource, Format, Problem, ReadError, Span, Transcript};
use epitome_core::{Measure, Message};
use serde_json::value::RawValue;
use std::io;
use std::sync::Arc;

/// The largest document we take: it is held in memory while it is read, and once only.
const DOCUMENT_BYTES_MAX: u64 = 1 << 30;

/// How one format is laid out.
pub(crate) trait Dialect: Sized {
    /// Its name.
    const FORMAT: Format;

    /// The provider's messages in its documents; none where they are in a form of the tool's own.
    const HOLDS: Option<HeldMessages> = None;

    /// Whether a value at the beginning of a file is a document of this format.
    fn is_document(sample: &DetectSample<'_>) -> bool;

    /// The conversations in the document's values, or why this is not the format.
    fn bodies<'a>(roots: &[View<'a>]) -> Result<Vec<ConversationView<'a>>, String>;

    /// Tells one conversation to the draft.
    fn tell(body: &ConversationView<'_>, draft: &mut ConversationDraft<'_, Self>);

    /// The message that `runs` say on `side`.
    fn message(runs: &[View<'_>], side: Side) -> Result<Message, String>;
}

/// One conversation as it stands in the document.
pub(crate) struct ConversationView<'a> {
    /// The fields around it: model, tools, state.
    pub(crate) around: ObjectView<'a>,
    /// Its messages, items or events, in order.
    pub(crate) elements: Vec<View<'a>>,
}

/// Which of the messages that share some bytes is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// What was said.
    Said = 0,
    /// What the harness added to it, or said in the user's place.
    Added = 1,
    /// The results of tool calls.
    Answered = 2,
}

impl Side {
    fn of(part: u32) -> Result<Self, String> {
        let all = [Self::Said, Self::Added, Self::Answered];
        let found = all.into_iter().find(|&side| side as u32 == part);
        found.ok_or_else(|| format!("no message has part {part}"))
    }
}

/// Reads a document of one format.
pub(crate) fn read<D: Dialect>(
    source: Arc<dyn ByteSource>,
    measure: &dyn Measure,
) -> Result<Transcript, ReadError> {
    let not_this = |why| ReadError::NotThis { format: D::FORMAT, why };
    let document = Document::load(&*source)?.map_err(not_this)?;
    let (roots, broken) = document.values().map_err(not_this)?;
    if roots.is_empty() {
        return Err(ReadError::Empty);
    }
    let bodies = D::bodies(&roots).map_err(not_this)?;
    let (mut conversations, mut problems) = (Vec::with_capacity(bodies.len()), Problems::default());
    for (index, body) in bodies.iter().enumerate() {
        let label = if bodies.len() > 1 { format!("conversation {}, ", index + 1) } else { String::new() };
        let mut draft = ConversationDraft::<D>::new(&document, source.clone(), measure, label, &mut problems);
        D::tell(body, &mut draft);
        conversations.push(draft.finish());
    }
    let mut problems = problems.told();
    problems.extend(broken.map(|what| Problem { line: None, what }));
    Ok(Transcript { format: D::FORMAT, conversations, problems })
}

/// Makes a message from the bytes of its spans, for the archive.
pub(crate) fn decode<D: Dialect>(runs: &[Vec<u8>], part: u32) -> Result<Message, String> {
    let views: Result<Vec<View<'_>>, String> = runs
        .iter()
        .map(|run| std::str::from_utf8(run).map_err(|error| error.to_string()))
        .map(|text| View::parse(text?).map_err(|error| error.to_string()))
        .collect();
    D::message(&views?, Side::of(part)?)
}

/// The text of a whole source.
pub(crate) struct Document {
    text: String,
}

impl Document {
    /// Reads all of `source`; the inner error says why it cannot be JSON.
    fn load(source: &dyn ByteSource) -> Result<Result<Self, String>, ReadError> {
        let bytes = read_all(source).map_err(ReadError::Read)?;
        Ok(String::from_utf8(bytes).map(|text| Self { text }).map_err(|error| {
            format!("byte {} is not UTF-8, so this is no JSON", error.utf8_error().valid_up_to())
        }))
    }

    /// Its values one after the other, and what is wrong with the rest where something is.
    fn values(&self) -> Result<(Vec<View<'_>>, Option<String>), String> {
        let json = self.text.trim_start_matches('\u{feff}');
        let mut stream = serde_json::Deserializer::from_str(json).into_iter::<&RawValue>();
        let mut values = Vec::new();
        while let Some(value) = stream.next() {
            match value {
                Ok(raw) => values.push(raw.into()),
                Err(error) => {
                    let lost = recover(&json[stream.byte_offset()..], &mut values);
                    if values.is_empty() {
                        return Err(broken(&error));
                    }
                    return Ok((values, Some(format!("{}; lines left out: {lost}", broken(&error)))));
                }
            }
        }
        Ok((values, None))
    }

    /// Where a view of this document stands.
    fn span(&self, view: View<'_>) -> Span {
        let start = view.json().as_ptr() as usize;
        let offset = start.checked_sub(self.text.as_ptr() as usize).expect("views are made from this text");
        Span { offset: offset as u64, len: view.json().len() as u32 }
    }
}

/// Where JSON is wrong, and whether it is merely cut off.
pub(crate) fn broken(error: &serde_json::Error) -> String {
    let what = if error.is_eof() { "ends too soon" } else { "breaks" };
    format!("its JSON {what}: {error}")
}

/// Takes up the values that stand on lines of their own in `rest`; says how many lines are not such.
fn recover<'a>(rest: &'a str, values: &mut Vec<View<'a>>) -> usize {
    let (whole, broken): (Vec<_>, Vec<_>) = rest
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| View::parse(line).ok().filter(|_| line.starts_with('{')))
        .partition(Option::is_some);
    values.extend(whole.into_iter().flatten());
    broken.len()
}

fn read_all(source: &dyn ByteSource) -> io::Result<Vec<u8>> {
    let len = source.len();
    if len > DOCUMENT_BYTES_MAX {
        let why = format!("the document has {len} bytes, over the limit of {DOCUMENT_BYTES_MAX}; split it");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    source.slice(Span { offset: 0, len: len as u32 })
}
