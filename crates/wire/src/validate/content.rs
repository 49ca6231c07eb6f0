//! What counts as empty, as base64, as an id. The encoders use the same notions.

/// The picture types every provider takes.
pub(crate) const IMAGE_TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// Whether a text says nothing: providers refuse texts of white space alone.
pub(crate) fn is_blank(text: &str) -> bool {
    text.chars().all(|c| c.is_whitespace() || c.is_control() || c == '\u{feff}')
}

/// Whether `data` decodes as standard base64 and was not damaged by redaction.
pub(crate) fn is_base64(data: &str) -> bool {
    let body = data.trim_end_matches('=');
    let is_whole = !body.is_empty() && data.len().is_multiple_of(4) && data.len() - body.len() <= 2;
    is_whole
        && body.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/'))
        && memchr::memmem::find(data.as_bytes(), b"REDACTED").is_none()
}

/// Whether Anthropic takes `id` as the id of a call.
pub(crate) fn is_plain_id(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
}

/// Whether a provider could fetch `url`.
pub(crate) fn is_web_url(url: &str) -> bool {
    url.starts_with("https://") || url.starts_with("http://")
}

/// The type and the base64 data that a `data:` URL holds.
pub(crate) fn inline_data(url: &str) -> Option<(&str, &str)> {
    url.strip_prefix("data:")?.split_once(";base64,")
}

#[cfg(test)]
mod tests {
    use super::{is_base64, is_blank};

    #[test]
    fn white_space_and_control_characters_say_nothing() {
        assert_eq!(["", " \n", "\u{1c}\u{feff}", " a "].map(is_blank), [true, true, true, false]);
    }

    #[test]
    fn redacted_or_cut_data_is_not_base64() {
        let all = ["aGk=", "aGkh", "aGkhREDACTED", "aGk", "", "====", "a-_b"];
        assert_eq!(all.map(is_base64), [true, true, false, false, false, false, false]);
    }
}
