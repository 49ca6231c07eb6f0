//! Facts by their form alone: paths, URLs, ids, names in code and versions, found in one pass over a line.
//!
//! Hand-written because it reads every byte of a session: no allocation, no backtracking.

use super::Class;
use super::form::{is_given_id, is_hash, is_ulid, is_uuid, is_version};
use super::path::{cut_line_suffix, is_path};

/// A fact by its form, as a slice of the line it stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mention<'t> {
    /// Its class.
    pub class: Class,
    /// What it is about; for most classes the value itself.
    pub key: &'t str,
    /// What is stated.
    pub value: &'t str,
}

/// Shorter values say too little to be looked for.
pub const VALUE_BYTES_MIN: usize = 4;
/// Longer runs without a space are data, not names.
const CHUNK_BYTES_MAX: usize = 400;

/// Calls `found` for each fact in the line, from left to right.
pub fn scan_line<'t>(line: &'t str, found: &mut impl FnMut(Mention<'t>)) {
    let mut before: Option<(usize, usize)> = None;
    let mut at = 0;
    while let Some((start, mut end)) = next_chunk(line, at) {
        if !is_plain_word(&line.as_bytes()[start..end]) {
            if scheme_end(&line[start..end]).is_some() {
                end = url_end(line, end);
            }
            if end - start <= CHUNK_BYTES_MAX {
                let chunk = Chunk { line, start, end, before };
                chunk.classify(found);
            }
        }
        before = Some((start, end));
        at = end;
    }
}

/// Whether a run is an ordinary word, with a full stop or a colon behind it or not: letters without a hump are no fact of any
/// kind, and most runs of a session are that.
fn is_plain_word(run: &[u8]) -> bool {
    let mut is_after_lower = false;
    let letters = run.iter().take_while(|byte| {
        let is_hump = is_after_lower && byte.is_ascii_uppercase();
        is_after_lower = byte.is_ascii_lowercase();
        byte.is_ascii_alphabetic() && !is_hump
    });
    let letters = letters.count();
    run[letters..].iter().all(|byte| matches!(byte, b'.' | b':'))
}

/// Bytes that can stand inside a name, a path or an id.
const fn is_chunk_byte(byte: u8) -> bool {
    CHUNK_BYTES[byte as usize]
}

/// The same as a table: every byte of a session is asked.
const CHUNK_BYTES: [bool; 256] = {
    let (mut table, mut byte) = ([false; 256], 0_u8);
    while byte < 128 {
        table[byte as usize] = byte.is_ascii_alphanumeric()
            || matches!(byte, b'_' | b'/' | b'\\' | b'.' | b'-' | b':' | b'@' | b'#' | b'~' | b'$');
        byte += 1;
    }
    table
};

/// The next run of bytes that can be one thing. Where a script without spaces meets ASCII letters
/// the run ends, so that a path inside a Chinese sentence is found.
fn next_chunk(line: &str, from: usize) -> Option<(usize, usize)> {
    let bytes = line.as_bytes();
    let mut start = from;
    while start < bytes.len() && !is_chunk_byte(bytes[start]) {
        if !bytes[start].is_ascii() {
            let letter = line[start..].chars().next()?;
            if letter.is_alphanumeric() {
                break;
            }
            start += letter.len_utf8();
        } else {
            start += 1;
        }
    }
    if start >= bytes.len() {
        return None;
    }
    Some((start, chunk_end(line, start)))
}

fn chunk_end(line: &str, start: usize) -> usize {
    let bytes = line.as_bytes();
    let mut end = start;
    let mut last_is_word = None;
    while end < bytes.len() {
        let byte = bytes[end];
        if byte.is_ascii() {
            if !is_chunk_byte(byte)
                || (last_is_word == Some(WordScript::Other) && byte.is_ascii_alphanumeric())
            {
                break;
            }
            last_is_word = byte.is_ascii_alphanumeric().then_some(WordScript::Ascii);
            end += 1;
        } else {
            let Some(letter) = line[end..].chars().next() else { break };
            if !letter.is_alphanumeric() || last_is_word == Some(WordScript::Ascii) {
                break;
            }
            last_is_word = Some(WordScript::Other);
            end += letter.len_utf8();
        }
    }
    end
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum WordScript {
    Ascii,
    Other,
}

/// Where `://` stands. Every run of a session is asked, and they are short: a search made ready for each costs more than
/// looking at its bytes.
fn scheme_end(run: &str) -> Option<usize> {
    run.as_bytes().windows(3).position(|bytes| bytes == b"://")
}

/// Where a URL that reaches at least to `end` really ends.
fn url_end(line: &str, end: usize) -> usize {
    let stop = |c: char| c.is_whitespace() || !c.is_ascii() || "\"'`<>(){}|,;[]\\".contains(c);
    line[end..].find(stop).map_or(line.len(), |more| end + more)
}

/// The URL in a run, from its scheme on: letters first, and something behind the slashes. What a listing of lines
/// makes of a comment (`origin.go:10://`) is none.
fn url(text: &str) -> Option<&str> {
    let at = scheme_end(text)?;
    let is_scheme = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '.' | '-');
    let start = at - text[..at].chars().rev().take_while(|&c| is_scheme(c)).count();
    let is_named = text[start..at].starts_with(|c: char| c.is_ascii_alphabetic()) && at - start >= 2;
    let has_place =
        text[at + 3..].starts_with(|c: char| c.is_alphanumeric() || matches!(c, '/' | '[' | ':' | '$' | '~'));
    (is_named && has_place).then_some(&text[start..])
}

