//! Recognising that a client compacts by itself: its request asks the model for a summary of the conversation, and goes on with that
//! in a new history. Such a request is to show the model the history itself wherever that fits, and not a summary of ours.
//!
//! It is told by the text it ends with: by the words of an agent we know, or, where no tools are offered, by asking for a summary of
//! the conversation. What is not sure is an ordinary request; taken for one of these by mistake, it goes out longer than it might.

use crate::request::Request;
use crate::request_reader;
use epitome_core::{Block, Message, Role};
use epitome_wire::Protocol;

/// How agents ask, each by words that stand in its prompt and in few other texts.
const PROMPTS: [(&str, &str); 11] = [
    ("Claude Code", "create a detailed summary of the conversation so far"),
    ("Claude Code", "create a detailed summary of the recent portion of the conversation"),
    ("Claude Code", "create a detailed summary of this conversation"),
    ("Codex", "context checkpoint compaction"),
    ("opencode", "provide a detailed prompt for continuing our conversation above"),
    ("opencode", "create a new anchored summary from the conversation history"),
    ("opencode", "update the anchored summary below using the conversation history"),
    ("pi", "create a structured context checkpoint summary"),
    ("pi", "update the existing structured summary with new information"),
    ("goose", "summarize the conversation history provided in the system prompt"),
    ("qwen-code", "generate the <state_snapshot>"),
];

/// Such words stand at the beginning of what is asked, behind some lines on how to answer at most; pi has them behind the conversation.
const OPENING_CHARS_MAX: usize = 1_500;
/// Somebody who asks in words of their own says at once what for.
const OWN_WORDS_CHARS_MAX: usize = 300;
/// A conversation of fewer messages is nothing to be summed up.
const MESSAGES_MIN: usize = 3;

/// Whether a request asks for a summary of its own history, by which its client goes on.
pub(crate) fn is_asked(request: &Request) -> bool {
    let Request { protocol, body, opening, hashes, .. } = request;
    // Anthropic's own compaction, asked for by name.
    if *protocol == Protocol::Anthropic && body.field("compaction").is_some() {
        return true;
    }
    let last = hashes.len() - 1;
    if !may_ask(body.meaning(opening + last)) {
        return false;
    }
    let Ok(said) = request_reader::messages(*protocol, body, *opening, last..hashes.len()) else {
        return false;
    };
    let Some(text) = said.last().and_then(|(_, message)| newest_text(message)) else { return false };
    let has_tools = body.field("tools").is_some_and(|tools| tools.trim() != "[]");
    asks(text, has_tools, hashes.len())
}

/// Whether an element may end in such a text, by its bytes: most need no parser to tell.
fn may_ask(element: &str) -> bool {
    ["ummar", "UMMAR", "CHECKPOINT", "state_snapshot", "continuing our conversation"]
        .iter()
        .any(|word| element.contains(word))
}

/// The text that a message of the user's ends with.
fn newest_text(message: &Message) -> Option<&str> {
    match (message.role, message.blocks.last()?) {
        (Role::User, Block::Text { text }) => Some(text),
        (
            Role::User | Role::Assistant | Role::System | Role::Tool,
            Block::Text { .. }
            | Block::Thinking { .. }
            | Block::Call(_)
            | Block::Result(_)
            | Block::Image(_)
            | Block::Opaque(_),
        ) => None,
    }
}

fn asks(text: &str, has_tools: bool, messages: usize) -> bool {
    let (first, last) = (head(text, OPENING_CHARS_MAX), tail(text, OPENING_CHARS_MAX));
    let is_of = |(_, words): &(&str, &str)| first.contains(words) || last.contains(words);
    let own_words = head(text, OWN_WORDS_CHARS_MAX);
    let is_plain = || own_words.contains("summar") && own_words.contains("conversation");
    PROMPTS.iter().any(is_of) || (!has_tools && messages >= MESSAGES_MIN && is_plain())
}

fn head(text: &str, chars: usize) -> String {
    text.chars().take(chars).collect::<String>().to_lowercase()
}

fn tail(text: &str, chars: usize) -> String {
    let from = text.char_indices().rev().nth(chars.saturating_sub(1)).map_or(0, |(at, _)| at);
    text[from..].to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::asks;

    #[test]
    fn the_prompts_of_agents_are_known_and_talk_about_summaries_is_not_taken_for_one() {
        let asked = [
            "CRITICAL: Respond with TEXT ONLY.\n\nYour task is to create a detailed summary of the conversation so far.",
            "You are performing a CONTEXT CHECKPOINT COMPACTION. Create a handoff summary for another LLM.",
            "Provide a detailed prompt for continuing our conversation above.",
            "<conversation>…</conversation>\n\nCreate a structured context checkpoint summary that another LLM will use.",
            "Please summarize the conversation history provided in the system prompt.",
            "First, reason in your scratchpad. Then, generate the <state_snapshot>.",
        ];
        assert_eq!(asked.map(|text| asks(text, true, 1)), [true; 6]);
        let ordinary = [
            "Please summarise what src/lib.rs does.",
            "Write a summary of the release for the changelog.",
            "Our conversation is long; fix the parser.",
            "and now?",
        ];
        assert_eq!(ordinary.map(|text| asks(text, false, 40)), [false; 4]);
    }

    #[test]
    fn words_of_ones_own_count_where_no_tools_are_offered_and_there_is_something_to_sum_up() {
        let text = "Summarize our conversation so far, with every file that was changed.";
        assert_eq!([asks(text, false, 9), asks(text, true, 9), asks(text, false, 1)], [true, false, false]);
    }
}
