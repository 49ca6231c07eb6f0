//! Private keys in their armour: the lines between a `BEGIN` and an `END` marker that are key.

use crate::pattern::compile;
use regex::Regex;
use std::sync::LazyLock;

static BEGIN: LazyLock<Regex> = LazyLock::new(|| compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----"));
static END: LazyLock<Regex> = LazyLock::new(|| compile(r"-----END [A-Z ]*PRIVATE KEY-----"));

/// A line of a key, or of one shown with line numbers, quotes or a margin; group 1 is the key's.
static LINE: LazyLock<Regex> = LazyLock::new(|| {
    compile(r"^(?:\d+[^A-Za-z0-9+/=]+)?[^A-Za-z0-9+/=]*\+?([A-Za-z0-9+/=]{8,})[^A-Za-z0-9+/=]*$")
});

/// The longest keys in use (RSA of 16,384 bits) take 13 kB; half as much again is for margins.
const KEY_BYTES_MAX: usize = 20_000;
/// Armour has 64 letters on a line; with no end in sight only lines nearly as long are taken for key.
const FULL_LINE_BYTES_MIN: usize = 40;

/// Calls `found` for each line of each private key in the text.
pub(super) fn private_key_lines<'t>(text: &'t str, mut found: impl FnMut(&'t str)) {
    for begin in BEGIN.find_iter(text) {
        let rest = &text[begin.end()..];
        let rest = &rest[..rest.floor_char_boundary(KEY_BYTES_MAX)];
        match END.find(rest) {
            Some(end) => armoured(&rest[..end.start()], &mut found),
            None => broken_off(rest, &mut found),
        }
    }
}

/// Between both markers: key, unless most of it is something else, such as code that names the markers.
fn armoured<'t>(body: &'t str, found: &mut impl FnMut(&'t str)) {
    let all: usize = lines(body).map(str::len).sum();
    let key: usize = lines(body).filter_map(key_line).map(str::len).sum();
    if key * 2 > all {
        return lines(body).filter_map(key_line).for_each(found);
    }
    // A key put on one line has spaces where its lines ended.
    let parts: Vec<&str> = body.split_whitespace().filter_map(key_line).collect();
    if parts.iter().any(|part| part.len() >= FULL_LINE_BYTES_MIN) {
        parts.into_iter().for_each(found);
    }
}

/// Behind a marker whose end was cut off: full lines as far as they go, and the rest of the last.
fn broken_off<'t>(body: &'t str, found: &mut impl FnMut(&'t str)) {
    let mut is_inside = false;
    for line in lines(body).map_while(key_line) {
        let is_full = line.len() >= FULL_LINE_BYTES_MIN;
        if is_full || (is_inside && line.bytes().any(|b| b.is_ascii_digit() || b.is_ascii_uppercase())) {
            found(line);
        }
        if !is_full {
            return;
        }
        is_inside = true;
    }
}

/// The lines of a text, their breaks written out (`\n`) or not. Bare line numbers and margins are left out.
fn lines(body: &str) -> impl Iterator<Item = &str> {
    let lines = body.lines().flat_map(|line| line.split("\\n")).flat_map(|line| line.split("\\r"));
    lines.map(str::trim).filter(|line| line.bytes().any(|b| b.is_ascii_alphabetic()))
}

fn key_line(line: &str) -> Option<&str> {
    Some(LINE.captures(line)?.get(1)?.as_str())
}

#[cfg(test)]
mod tests {
    use super::private_key_lines;

    fn key(text: &str) -> Vec<&str> {
        let mut all = Vec::new();
        private_key_lines(text, |line| all.push(line));
        all
    }

    const FULL: &str = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";

    #[test]
    fn a_marker_in_code_swallows_nothing() {
        let code = "if text.contains(\"-----BEGIN PRIVATE KEY-----\") {\n    return Classification;\n}\nlet someValue = otherValue;\n";
        assert_eq!(key(code), Vec::<&str>::new());
        assert_eq!(key(&format!("{code} ends_with(\"-----END PRIVATE KEY-----\")")), Vec::<&str>::new());
    }

    #[test]
    fn a_key_is_found_with_margins_and_without() {
        let shown =
            format!("1→-----BEGIN PRIVATE KEY-----\n  2→{FULL}\n  3→abcdefgh=\n4→-----END PRIVATE KEY-----");
        assert_eq!(key(&shown), [FULL, "abcdefgh="]);
        let escaped =
            format!(r#"KEY="-----BEGIN EC PRIVATE KEY-----\n{FULL}\n-----END EC PRIVATE KEY-----\n""#);
        assert_eq!(key(&escaped), [FULL]);
        let flat = format!("-----BEGIN PRIVATE KEY----- {FULL} {FULL} abcdefgh= -----END PRIVATE KEY-----");
        assert_eq!(key(&flat), [FULL, FULL, "abcdefgh="]);
    }

    #[test]
    fn a_key_whose_end_is_cut_off_ends_where_its_lines_do() {
        let text = format!(
            "-----BEGIN RSA PRIVATE KEY-----\n{FULL}\n{FULL}\nq83Kx9Pz\n[output truncated] somethingElse"
        );
        assert_eq!(key(&text), [FULL, FULL, "q83Kx9Pz"]);
    }
}
