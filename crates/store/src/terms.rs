//! Text as the terms that an index holds, the same for every store: what is looked for is cut the same way.
//!
//! A term is a word in lower case. An identifier is found whole and by its parts (`parse_header`: `parse`, `header`;
//! `HttpClient`: `http`, `client`). Scripts that write no spaces between words are cut into pairs of neighbouring characters, so that
//! any two characters of a word find it.

/// Longer words are data, and nobody looks for them.
const TERM_CHARS_MAX: usize = 64;

/// The terms of a text, each as often as it stands there.
pub(crate) fn terms(text: &str) -> Vec<String> {
    cut(text, add_word)
}

/// What is looked for: words whole, without their parts. A text that has an identifier has its parts too, and to look for `1` beside
/// `the_1` is to read through all that is numbered.
pub(crate) fn wanted_terms(text: &str) -> Vec<String> {
    cut(text, |terms, word| terms.extend(whole(word).map(str::to_lowercase)))
}

fn cut(text: &str, add_word: impl Fn(&mut Vec<String>, &str)) -> Vec<String> {
    let mut terms = Vec::new();
    for word in text.split(|one: char| !is_word(one)).filter(|word| !word.is_empty()) {
        let mut rest = word;
        while let Some(first) = rest.chars().next() {
            let is_paired = is_unspaced(first);
            let end = rest.find(|one| is_unspaced(one) != is_paired).unwrap_or(rest.len());
            let (run, behind) = rest.split_at(end);
            if is_paired {
                add_pairs(&mut terms, run)
            } else {
                add_word(&mut terms, run)
            }
            rest = behind;
        }
    }
    terms
}

fn is_word(one: char) -> bool {
    one.is_alphanumeric() || one == '_'
}

/// Whether it belongs to a script without spaces between words: Chinese, Japanese, Korean, Thai, Lao, Khmer, Burmese.
fn is_unspaced(one: char) -> bool {
    matches!(one,
        '\u{0E00}'..='\u{0EFF}' | '\u{1000}'..='\u{109F}' | '\u{1780}'..='\u{17FF}' | '\u{1100}'..='\u{11FF}'
        | '\u{3040}'..='\u{30FF}' | '\u{3130}'..='\u{318F}' | '\u{3400}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7AF}'
        | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}')
}

fn add_pairs(terms: &mut Vec<String>, run: &str) {
    let chars: Vec<char> = run.chars().collect();
    match &chars[..] {
        [alone] => terms.push(alone.to_string()),
        more => terms.extend(more.windows(2).map(|pair| pair.iter().collect::<String>())),
    }
}

/// A word without what stands around it; none where it is data.
fn whole(word: &str) -> Option<&str> {
    let whole = word.trim_matches('_');
    (!whole.is_empty() && whole.chars().count() <= TERM_CHARS_MAX).then_some(whole)
}

/// A word, and its parts where it is an identifier.
fn add_word(terms: &mut Vec<String>, word: &str) {
    let Some(whole) = whole(word) else { return };
    terms.push(whole.to_lowercase());
    let parts = parts(whole);
    if parts.len() > 1 {
        terms.extend(parts.into_iter().map(str::to_lowercase));
    }
}

/// The parts of an identifier: between underscores, and where upper case begins.
fn parts(word: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    for piece in word.split('_').filter(|piece| !piece.is_empty()) {
        let chars: Vec<(usize, char)> = piece.char_indices().collect();
        let mut start = 0;
        for at in 1..chars.len() {
            let (before, (place, one)) = (chars[at - 1].1, chars[at]);
            let next = chars.get(at + 1).map(|(_, next)| *next);
            // `parseHeader`, and `HTTPClient` before its `C`.
            let begins =
                one.is_uppercase() && (!before.is_uppercase() || next.is_some_and(char::is_lowercase));
            if begins {
                parts.push(&piece[start..place]);
                start = place;
            }
        }
        parts.push(&piece[start..]);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::{terms, wanted_terms};

    #[test]
    fn identifiers_are_found_whole_and_by_their_parts() {
        assert_eq!(
            terms("fn parse_header(HTTPClient) -> u8"),
            ["fn", "parse_header", "parse", "header", "httpclient", "http", "client", "u8"]
        );
        assert_eq!(
            terms("src/walk.rs: getUserID __init__"),
            ["src", "walk", "rs", "getuserid", "get", "user", "id", "init"]
        );
    }

    #[test]
    fn scripts_without_spaces_are_found_by_any_two_characters() {
        assert_eq!(terms("上下文窗口"), ["上下", "下文", "文窗", "窗口"]);
        assert_eq!(terms("設定を変更 foo"), ["設定", "定を", "を変", "変更", "foo"]);
        assert_eq!(terms("가 API문서"), ["가", "api", "문서"]);
    }

    #[test]
    fn an_identifier_is_looked_for_whole() {
        assert_eq!(wanted_terms("parse_header of HTTPClient"), ["parse_header", "of", "httpclient"]);
        assert_eq!(wanted_terms("上下文"), ["上下", "下文"]);
        assert_eq!(wanted_terms("__init__ _"), ["init"]);
    }

    #[test]
    fn data_is_no_term() {
        assert_eq!(terms(&format!("key {} end", "Ab9".repeat(40))), ["key", "end"]);
        assert_eq!(terms("— … _"), Vec::<String>::new());
    }
}
