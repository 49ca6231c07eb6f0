//! A name as a shell takes it for one word.

/// The name itself where nothing in it means anything to a shell, else in quotation marks.
pub fn shell_word(name: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+=:,@~".contains(c);
    if !name.is_empty() && name.chars().all(is_plain) {
        return name.to_owned();
    }
    format!("'{}'", name.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::shell_word;

    #[test]
    fn what_a_shell_would_read_is_quoted() {
        assert_eq!(["/a/b-c.d", "it's", ""].map(shell_word), ["/a/b-c.d", r"'it'\''s'", "''"]);
    }
}
