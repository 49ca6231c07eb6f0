//! What every fuzz target does with its bytes: reads them, and finds each message again.

use epitome_core::{Archive, Context, Entry, EntryId, Image, Measure, Tokens, MeasuredItem};
use epitome_wire::{Conversation, FORMATS, Format, detect, native, read};
use std::sync::Arc;

/// Four bytes to the token: all a reader needs.
#[derive(Default)]
pub struct Quarter;

impl Measure for Quarter {
    fn text(&self, text: &str) -> Tokens {
        Tokens(text.len() as u64 / 4)
    }
    fn image(&self, _: &Image) -> Tokens {
        Tokens(1000)
    }
    fn framing(&self) -> Tokens {
        Tokens(4)
    }
}

/// Reads `bytes` as `format`; what was found must be found again, and shown.
pub fn read_as(format: Format, bytes: &[u8]) {
    if let Ok(transcript) = read(Arc::new(bytes.to_vec()), Some(format), &Quarter) {
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
    for id in (0..conversation.log.len() as u32).map(EntryId) {
        if let Some(Entry::Message(item)) = conversation.log.get(id) {
            let message = conversation.originals.message(id).expect("its place was remembered");
            let noted = MeasuredItem { item: item.clone(), sizes: conversation.sizes.of(id) };
            assert_eq!(Quarter.weigh(&message), noted, "{id} is not what was read");
        }
    }
    let reader = conversation.reader(&Quarter);
    let shown = Context::of(conversation.leaf, reader).and_then(|context| context.shown(reader));
    shown.expect("what is in view has its original");
}
