//! Paths as the calls wrote them, put into one spelling.

/// `path` below `folder`, where it is relative; `./` and `//` taken out, `..` resolved where it can be.
pub(super) fn join(folder: &str, path: &str) -> String {
    let is_absolute = path.starts_with(['/', '~']) || path.as_bytes().get(1) == Some(&b':');
    if is_absolute || folder.is_empty() {
        return normalize(path);
    }
    normalize(&format!("{folder}/{path}"))
}

/// The path without `.` and empty parts, and without parts that `..` takes back.
pub(super) fn normalize(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    let root = if path.starts_with('/') { "/" } else { "" };
    format!("{root}{}", parts.join("/"))
}

/// Whether a word can be the path of one file: no device, no pattern, no flag, nothing to be expanded.
pub(super) fn is_file(word: &str) -> bool {
    let is_open =
        |c: char| matches!(c, '*' | '?' | '$' | '`' | '{' | '}' | '<' | '>' | '|' | '(' | ')' | '\n' | '"');
    !word.is_empty()
        && !word.starts_with('-')
        && !word.starts_with("/dev/")
        && !word.ends_with('/')
        && !matches!(word, "." | ".." | "&1" | "&2")
        && !word.starts_with('&')
        && !word.contains(is_open)
}

#[cfg(test)]
mod tests {
    use super::join;

    #[test]
    fn spellings_become_one() {
        assert_eq!(join("/testbed", "./a//b.py"), "/testbed/a/b.py");
        assert_eq!(join("/testbed", "/tmp/x"), "/tmp/x");
        assert_eq!(join("src", "../lib.rs"), "lib.rs");
        assert_eq!(join("", "a/../../b"), "../b");
    }
}
