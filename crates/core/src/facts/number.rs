//! Numbers with what they count, and values that hold until they change.

use super::{Class, Mention};

/// Keys longer than this are sentences, not names.
const KEY_WORDS_MAX: usize = 4;
/// Keys that stand for a lasting state rather than for a measurement.
const STATE_KEYS: [&str; 10] =
    ["branch", "cwd", "port", "model", "mode", "permission", "environment", "profile", "workdir", "status"];

/// Calls `found` for each `key = 12`, `key: 12 ms`, "key is 12 %" and each lasting value of the line.
pub fn scan_pairs<'t>(line: &'t str, found: &mut impl FnMut(Mention<'t>)) {
    let bytes = line.as_bytes();
    let mut at = 0;
    while let Some(step) = bytes[at..].iter().position(|b| matches!(b, b'=' | b':')) {
        let sign = at + step;
        at = sign + 1;
        // `::`, `==`, `:=`, `=>` and times of day are no pairs.
        let is_double = |i: usize| bytes.get(i).is_some_and(|b| matches!(b, b':' | b'=' | b'>' | b'/'));
        if is_double(at) || (sign > 0 && is_double(sign - 1)) {
            continue;
        }
        if let Some(pair) = pair_at(line, sign, at) {
            found(pair);
        }
    }
    // Lines are short: a search made ready for each costs more than looking at its bytes.
    if let Some(is) = bytes.windows(4).position(|bytes| bytes == b" is ")
        && let Some(pair) = pair_at(line, is, is + 4)
    {
        found(pair);
    }
}

fn pair_at(line: &str, key_end: usize, value_start: usize) -> Option<Mention<'_>> {
    let value = line[value_start..].trim_start_matches([' ', '"', '\'', '`', '*']);
    let first = value.chars().next()?;
    let is_number =
        first.is_ascii_digit() || (first == '-' && value.as_bytes().get(1).is_some_and(u8::is_ascii_digit));
    if !is_number && !first.is_alphabetic() {
        return None;
    }
    let key = key_before(line, key_end)?;
    if is_number {
        let value = number_with_unit(value)?;
        return Some(Mention { class: Class::Number, key, value });
    }
    let name = key.rsplit([' ', '_', '.', '-']).next().unwrap_or(key);
    if !STATE_KEYS.iter().any(|state| name.eq_ignore_ascii_case(state)) {
        return None;
    }
    let end = value.find(|c: char| c.is_whitespace() || "\"'`,;()*".contains(c)).unwrap_or(value.len());
    let value = value[..end].trim_end_matches(['.', ':']);
    (value.len() >= 3).then_some(Mention { class: Class::State, key, value })
}

/// Up to four words that end at `end`, on the same line.
fn key_before(line: &str, end: usize) -> Option<&str> {
    let text = line[..end].trim_end_matches([' ', '"', '\'', '`', '*', '\t']);
    let stop = |c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ' '));
    let start = text.rfind(stop).map_or(0, |at| at + text[at..].chars().next().map_or(1, char::len_utf8));
    let phrase = text[start..].trim_start();
    let words = phrase.split(' ').count();
    let phrase = match words > KEY_WORDS_MAX {
        true => phrase.splitn(words - KEY_WORDS_MAX + 1, ' ').last()?.trim_start(),
        false => phrase,
    };
    // A clock's `12:30` and a place's `:12:5` have no key before their colon.
    if phrase.ends_with(|c: char| c.is_ascii_digit())
        && phrase.rsplit(' ').next().is_some_and(|w| w.parse::<f64>().is_ok())
    {
        return None;
    }
    let letters = phrase.chars().filter(|c| c.is_alphabetic()).take(2).count();
    (letters == 2 && phrase.len() <= 80).then_some(phrase)
}

fn number_with_unit(text: &str) -> Option<&str> {
    let is_part = |c: char| c.is_ascii_digit() || matches!(c, '.' | ',' | '-' | '_');
    let digits = text.find(|c| !is_part(c)).unwrap_or(text.len());
    let after = &text[digits..];
    let is_unit = |c: char| c.is_alphabetic() || matches!(c, '%' | '°' | 'µ');
    let spaced = usize::from(after.starts_with(' '));
    let unit = after[spaced..].find(|c| !is_unit(c)).unwrap_or(after.len() - spaced);
    let is_word = unit > if spaced == 1 { 3 } else { 6 };
    let end = if unit == 0 || is_word { digits } else { digits + spaced + unit };
    let value = text[..end].trim_end_matches([',', '.', '-']);
    (!value.is_empty() && value.len() <= 40).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::scan_pairs;
    use crate::facts::{Class, Mention};

    fn found(line: &str) -> Vec<(Class, &str, &str)> {
        let mut all = Vec::new();
        scan_pairs(line, &mut |m: Mention<'_>| all.push((m.class, m.key, m.value)));
        all
    }

    #[test]
    fn numbers_keep_their_key_and_unit() {
        let want = vec![(Class::Number, "timeout", "30 ms"), (Class::Number, "max_retries", "12")];
        assert_eq!(found("timeout: 30 ms, max_retries = 12"), want);
        assert_eq!(found("the cache hit ratio is 81%"), vec![(Class::Number, "the cache hit ratio", "81%")]);
    }

    #[test]
    fn states_are_values_of_known_keys() {
        assert_eq!(found("branch: feature/x"), vec![(Class::State, "branch", "feature/x")]);
        assert_eq!(found("std::mem and a == b at 12:30"), vec![]);
    }
}
