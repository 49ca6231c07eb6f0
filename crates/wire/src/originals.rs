//! Finding a message's original again: each message remembers where it stands, not what it says.

use crate::{ByteSource, Format, Span};
use epitome_core::{Archive, ArchiveError, EntryId, Message};
use std::sync::Arc;

/// Where the original of one message is.
#[derive(Clone, Debug)]
pub(crate) enum OriginalPlace {
    /// In these runs of the source; `part` tells apart several messages made from the same bytes.
    Spans {
        /// The runs, in order.
        spans: Box<[Span]>,
        /// Which of the messages made from them.
        part: u32,
    },
    /// In memory.
    Held(Arc<Message>),
}

/// Where a request body stands in its source, to be written again from its own bytes.
#[derive(Clone, Debug)]
pub(crate) struct BodyPlace {
    /// The body, and the list of messages in it; none where the messages stand by themselves.
    pub(crate) frame: Option<BodyFrame>,
    /// The elements of the list, in order.
    pub(crate) elements: Vec<Span>,
    /// How many of them open it as instructions, and are no messages of the history.
    pub(crate) opening: usize,
}

/// A body and its list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BodyFrame {
    pub(crate) body: Span,
    pub(crate) list: Span,
}

/// The archive of one conversation.
#[derive(Clone)]
pub struct Originals {
    source: Arc<dyn ByteSource>,
    /// How the bytes of a place are read.
    format: Format,
    /// By entry; none for entries that are not messages.
    places: Vec<Option<OriginalPlace>>,
    /// The request body they stand in, where that is what was read.
    body: Option<Arc<BodyPlace>>,
}

impl std::fmt::Debug for Originals {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Originals")
            .field("format", &self.format)
            .field("entries", &self.places.len())
            .finish_non_exhaustive()
    }
}

impl Originals {
    /// An empty archive over `source`, whose messages are written in `format`.
    pub(crate) fn new(source: Arc<dyn ByteSource>, format: Format) -> Self {
        Self { source, format, places: Vec::new(), body: None }
    }

    /// Remembers the request body that the messages stand in.
    pub(crate) fn put_body(&mut self, body: BodyPlace) {
        self.body = Some(Arc::new(body));
    }

    /// The request body that the messages stand in.
    pub(crate) fn body(&self) -> Option<&BodyPlace> {
        self.body.as_deref()
    }

    /// How the bytes of the messages are written.
    pub(crate) fn format(&self) -> Format {
        self.format
    }

    /// What the places are places in.
    pub(crate) fn source(&self) -> &dyn ByteSource {
        &*self.source
    }

    /// Remembers where the message of `id` is.
    pub(crate) fn put(&mut self, id: EntryId, place: OriginalPlace) {
        if self.places.len() <= id.index() {
            self.places.resize(id.index() + 1, None);
        }
        self.places[id.index()] = Some(place);
    }

    /// The bytes behind a message, exactly as they stand in the source; none where it is held in memory.
    pub fn spans(&self, id: EntryId) -> Option<&[Span]> {
        self.place(id).map(|(spans, _)| spans)
    }

    /// The same, and which of the messages made from them it is.
    pub(crate) fn place(&self, id: EntryId) -> Option<(&[Span], u32)> {
        match self.places.get(id.index())?.as_ref()? {
            OriginalPlace::Spans { spans, part } => Some((spans, *part)),
            OriginalPlace::Held(_) => None,
        }
    }

    /// Which of the messages made from its spans a message is.
    pub(crate) fn part(&self, id: EntryId) -> Option<u32> {
        match self.places.get(id.index())?.as_ref()? {
            OriginalPlace::Spans { part, .. } => Some(*part),
            OriginalPlace::Held(_) => None,
        }
    }

    fn read(&self, spans: &[Span], part: u32) -> Result<Message, String> {
        let runs: Result<Vec<Vec<u8>>, _> = spans.iter().map(|&span| self.source.slice(span)).collect();
        (self.format.row().decode)(&runs.map_err(|error| error.to_string())?, part)
    }
}

impl Archive for Originals {
    fn message(&self, id: EntryId) -> Result<Arc<Message>, ArchiveError> {
        match self.places.get(id.index()).and_then(Option::as_ref) {
            Some(OriginalPlace::Held(message)) => Ok(message.clone()),
            Some(OriginalPlace::Spans { spans, part }) => {
                self.read(spans, *part).map(Arc::new).map_err(|why| ArchiveError { id, why })
            }
            None => Err(ArchiveError { id, why: "no message has this id".into() }),
        }
    }
}
