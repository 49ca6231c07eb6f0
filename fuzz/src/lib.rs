//! What every fuzz target does with its bytes: reads them, and finds each message again.

#[path = "../../crates/wire/tests/reading/mod.rs"]
mod reading;

use epitome_core::Context;
use epitome_wire::{Conversation, FORMATS, Format, detect, native, read};
use reading::{ByteMeasure, originals};
use std::sync::Arc;

/// Reads `bytes` as `format`; what was found must be found again, and shown.
pub fn read_as(format: Format, bytes: &[u8]) {
    if let Ok(transcript) = read(Arc::new(bytes.to_vec()), Some(format), &ByteMeasure) {
        transcript.conversations.iter().for_each(check);
    }
}

/// Reads `bytes` as what they look like.
pub fn read_detected(bytes: &[u8]) {
    if let Ok(format) = detect(&[], &bytes.to_vec()) {
        read_as(format, bytes);
    }
}

/// Takes the last compaction back, in our own form and in those of tools.
pub fn undo(bytes: &[u8]) {
    drop(native::undo(Arc::new(bytes.to_vec())));
    for format in FORMATS.iter().map(|row| row.format).filter(|format| format.is_resumable()) {
        drop(epitome_wire::undo(format, &bytes.to_vec()));
    }
}

fn check(conversation: &Conversation) {
    originals(conversation);
    let reader = conversation.reader(&ByteMeasure);
    let shown = Context::of(conversation.leaf, reader).and_then(|context| context.shown(reader));
    shown.expect("what is in view has its original");
}
