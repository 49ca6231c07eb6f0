//! Recognisers of versions, hashes and ids, each by its spelling alone. Where in a line one may
//! stand is `token`'s.

/// `1.2`, `v1.2.3-rc.1`.
pub(super) fn is_version(text: &str) -> bool {
    let digits = text.strip_prefix('v').unwrap_or(text);
    let mut parts = digits.splitn(3, '.');
    let is_number =
        |part: Option<&str>| part.is_some_and(|p| !p.is_empty() && p.bytes().all(|b| b.is_ascii_digit()));
    is_number(parts.next())
        && is_number(parts.next())
        && parts.next().is_none_or(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// Seven or more hexadecimal digits of one case, letters and numbers among them.
pub(super) fn is_hash(text: &str) -> bool {
    let (mut digits, mut lower, mut upper) = (0, 0, 0);
    for byte in text.bytes() {
        match byte {
            b'0'..=b'9' => digits += 1,
            b'a'..=b'f' => lower += 1,
            b'A'..=b'F' => upper += 1,
            _ => return false,
        }
    }
    text.len() >= 7 && digits > 0 && (lower > 0) != (upper > 0)
}

/// `123e4567-e89b-12d3-a456-426614174000`.
pub(super) fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(i, b)| match i {
            8 | 13 | 18 | 23 => b == b'-',
            _ => b.is_ascii_hexdigit(),
        })
}

/// Twenty-six letters of Crockford's alphabet.
pub(super) fn is_ulid(text: &str) -> bool {
    let is_letter =
        |b: u8| b.is_ascii_digit() || (b.is_ascii_uppercase() && !matches!(b, b'I' | b'L' | b'O' | b'U'));
    text.len() == 26 && text.bytes().all(is_letter) && text.bytes().any(|b| b.is_ascii_digit())
}

/// Prefixes under which services give out ids.
const ID_PREFIXES: [&str; 9] = ["toolu_", "call_", "req_", "msg_", "resp_", "run_", "task_", "ses_", "cus_"];

/// A known prefix, then something random.
pub(super) fn is_given_id(text: &str) -> bool {
    ID_PREFIXES.iter().any(|prefix| {
        text.strip_prefix(prefix)
            .is_some_and(|rest| rest.len() >= 6 && rest.bytes().any(|b| b.is_ascii_digit()))
    })
}
