//! Who wrote a message on the user's side: a request body does not say, its text gives it away.

use epitome_core::{Author, Block};

/// How texts begin that agents put in the user's mouth. A person's message may contain them; only
/// one that consists of nothing else is the harness's.
const HARNESS_OPENINGS: [&str; 12] = [
    "<system-reminder>",
    "<command-name>",
    "<command-message>",
    "<local-command-stdout>",
    "<local-command-caveat>",
    "<task-notification>",
    "<environment_context>",
    "<user_instructions>",
    "<permissions instructions>",
    "# AGENTS.md instructions",
    "[Request interrupted by user",
    "This session is being continued from a previous conversation that ran out of context",
];

/// Who wrote the user's blocks: the harness, where every text in them is one it puts in.
pub(crate) fn author_of(blocks: &[Block]) -> Author {
    let mut texts = blocks.iter().filter_map(|block| match block {
        Block::Text { text } => Some(text.trim_start()),
        Block::Thinking { .. } | Block::Call(_) | Block::Result(_) | Block::Image(_) | Block::Opaque(_) => {
            None
        }
    });
    let is_put_in = |text: &str| HARNESS_OPENINGS.iter().any(|opening| text.starts_with(opening));
    match texts.next() {
        Some(first) if is_put_in(first) && texts.all(is_put_in) => Author::Harness,
        Some(_) | None => Author::Person,
    }
}

#[cfg(test)]
mod tests {
    use super::author_of;
    use epitome_core::{Author, Block};

    #[test]
    fn one_sentence_of_a_person_makes_it_a_persons_message() {
        let reminder = Block::text("<system-reminder>be brief</system-reminder>");
        let alone = author_of(std::slice::from_ref(&reminder));
        let with_a_person = author_of(&[reminder, Block::text("fix the bug")]);
        assert_eq!((alone, with_a_person), (Author::Harness, Author::Person));
    }
}
