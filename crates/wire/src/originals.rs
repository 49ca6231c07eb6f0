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

/// The archive of one conversation.
#[derive(Clone)]
pub struct Originals {
    source: Arc<dyn ByteSource>,
    /// How the bytes of a place are read.
    format: Format,
    /// By entry; none for entries that are not messages.
    places: Vec<Option<OriginalPlace>>,
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
        Self { source, format, places: Vec::new() }
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
        match self.places.get(id.index())?.as_ref()? {
            OriginalPlace::Spans { spans, .. } => Some(spans),
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
