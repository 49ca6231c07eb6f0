//! The beginning of a file as text: where it stops being text, and how to close JSON that goes on.

/// The text at the start of `bytes`, and what ends it where something other than the cut does.
pub(super) fn text_of(bytes: &[u8]) -> (&str, Option<String>) {
    let zero = memchr::memchr(0, bytes);
    let valid = bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid());
    let broken = bytes.get(valid.len()..).filter(|rest| has_wrong_byte(rest)).map(|_| valid.len());
    match (zero.filter(|&at| at <= valid.len()), broken) {
        (Some(at), _) => (&valid[..at], Some(format!("byte {at} is zero, so this is a binary file"))),
        (None, Some(at)) => {
            (valid, Some(format!("byte {at} is not UTF-8, so this is binary, or text in another encoding")))
        }
        (None, None) => (valid, None),
    }
}

/// Whether `rest` begins with what cannot be UTF-8, rather than with half a character.
fn has_wrong_byte(rest: &[u8]) -> bool {
    std::str::from_utf8(rest).is_err_and(|error| error.error_len().is_some())
}

/// What a text that has no known shape looks like, in words.
pub(super) fn describe(text: &str) -> String {
    let text = text.trim_start();
    let what = match text.as_bytes().first() {
        Some(b'<') => "it begins like HTML or XML",
        Some(b'0'..=b'9' | b'-') if text.trim_end().parse::<f64>().is_ok() => "it is a lone number",
        Some(b'"') => "it is a lone string",
        Some(b'{') => "it is JSON, but its fields are those of no transcript",
        Some(b'[') => "it is a JSON array, but not of messages or events",
        Some(_) | None => "it is not JSON",
    };
    let beginning: String = text.chars().take(BEGINNING_CHARS).collect();
    format!("{what} (it begins {beginning:?})")
}

/// Enough to recognise a file by, short enough for one line.
const BEGINNING_CHARS: usize = 40;

/// JSON that was cut somewhere, made whole: back to the last point where a value had ended or a
/// container had begun, and everything still open closed there.
pub(super) fn close(json: &str) -> String {
    let mut cut = CutFinder::default();
    for (at, byte) in json.bytes().enumerate() {
        cut.step(at, byte);
    }
    let mut whole = json[..cut.end].to_owned();
    whole.extend(cut.closers.iter().rev());
    whole
}

/// Where JSON can be cut, found byte by byte.
#[derive(Default)]
struct CutFinder {
    open: Vec<char>,
    is_string: bool,
    is_escaped: bool,
    /// The last good place to cut, and what has to be closed there.
    end: usize,
    closers: Vec<char>,
}

impl CutFinder {
    fn step(&mut self, at: usize, byte: u8) {
        if self.is_string {
            self.is_string = self.is_escaped || byte != b'"';
            self.is_escaped = !self.is_escaped && byte == b'\\';
            return;
        }
        match byte {
            b'"' => self.is_string = true,
            b'{' => self.enter(at, '}'),
            b'[' => self.enter(at, ']'),
            b'}' | b']' => {
                self.open.pop();
                self.mark(at + 1);
            }
            b',' => self.mark(at),
            _ => {}
        }
    }

    fn enter(&mut self, at: usize, closer: char) {
        self.open.push(closer);
        self.mark(at + 1);
    }

    fn mark(&mut self, end: usize) {
        // Deeper than this nothing is looked at; remembering less keeps junk cheap.
        if self.open.len() <= DEPTH_MAX {
            self.end = end;
            self.closers.clone_from(&self.open);
        }
    }
}

/// No shape we know is nested deeper.
const DEPTH_MAX: usize = 16;

#[cfg(test)]
mod tests {
    use super::{close, text_of};

    #[test]
    fn cut_json_is_closed_after_its_last_whole_value() {
        let whole = r#"{"a": [1, {"b\"": "x,]", "c": true}], "d": 2}"#;
        for end in 1..=whole.len() {
            let closed = close(&whole[..end]);
            assert!(serde_json::from_str::<serde_json::Value>(&closed).is_ok(), "{closed}");
        }
        assert_eq!(close(r#"{"a": [1, {"b": "x", "c": tr"#), r#"{"a": [1, {"b": "x"}]}"#);
    }

    #[test]
    fn half_a_character_at_the_end_is_no_fault() {
        let text = "{\"a\":\"é";
        let half = &text.as_bytes()[..text.len() - 1];
        assert_eq!(text_of(half), (&text[..text.len() - 2], None));
        assert!(text_of(b"\x89PNG\0").1.is_some() && text_of(b"ab\0").1.is_some());
    }
}
