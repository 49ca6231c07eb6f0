//! The first line, and where the parts of the file begin.

use crate::detect::DetectSample;
use crate::{ByteSource, Format, ReadError, Slice};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The version written, and the newest one read.
pub const VERSION: u32 = 2;

/// What the form is called, in its own header and by everyone who asks for it.
pub(crate) const NAME: &str = "native";

/// How every file of ours begins.
const BEGINNING: &[u8] = br#"{"epitome":"native""#;

/// A header has five short fields; a first line longer than this is none.
const HEADER_BYTES_MAX: usize = 4096;

/// What a file of ours says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The version of the form.
    pub version: u32,
    /// How the original inside is written; native where there is none.
    pub from: Format,
    /// The length of the original.
    pub original_bytes: u64,
    /// How many conversations there are.
    pub conversations: usize,
}

#[derive(Serialize)]
struct HeaderLine {
    epitome: &'static str,
    #[serde(flatten)]
    header: Header,
}

/// All that every version has: later ones may change the rest.
#[derive(Deserialize)]
struct VersionField {
    version: u32,
}

/// Whether a file that begins like this is one of ours.
pub fn is_native(beginning: &[u8]) -> bool {
    beginning.starts_with(BEGINNING)
}

/// Whether a line is a header of ours.
pub(crate) fn is_header(sample: &DetectSample<'_>) -> bool {
    sample.object.text("epitome").as_deref() == Some(NAME)
}

/// The header line, newline included. The original's bytes follow it, then a newline, then the lines of
/// what is added.
pub fn wrap(from: Format, original_bytes: u64, conversations: usize) -> Vec<u8> {
    let header = Header { version: VERSION, from, original_bytes, conversations };
    let mut line = serde_json::to_vec(&HeaderLine { epitome: NAME, header })
        .expect("a header is names and numbers, which are always JSON");
    line.push(b'\n');
    line
}

/// The header line as this version writes it for a file of ours, and where what follows it begins: whoever adds
/// to an older file writes this in its place.
pub fn rewrap(source: &dyn ByteSource) -> Result<(Vec<u8>, u64), ReadError> {
    let FileLayout { header, start } = FileLayout::of(source)?;
    Ok((wrap(header.from, header.original_bytes, header.conversations), start))
}

/// What the file says about itself.
pub fn header(source: &dyn ByteSource) -> Result<Header, ReadError> {
    FileLayout::of(source).map(|layout| layout.header)
}

/// The original inside, exactly as it was.
pub fn original(source: Arc<dyn ByteSource>) -> Result<Slice, ReadError> {
    let layout = FileLayout::of(&*source)?;
    Ok(layout.original(source))
}

/// Where the parts of a file are.
pub(super) struct FileLayout {
    pub(super) header: Header,
    /// Where the original begins.
    start: u64,
}

impl FileLayout {
    pub(super) fn of(source: &dyn ByteSource) -> Result<Self, ReadError> {
        let mut beginning = vec![0; HEADER_BYTES_MAX];
        let got = source.read_at(0, &mut beginning).map_err(ReadError::Read)?;
        beginning.truncate(got);
        if !is_native(&beginning) {
            return Err(not_native("its first line is no header of ours".into()));
        }
        let end = memchr::memchr(b'\n', &beginning);
        let end = end.ok_or_else(|| not_native("its header line has no end".into()))?;
        let header = parse(&beginning[..end])?;
        let layout = Self { header, start: end as u64 + 1 };
        layout.check_length(source.len())?;
        Ok(layout)
    }

    fn check_length(&self, file_bytes: u64) -> Result<(), ReadError> {
        let (got, promised) = (file_bytes - self.start, self.header.original_bytes);
        if got < promised {
            let why = format!("of the original's {promised} bytes only {got} are there; the file is cut off");
            return Err(not_native(why));
        }
        Ok(())
    }

    /// A session of ours from its first message on.
    pub(super) fn is_born_native(&self) -> bool {
        self.header.from == Format::Native
    }

    pub(super) fn original(&self, source: Arc<dyn ByteSource>) -> Slice {
        Slice::new(source, self.start, self.header.original_bytes)
    }

    /// Where the lines of what was added begin.
    pub(super) fn added_start(&self) -> u64 {
        self.start + self.header.original_bytes + 1
    }
}

fn parse(line: &[u8]) -> Result<Header, ReadError> {
    let unreadable = |error: serde_json::Error| not_native(format!("its header cannot be read ({error})"));
    let VersionField { version } = serde_json::from_slice(line).map_err(unreadable)?;
    if version > VERSION {
        return Err(ReadError::Newer { version, version_max: VERSION });
    }
    let header: Header = serde_json::from_slice(line).map_err(unreadable)?;
    if header.from == Format::Native && header.original_bytes > 0 {
        return Err(not_native("it wraps another native file; its original is not ours".into()));
    }
    Ok(header)
}

fn not_native(why: String) -> ReadError {
    ReadError::NotThis { format: Format::Native, why }
}

#[cfg(test)]
mod tests {
    use super::{header, wrap};
    use crate::Format;

    fn refusal(file: &str) -> String {
        header(&file.as_bytes().to_vec()).expect_err("this is no file of ours").to_string()
    }

    #[test]
    fn a_header_reads_back() {
        let line = wrap(Format::Opencode, 0, 3);
        let text =
            r#"{"epitome":"native","version":2,"from":"opencode","original_bytes":0,"conversations":3}"#;
        assert_eq!(line, format!("{text}\n").into_bytes());
        let read = header(&line).expect("we wrote it");
        assert_eq!((read.from, read.original_bytes, read.conversations), (Format::Opencode, 0, 3));
    }

    #[test]
    fn a_newer_version_is_refused_by_number() {
        let newer = "{\"epitome\":\"native\",\"version\":3,\"parts\":[]}\n";
        insta::assert_snapshot!(refusal(newer), @"the file is written in version 3 of epitome's own form, and this epitome reads up to 2; use a newer epitome");
    }

    #[test]
    fn a_file_cut_off_inside_the_original_is_refused() {
        let mut file = String::from_utf8(wrap(Format::Pi, 10, 1)).expect("a header is text");
        file.push_str("1234");
        assert!(refusal(&file).contains("of the original's 10 bytes only 4 are there"));
    }

    #[test]
    fn other_files_are_refused() {
        assert!(refusal("{\"type\":\"session\"}\n").contains("its first line is no header of ours"));
        assert!(refusal("{\"epitome\":\"native\",\"version\":1}").contains("its header line has no end"));
    }
}
