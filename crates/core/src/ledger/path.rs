//! Spellings of paths: joined and normalised, and which of them name one file, by spelling alone.

use crate::pattern::compile;
use regex::Regex;
use std::sync::LazyLock;

/// `path` below `folder`, where it is relative; `./` and `//` taken out, `..` resolved where it can be.
pub(super) fn join(folder: &str, path: &str) -> String {
    if folder.is_empty() || is_absolute(path) {
        return normalize(path);
    }
    normalize(&format!("{folder}/{path}"))
}

/// Whether a path says by itself where it begins: at a root, at a home or on a drive.
pub(super) fn is_absolute(path: &str) -> bool {
    path.starts_with(['/', '\\', '~']) || path.as_bytes().get(1) == Some(&b':')
}

/// The path without `.` and empty parts, and without parts that `..` takes back; a Windows path with slashes.
pub(super) fn normalize(path: &str) -> String {
    // `\` parts a path where nothing else does; beside a slash it is part of a name.
    let is_windows = path.contains('\\') && (!path.contains('/') || path.as_bytes().get(1) == Some(&b':'));
    let path = if is_windows { path.replace('\\', "/") } else { path.to_owned() };
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

/// What two spellings of one file have in common: `D:\x`, `/d/x` and `/mnt/d/x` are `d:/x`, and macOS's
/// `/private/tmp` is `/tmp`.
pub(super) fn identity(path: &str) -> String {
    let path = normalize(path);
    let on_drive = |letter: u8, rest: &str| format!("{}:{rest}", char::from(letter.to_ascii_lowercase()));
    if let [letter, b':', ..] = path.as_bytes() {
        return on_drive(*letter, &path[2..]);
    }
    let below = ["/mnt/", "/cygdrive/", "/"].iter().find_map(|mount| {
        let rest = path.strip_prefix(mount)?;
        let is_drive = rest.as_bytes().first().is_some_and(u8::is_ascii_alphabetic)
            && matches!(rest.as_bytes().get(1), None | Some(b'/'));
        is_drive.then(|| on_drive(rest.as_bytes()[0], &rest[1..]))
    });
    let plain = || match path.strip_prefix("/private/") {
        Some(rest) if rest.starts_with("tmp/") || rest.starts_with("var/") => format!("/{rest}"),
        Some(_) | None => path.clone(),
    };
    below.unwrap_or_else(plain)
}

/// Folders for what nobody means to keep.
static SCRATCH: LazyLock<Regex> = LazyLock::new(|| {
    compile(r"(?i)^(?:/tmp/|/var/tmp/|/var/folders/|/dev/shm/)|/appdata/local/temp/|/\.?scratch(?:pad)?/")
});

/// Whether a path lies in a folder for temporary files.
pub(super) fn is_scratch(path: &str) -> bool {
    SCRATCH.is_match(&identity(path))
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
    use super::{identity, is_scratch, join};

    #[test]
    fn spellings_become_one() {
        assert_eq!(join("/testbed", "./a//b.py"), "/testbed/a/b.py");
        assert_eq!(join("/testbed", "/tmp/x"), "/tmp/x");
        assert_eq!(join("src", "../lib.rs"), "lib.rs");
        assert_eq!(join("", "a/../../b"), "../b");
        assert_eq!(join("D:\\x", "src\\a.rs"), "D:/x/src/a.rs");
    }

    #[test]
    fn a_drive_has_many_spellings() {
        for spelling in
            ["D:\\posh\\src\\a.go", "d:/posh/src/a.go", "/d/posh/src/a.go", "/mnt/d/posh/src/a.go"]
        {
            assert_eq!(identity(spelling), "d:/posh/src/a.go");
        }
        assert_eq!(identity("/private/tmp/a"), "/tmp/a");
        assert_eq!(identity("/dev/Posh"), "/dev/Posh");
    }

    #[test]
    fn temporary_folders_hold_scratch() {
        let all = [
            "/tmp/a.py",
            "/private/var/folders/x/a",
            "C:\\Users\\x\\AppData\\Local\\Temp\\a.js",
            "/w/tmp.rs",
        ];
        assert_eq!(all.map(is_scratch), [true, true, true, false]);
    }
}
