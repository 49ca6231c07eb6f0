//! JSON strings as they are written, unescaped only when someone looks.

use serde::de::{Deserialize, Deserializer, Error};
use serde_json::value::RawValue;

/// The inside of a JSON string, escapes and all.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawText<'a>(&'a str);

impl<'de: 'a, 'a> Deserialize<'de> for RawText<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let raw = <&'de RawValue>::deserialize(from)?.get();
        let inside = raw.strip_prefix('"').and_then(|raw| raw.strip_suffix('"'));
        inside.map(RawText).ok_or_else(|| D::Error::custom("not a string"))
    }
}

impl<'a> RawText<'a> {
    /// What the string says, in `buffer` where it has escapes; none where they make no text.
    pub(crate) fn read<'t>(self, buffer: &'t mut String) -> Option<&'t str>
    where
        'a: 't,
    {
        let Some(first) = memchr::memchr(b'\\', self.0.as_bytes()) else { return Some(self.0) };
        buffer.clear();
        buffer.push_str(&self.0[..first]);
        let mut rest = &self.0[first + 1..];
        loop {
            let (character, after) = unescape(rest)?;
            buffer.push(character);
            let Some(next) = memchr::memchr(b'\\', after.as_bytes()) else {
                buffer.push_str(after);
                return Some(buffer);
            };
            buffer.push_str(&after[..next]);
            rest = &after[next + 1..];
        }
    }
}

/// The character whose escape `rest` begins with, without its backslash, and what follows.
fn unescape(rest: &str) -> Option<(char, &str)> {
    let character = match rest.as_bytes().first()? {
        b'n' => '\n',
        b't' => '\t',
        b'r' => '\r',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        &plain @ (b'"' | b'\\' | b'/') => char::from(plain),
        b'u' => return unescape_unicode(&rest[1..]),
        _ => return None,
    };
    Some((character, &rest[1..]))
}

/// The same for what follows `\u`: one code, or the two halves of a character beyond the first 65,536.
fn unescape_unicode(rest: &str) -> Option<(char, &str)> {
    let (first, after) = code(rest)?;
    if let Some(character) = char::from_u32(first.into()) {
        return Some((character, after));
    }
    let (second, after) = code(after.strip_prefix("\\u")?)?;
    let character = char::decode_utf16([first, second]).next()?.ok()?;
    Some((character, after))
}

fn code(rest: &str) -> Option<(u16, &str)> {
    let (digits, after) = rest.split_at_checked(4)?;
    let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    u16::from_str_radix(digits, 16).ok().filter(|_| is_hex).map(|code| (code, after))
}

#[cfg(test)]
mod tests {
    use super::RawText;
    use proptest::prelude::*;

    fn read(json: &str) -> Option<String> {
        let raw: RawText<'_> = serde_json::from_str(json).ok()?;
        raw.read(&mut String::from("left over")).map(str::to_owned)
    }

    #[test]
    fn half_a_character_is_no_text() {
        for json in [r#""\ud83d""#, r#""\ude00\ud83d""#, r#""\ud83dx""#, r#""\ud83d\n""#, "5", "null"] {
            assert_eq!((read(json), serde_json::from_str::<String>(json).ok()), (None, None), "{json}");
        }
    }

    proptest! {
        #[test]
        fn what_is_read_is_what_serde_reads(
            pieces in prop::collection::vec(
                r#"\PC{0,3}|\\[nrtbf"\\/]|\\u00[0-9a-fA-F]{2}|\\u[0-9A-F]{4}|\\ud83d\\ude0[0-9]|\\u+1ab"#, 0..12,
            ),
        ) {
            let json = format!("\"{}\"", pieces.concat());
            prop_assert_eq!(read(&json), serde_json::from_str::<String>(&json).ok());
        }
    }
}
