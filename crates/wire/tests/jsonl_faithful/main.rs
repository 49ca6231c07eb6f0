//! Session files as their tools mean them: what is damaged is read for what is left, what nobody knows is
//! carried, and what was taken back, cleared or edited is so here too.

mod claude_code;
mod codex;
mod damage;
#[path = "../lines/mod.rs"]
mod lines;
mod pi;
#[path = "../reading/mod.rs"]
mod reading;

use epitome_core::{Block, Context, EntryId, Measure, Message, ResultPart, Tail, Tokens};
use epitome_wire::{Format, Transcript, append};
use lines::{boundary, file};
use reading::{ByteMeasure, originals};
use std::sync::Arc;

fn read(format: Format, lines: &[String]) -> Transcript {
    read_bytes(format, file(lines))
}

fn read_bytes(format: Format, bytes: Vec<u8>) -> Transcript {
    let read = epitome_wire::read(Arc::new(bytes), Some(format), &ByteMeasure);
    let transcript = read.expect("it is of this format");
    for conversation in &transcript.conversations {
        originals(conversation);
    }
    transcript
}

/// What the model sees, each message in a few words.
fn seen(transcript: &Transcript) -> Vec<String> {
    let conversation = &transcript.conversations[0];
    let reader = conversation.reader(&ByteMeasure);
    let context = Context::of(conversation.leaf, reader).expect("it can be read");
    let shown = context.shown(reader).expect("it can be read");
    let total: Tokens = shown.iter().map(|shown| ByteMeasure.sizes(&shown.message).total()).sum();
    assert_eq!(context.tokens(), total, "what is shown is what is counted");
    shown.iter().map(|shown| told(&shown.message)).collect()
}

fn told(message: &Message) -> String {
    message.blocks.iter().map(block).collect::<Vec<_>>().join("+")
}

fn block(block: &Block) -> String {
    match block {
        Block::Text { text } => text.to_string(),
        Block::Thinking { text, .. } => format!("thinking {text}"),
        Block::Call(call) => format!("call {} {}", call.id, call.input),
        Block::Result(result) => {
            let parts = result.parts.iter().map(part).collect::<Vec<_>>().join("+");
            format!("result {} {parts}", result.call)
        }
        Block::Image(image) => format!("image {}", image.data),
        Block::Opaque(opaque) => format!("opaque {} {}", opaque.kind, opaque.json),
    }
}

fn part(part: &ResultPart) -> String {
    match part {
        ResultPart::Text { text } => text.to_string(),
        ResultPart::Image(image) => format!("image {}", image.data),
        ResultPart::Opaque(opaque) => format!("opaque {} {}", opaque.kind, opaque.json),
    }
}

/// Each problem with its line.
fn problems(transcript: &Transcript) -> Vec<String> {
    let line = |line: Option<u64>| line.map_or_else(String::new, |line| format!("{line}: "));
    transcript.problems.iter().map(|problem| line(problem.line) + &problem.what).collect()
}

/// The file after a compaction that keeps everything from `first` on, and what was appended.
fn compacted(format: Format, lines: &[String], first: EntryId) -> (Transcript, String) {
    let bytes = file(lines);
    let added =
        append(&read(format, lines), 0, &bytes, &boundary(Tail::From(first))).expect("it can be appended to");
    let after = read_bytes(format, [&bytes[..], &added].concat());
    (after, String::from_utf8(added).expect("it is JSON"))
}
