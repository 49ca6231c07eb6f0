//! What the model sees of sessions whose own tool compacted, cleared, rewound or reverted them. Small files after the
//! shapes the tools write; each is detected, and every message is found again at its bytes.

mod copilot_cli;
mod gemini_cli;
mod opencode;
mod qwen_code;
#[path = "../reading/mod.rs"]
mod reading;
#[path = "../words/mod.rs"]
mod words;

use epitome_core::{Context, Message};
use epitome_wire::{Conversation, Format, Transcript, read};
use reading::{ByteMeasure, originals};
use std::sync::Arc;
use words::line;

/// The one place that calls the reader: the format is found, and is the one expected.
fn transcript(of: Format, text: &str) -> Transcript {
    let transcript =
        read(Arc::new(text.as_bytes().to_vec()), None, &ByteMeasure).expect("the sample is read");
    assert_eq!(transcript.format, of);
    for conversation in &transcript.conversations {
        originals(conversation);
    }
    transcript
}

/// The context of each conversation, a line for each message, and the problems.
fn shown(of: Format, text: &str) -> String {
    let transcript = transcript(of, text);
    let mut lines = Vec::new();
    for (number, conversation) in transcript.conversations.iter().enumerate() {
        lines.extend((transcript.conversations.len() > 1).then(|| format!("conversation {number}")));
        lines.extend(context(conversation).iter().map(|message| line(message)));
    }
    let problems = transcript.problems.into_iter();
    lines.extend(problems.map(|told| match told.line {
        Some(number) => format!("! {number} {}", told.what),
        None => format!("! {}", told.what),
    }));
    lines.join("\n")
}

fn context(conversation: &Conversation) -> Vec<Arc<Message>> {
    let reader = conversation.reader(&ByteMeasure);
    let context = Context::of(conversation.leaf, reader).expect("originals can be read");
    let shown = context.shown(reader).expect("originals can be read");
    shown.into_iter().map(|view| view.message).collect()
}

/// Everything in the log that is a message, whether it is in view or not.
fn logged(of: Format, text: &str) -> Vec<String> {
    let transcript = transcript(of, text);
    originals(&transcript.conversations[0]).iter().map(|message| line(message)).collect()
}
