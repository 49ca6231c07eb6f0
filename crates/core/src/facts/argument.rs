//! Facts that arguments state by their name: paths and commands.

use super::{Class, Mention, VALUE_BYTES_MIN};

/// Arguments whose value is a path, however short it is.
const PATH_NAMES: [&str; 14] = [
    "path",
    "file",
    "file_path",
    "filePath",
    "filename",
    "target",
    "old_path",
    "new_path",
    "cwd",
    "workdir",
    "notebook_path",
    "absolute_path",
    "target_file",
    "dir_path",
];
/// Arguments whose value is a script.
const SCRIPT_NAMES: [&str; 3] = ["command", "cmd", "script"];
/// Longer commands are programs; they are not repeated word for word.
const COMMAND_BYTES_MAX: usize = 300;

/// Calls `found` for the path or the commands that an unfolded argument line states.
pub(super) fn scan_argument<'t>(line: &'t str, found: &mut impl FnMut(Mention<'t>)) {
    let Some((name, value)) = line.split_once(": ") else { return };
    if PATH_NAMES.contains(&name) {
        let value = value.strip_prefix("./").unwrap_or(value).trim_end_matches('/');
        if value.len() >= VALUE_BYTES_MIN && value.len() <= COMMAND_BYTES_MAX {
            found(Mention { class: Class::Path, key: value, value });
        }
    } else if SCRIPT_NAMES.contains(&name) {
        scan_commands(value, found);
    }
}

/// Calls `found` for each command of a one-line script.
pub fn scan_commands<'t>(script: &'t str, found: &mut impl FnMut(Mention<'t>)) {
    for command in split_commands(script) {
        let words = command.split_whitespace().take(2).map(str::len).sum::<usize>();
        if command.len() > COMMAND_BYTES_MAX || words < VALUE_BYTES_MIN || command.starts_with("cd ") {
            continue;
        }
        let end = command.match_indices(' ').nth(1).map_or(command.len(), |(at, _)| at);
        found(Mention { class: Class::Command, key: &command[..end], value: command });
    }
}

/// The commands between `&&`, `||`, `;` and `|`, quotes respected.
fn split_commands(script: &str) -> Vec<&str> {
    let (mut all, mut start, mut quote) = (Vec::new(), 0, None);
    for (at, byte) in script.bytes().enumerate() {
        match (quote, byte) {
            (None, b'\'' | b'"') => quote = Some(byte),
            (Some(open), _) if open == byte => quote = None,
            (None, b'&' | b'|' | b';') => {
                all.push(script[start..at].trim());
                start = at + 1;
            }
            (None | Some(_), _) => {}
        }
    }
    all.push(script[start..].trim());
    all.retain(|command| !command.is_empty());
    all
}

#[cfg(test)]
mod tests {
    use super::scan_argument;
    use crate::facts::{Class, Mention};

    fn found(line: &str) -> Vec<(Class, &str)> {
        let mut all = Vec::new();
        scan_argument(line, &mut |Mention { class, value, .. }| all.push((class, value)));
        all
    }

    #[test]
    fn a_named_path_needs_no_slash() {
        assert_eq!(found("file_path: Cargo.toml"), [(Class::Path, "Cargo.toml")]);
    }

    #[test]
    fn commands_part_at_operators() {
        let want = [(Class::Command, "cargo test -p core"), (Class::Command, "grep 'a;b' x.log")];
        assert_eq!(found("command: cd /w && cargo test -p core | grep 'a;b' x.log"), want);
    }
}
