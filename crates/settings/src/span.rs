//! Lengths of time and sizes as people write them: `90d`, `2GB`.

/// Units of time, in milliseconds.
const SPANS: [(&str, u64); 5] =
    [("w", 604_800_000), ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000)];
/// Units of size, in bytes; the longer names first, since the shorter end them.
const SIZES: [(&str, u64); 7] = [
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("KB", 1_000),
    ("G", 1_000_000_000),
    ("M", 1_000_000),
    ("B", 1),
];

/// How long: `90d`, `12h`, `30m`; in milliseconds.
///
/// # Errors
/// What to write instead.
pub fn parse_span(text: &str) -> Result<u64, String> {
    with_unit(text, &SPANS).ok_or_else(|| format!("`{text}` is no length of time; write 90d, 12h or 30m"))
}

/// How much: `2GB`, `500MB`; in bytes.
///
/// # Errors
/// What to write instead.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let found = with_unit(&text.to_ascii_uppercase(), &SIZES);
    found.ok_or_else(|| format!("`{text}` is no size; write 2GB, 500MB or 10000B"))
}

/// A whole number in front of one of these units.
fn with_unit(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let (number, size) = units.iter().find_map(|(unit, size)| Some((text.strip_suffix(unit)?, size)))?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    number.parse::<u64>().ok().filter(|_| is_number)?.checked_mul(*size)
}

#[cfg(test)]
mod tests {
    use super::{parse_size, parse_span};

    #[test]
    fn lengths_and_sizes_are_numbers_with_a_unit() {
        assert_eq!(parse_span("90d"), Ok(90 * 86_400_000));
        assert_eq!([parse_span("12h"), parse_span("2w")], [Ok(43_200_000), Ok(1_209_600_000)]);
        assert_eq!(
            [parse_size("2GB"), parse_size("500mb"), parse_size("7B")],
            [Ok(2_000_000_000), Ok(500_000_000), Ok(7)]
        );
        assert_eq!(parse_span("90"), Err("`90` is no length of time; write 90d, 12h or 30m".to_owned()));
        assert!(
            ["", "d", "-1d", "1.5d", "99999999999999999999d"].iter().all(|text| parse_span(text).is_err())
        );
        assert!(parse_size("2").is_err());
    }
}