struct Chunk<'t> {
    line: &'t str,
    start: usize,
    end: usize,
    before: Option<(usize, usize)>,
}

impl<'t> Chunk<'t> {
    fn classify(&self, found: &mut impl FnMut(Mention<'t>)) {
        let text = trim_chunk(&self.line[self.start..self.end]);
        if text.len() < 3 || text.len() > CHUNK_BYTES_MAX {
            return;
        }
        let bytes = text.as_bytes();
        if let Some(url) = url(text) {
            say(Class::Url, url, found);
        } else if bytes.contains(&b'/') {
            self.classify_slashed(text, found);
        } else if bytes.contains(&b'\\') {
            classify_backslashed(text, found);
        } else if text.starts_with('#') {
            if text.len() > 1 && text.bytes().skip(1).all(|b| b.is_ascii_digit()) {
                say(Class::Id, text, found);
            }
        } else if bytes[0].is_ascii_digit() || is_version(text) {
            self.classify_digits(text, found);
        } else {
            self.classify_word(text, found);
        }
    }

    fn classify_slashed(&self, text: &'t str, found: &mut impl FnMut(Mention<'t>)) {
        if let Some((_, number)) = text.rsplit_once('#')
            && !number.is_empty()
            && number.bytes().all(|b| b.is_ascii_digit())
        {
            return say(Class::Id, text, found);
        }
        let path = cut_line_suffix(text);
        if let Some(method) = self.word_before()
            && matches!(method, "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "HEAD" | "OPTIONS")
            && path.starts_with('/')
        {
            return say(Class::Url, path, found);
        }
        if is_path(path) {
            say(Class::Path, path.strip_prefix("./").unwrap_or(path), found);
        }
    }

    fn classify_digits(&self, text: &'t str, found: &mut impl FnMut(Mention<'t>)) {
        if is_version(text) {
            if let Some(name) = self.version_name() {
                found(Mention { class: Class::Version, key: name, value: text });
            }
        } else if is_uuid(text) || is_hash(text) || is_ulid(text) {
            say(Class::Id, text, found);
        }
    }

    fn classify_word(&self, text: &'t str, found: &mut impl FnMut(Mention<'t>)) {
        if let Some((name, version)) = text.rsplit_once('@')
            && is_version(version)
        {
            return found(Mention {
                class: Class::Version,
                key: name.trim_start_matches('@'),
                value: version,
            });
        }
        if is_hash(text) || is_uuid(text) || is_ulid(text) || is_given_id(text) {
            return say(Class::Id, text, found);
        }
        let is_called = self.line.as_bytes().get(self.end) == Some(&b'(');
        scan_names(text, is_called, found);
    }

    fn word_before(&self) -> Option<&'t str> {
        self.before.map(|(start, end)| &self.line[start..end])
    }

    /// What a version belongs to: the word before it, across `==`, a space, or the word "version".
    fn version_name(&self) -> Option<&'t str> {
        let (start, end) = self.before?;
        let gap = self.line[end..self.start].trim();
        let name = trim_chunk(&self.line[start..end]);
        let is_name = name.starts_with(|c: char| c.is_alphabetic()) && name.len() >= 2;
        let is_joined = gap.is_empty()
            || matches!(gap, "==" | "=" | ">=" | "^" | "~=" | "\"" | "\": \"" | "\":\"" | "= \"");
        (is_name && is_joined).then_some(name)
    }
}

fn say<'t>(class: Class, value: &'t str, found: &mut impl FnMut(Mention<'t>)) {
    if value.len() >= VALUE_BYTES_MIN || class == Class::Id {
        found(Mention { class, key: value, value });
    }
}

