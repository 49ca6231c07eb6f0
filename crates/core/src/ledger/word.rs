//! Words of shell: quotes and escapes taken off, substitutions left as written.

/// One word from the start of `text`, unquoted, and how many bytes it took.
pub(super) fn word(text: &str) -> (String, usize) {
    let mut out = String::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        match c {
            '\'' => {
                let end = text[at + 1..].find('\'').map_or(text.len(), |n| at + 1 + n);
                out.push_str(&text[at + 1..end]);
                at = (end + 1).min(text.len());
            }
            '"' => at = double_quoted(text, at, &mut out),
            '\\' => {
                let next = text[at + 1..].chars().next();
                if let Some(next) = next.filter(|&next| next != '\n') {
                    out.push(next);
                }
                at += 1 + next.map_or(0, char::len_utf8);
            }
            '$' if text[at..].starts_with("$(") => {
                let end = closing(text, at + 1);
                out.push_str(&text[at..end]);
                at = end;
            }
            '`' => {
                let end = text[at + 1..].find('`').map_or(text.len(), |n| at + n + 2);
                out.push_str(&text[at..end]);
                at = end;
            }
            c if c.is_whitespace() || matches!(c, ';' | '&' | '|' | '<' | '>' | ')') => break,
            c => {
                out.push(c);
                at += c.len_utf8();
            }
        }
    }
    (out, at)
}

fn double_quoted(text: &str, from: usize, out: &mut String) -> usize {
    let mut at = from + 1;
    while let Some(c) = text[at..].chars().next() {
        match c {
            '"' => return at + 1,
            '\\' => {
                let next = text[at + 1..].chars().next();
                match next {
                    Some('"' | '\\' | '$' | '`') => out.extend(next),
                    Some('\n') => {}
                    Some(other) => out.extend(['\\', other]),
                    None => {}
                }
                at += 1 + next.map_or(0, char::len_utf8);
            }
            '$' if text[at..].starts_with("$(") => {
                let end = closing(text, at + 1);
                out.push_str(&text[at..end]);
                at = end;
            }
            c => {
                out.push(c);
                at += c.len_utf8();
            }
        }
    }
    at
}

/// Just past the bracket that closes the one at `open`; the end of the text where none does. A bracket that is quoted or
/// escaped is a letter. Quotes inside of quotes are not looked into, so that no script can nest without end.
fn closing(text: &str, open: usize) -> usize {
    let (mut depth, mut quote) = (0_u32, None);
    let mut bytes = text.bytes().enumerate().skip(open);
    while let Some((at, byte)) = bytes.next() {
        match (quote, byte) {
            (None | Some(b'"'), b'\\') => drop(bytes.next()),
            (Some(open), _) if byte == open => quote = None,
            (Some(_), _) => {}
            (None, b'\'' | b'"') => quote = Some(byte),
            (None, b'(') => depth += 1,
            (None, b')') if depth == 1 => return at + 1,
            (None, b')') => depth -= 1,
            (None, _) => {}
        }
    }
    text.len()
}
