//! A name as a shell takes it for one word.

/// The name itself where nothing in it means anything to a shell, else in quotation marks.
pub fn shell_word(name: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+=:,@".contains(c);
    if !name.is_empty() && name.chars().all(is_plain) {
        return name.to_owned();
    }
    format!("'{}'", name.replace('\'', r"'\''"))
}

/// The words of a command, those in quotation marks whole and as they are written.
pub fn words(command: &str) -> Vec<&str> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    let ends_word = |c: char| {
        is_quoted ^= c == '\'' && !is_escaped;
        is_escaped = c == '\\' && !is_quoted && !is_escaped;
        c == ' ' && !is_quoted
    };
    command.split(ends_word).collect()
}

#[cfg(test)]
mod tests {
    use super::{shell_word, words};

    #[test]
    fn a_command_has_the_words_it_was_made_of() {
        let made = ["cd", "it's a place", "a b", "c"].map(shell_word);
        assert_eq!(words(&made.join(" ")), made);
    }

    #[test]
    fn what_a_shell_would_read_is_quoted() {
        assert_eq!(
            ["/a/b-c.d", "it's", "", "~/a"].map(shell_word),
            ["/a/b-c.d", r"'it'\''s'", "''", "'~/a'"]
        );
    }
}
