//! Server-sent events out of bytes that may be split anywhere. What an event means is left to the
//! assemblers.

/// One event: its name, empty where it has none, and its data, lines joined by newlines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamEvent {
    /// The `event` field.
    pub name: String,
    /// The `data` fields.
    pub data: String,
}

/// The last event of a Responses stream repeats the whole reply, generated pictures included, so an
/// event may be as large as a body; past this it is skipped, or one stream could fill the memory.
const EVENT_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Takes a stream apart into events as its bytes come in.
///
/// ```
/// use epitome_wire::sse::Events;
///
/// let mut events = Events::default();
/// assert!(events.push(b"event: ping\r\ndata: {\"ty").is_empty());
/// let whole = events.push(b"pe\":\"ping\"}\r\n\r\n");
/// assert_eq!((whole[0].name.as_str(), whole[0].data.as_str()), ("ping", r#"{"type":"ping"}"#));
/// ```
#[derive(Debug, Default)]
pub struct Events {
    line: Vec<u8>,
    event: EventDraft,
    /// Whether the byte before was a carriage return: a newline after it ends no second line.
    is_after_return: bool,
    /// Whether the first line is behind us; only that one may begin with a byte order mark.
    is_begun: bool,
    skipped: u32,
}

/// An event whose end has not come.
#[derive(Debug, Default)]
struct EventDraft {
    name: String,
    data: Vec<String>,
    bytes: usize,
    is_oversized: bool,
}

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

impl Events {
    /// Takes the next bytes; gives the events they complete.
    pub fn push(&mut self, mut bytes: &[u8]) -> Vec<StreamEvent> {
        let mut whole = Vec::new();
        if std::mem::take(&mut self.is_after_return) && !bytes.is_empty() {
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        while let Some(end) = memchr::memchr2(b'\n', b'\r', bytes) {
            self.grow(&bytes[..end]);
            whole.extend(self.end_line());
            let is_return = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            if is_return {
                self.is_after_return = bytes.is_empty();
                bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
            }
        }
        self.grow(bytes);
        whole
    }

    /// The event the stream ended in. Some servers close right behind `[DONE]`, without a blank line.
    pub fn finish(mut self) -> Option<StreamEvent> {
        let last = self.end_line();
        last.or_else(|| self.dispatch())
    }

    /// How many events were skipped for their size.
    pub(crate) fn skipped(&self) -> u32 {
        self.skipped
    }

    fn grow(&mut self, bytes: &[u8]) {
        self.event.bytes += bytes.len();
        self.event.is_oversized |= self.event.bytes > EVENT_BYTES_MAX;
        if self.event.is_oversized {
            // What is kept of it says only that the line is not blank, and so does not end the event.
            self.event.data.clear();
            self.line.truncate(1);
            self.line.extend(bytes.first().filter(|_| self.line.is_empty()));
        } else {
            self.line.extend_from_slice(bytes);
        }
    }

    fn end_line(&mut self) -> Option<StreamEvent> {
        let line = std::mem::take(&mut self.line);
        let mark = if std::mem::replace(&mut self.is_begun, true) { None } else { Some(BYTE_ORDER_MARK) };
        let line = mark.and_then(|mark| line.strip_prefix(mark)).unwrap_or(&line);
        if line.is_empty() {
            return self.dispatch();
        }
        self.event.take(&String::from_utf8_lossy(line));
        None
    }

    fn dispatch(&mut self) -> Option<StreamEvent> {
        let draft = std::mem::take(&mut self.event);
        self.skipped += u32::from(draft.is_oversized);
        let is_event = !draft.data.is_empty() && !draft.is_oversized;
        is_event.then(|| StreamEvent { name: draft.name, data: draft.data.join("\n") })
    }
}

impl EventDraft {
    /// One line: a field with its value, a field alone, or a comment.
    fn take(&mut self, line: &str) {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" if !self.is_oversized => self.data.push(value.to_owned()),
            "event" => self.name = value.to_owned(),
            // Comments, `id`, `retry`, and the data of an event that is being skipped.
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{EVENT_BYTES_MAX, Events, StreamEvent};

    fn parse(pieces: &[&[u8]]) -> Vec<(String, String)> {
        let mut events = Events::default();
        let mut all: Vec<StreamEvent> = pieces.iter().flat_map(|piece| events.push(piece)).collect();
        all.extend(events.finish());
        all.into_iter().map(|event| (event.name, event.data)).collect()
    }

    fn expected(all: &[(&str, &str)]) -> Vec<(String, String)> {
        all.iter().map(|&(name, data)| (name.to_owned(), data.to_owned())).collect()
    }

    #[test]
    fn lines_end_three_ways_and_may_be_split_anywhere() {
        let text = "\u{feff}event: a\r\ndata: 1\r\n\r\n: a comment\rdata:2\rdata:  ü\r\rdata\n\nid: 7\n\ndata: [DONE]";
        let all = expected(&[("a", "1"), ("", "2\n ü"), ("", ""), ("", "[DONE]")]);
        assert_eq!(parse(&[text.as_bytes()]), all);
        for split in 0..text.len() {
            let (head, tail) = text.as_bytes().split_at(split);
            assert_eq!(parse(&[head, tail]), all, "split at {split}");
        }
        let single: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
        assert_eq!(parse(&single), all);
    }

    #[test]
    fn an_event_beyond_the_limit_is_skipped_and_counted_and_the_next_one_is_read() {
        let mut events = Events::default();
        let mut all = events.push(b"data: ");
        let filling = vec![b'x'; 1024 * 1024];
        for _ in 0..=EVENT_BYTES_MAX / filling.len() {
            all.extend(events.push(&filling));
        }
        all.extend(events.push(b"\ndata: more of it\n\ndata: small\n\n"));
        assert_eq!(all, [StreamEvent { name: String::new(), data: "small".into() }]);
        assert_eq!((events.skipped(), events.line.capacity() < EVENT_BYTES_MAX * 2), (1, true));
    }
}