fn trim_chunk(text: &str) -> &str {
    text.trim_end_matches(['.', ':', '-', '@', '#', '~', '\\', '$']).trim_start_matches([':', '-', '$'])
}

fn classify_backslashed<'t>(text: &'t str, found: &mut impl FnMut(Mention<'t>)) {
    let is_drive = text.as_bytes().get(1) == Some(&b':') && text.as_bytes().get(2) == Some(&b'\\');
    if is_drive {
        return say(Class::Path, text, found);
    }
    for part in text.split('\\') {
        // What follows a backslash may be the letter of an escape (`\nname`); the rest is still a name.
        scan_names(trim_chunk(part), false, found);
    }
}

/// Names in code inside a run: `a::b`, `a.b(`, and each part that is written like code.
fn scan_names<'t>(text: &'t str, is_called: bool, found: &mut impl FnMut(Mention<'t>)) {
    let is_name_byte = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | ':');
    for piece in text.split(|c| !is_name_byte(c)) {
        let piece = piece.trim_matches(['.', ':']);
        if piece.len() < VALUE_BYTES_MIN {
            continue;
        }
        let is_chain = piece.contains("::") || (is_called && piece.contains('.'));
        if is_chain {
            say(Class::Identifier, piece, found);
        }
        for part in piece.split(['.', ':']) {
            if is_code_like(part) {
                say(Class::Identifier, part, found);
            }
        }
    }
}

/// Whether a word is written the way code names things: with an underscore inside, or a hump.
pub fn is_code_like(word: &str) -> bool {
    let bytes = word.as_bytes();
    if bytes.len() < VALUE_BYTES_MIN || bytes[0].is_ascii_digit() {
        return false;
    }
    let mut letters = 0;
    let mut has_joint = false;
    for pair in bytes.windows(2) {
        letters += usize::from(pair[0].is_ascii_alphabetic());
        has_joint |= pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase();
        has_joint |= (pair[0] == b'_') != (pair[1] == b'_');
    }
    has_joint && letters >= 2
}

#[cfg(test)]
mod tests {
    use super::{Mention, scan_line};
    use crate::facts::Class;

    fn found(line: &str) -> Vec<(Class, &str)> {
        let mut all = Vec::new();
        scan_line(line, &mut |Mention { class, value, .. }| all.push((class, value)));
        all
    }

    #[test]
    fn paths_lose_their_line_and_their_dot() {
        let want = vec![(Class::Path, "src/lib.rs"), (Class::Path, "/etc/hosts"), (Class::Path, "a/b.ts")];
        assert_eq!(found("see ./src/lib.rs:12:5, /etc/hosts and `a/b.ts#L3-9`."), want);
    }

    #[test]
    fn a_path_is_found_inside_a_sentence_without_spaces() {
        assert_eq!(found("请修改src/lib.rs文件。"), vec![(Class::Path, "src/lib.rs")]);
    }

    #[test]
    fn names_are_found_whole_and_in_parts() {
        let want = vec![
            (Class::Identifier, "core::find_cut"),
            (Class::Identifier, "find_cut"),
            (Class::Identifier, "maxRetries"),
            (Class::Identifier, "os.path.join"),
        ];
        assert_eq!(found("core::find_cut(maxRetries) os.path.join(x) plain Words"), want);
    }

    #[test]
    fn versions_belong_to_a_name() {
        let mut all = Vec::new();
        scan_line("serde 1.0.229, numpy==1.26 and react@18.2.0", &mut |m: Mention<'_>| {
            all.push((m.key, m.value))
        });
        assert_eq!(all, [("serde", "1.0.229"), ("numpy", "1.26"), ("react", "18.2.0")]);
    }

    #[test]
    fn a_comment_in_a_listing_is_no_url() {
        assert_eq!(found("origin.go:10:// where it comes from"), vec![]);
        assert_eq!(found("url:https://x.dev/a"), vec![(Class::Url, "https://x.dev/a")]);
        assert_eq!(found("file:///etc/hosts"), vec![(Class::Url, "file:///etc/hosts")]);
    }

    #[test]
    fn ids_and_urls() {
        let want = vec![
            (Class::Id, "84fe9e8"),
            (Class::Url, "https://x.dev/a?b=c"),
            (Class::Id, "owner/repo#12"),
            (Class::Id, "123e4567-e89b-12d3-a456-426614174000"),
        ];
        assert_eq!(
            found("commit 84fe9e8 (https://x.dev/a?b=c) owner/repo#12 123e4567-e89b-12d3-a456-426614174000"),
            want
        );
    }
}
