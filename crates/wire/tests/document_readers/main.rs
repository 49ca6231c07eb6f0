//! The readers of whole documents and request bodies: on real files, on small ones, and on bad ones.

mod broken;
mod corpus;
mod detection;
mod samples;

use epitome_core::{Archive, Entry, EntryId, Image, Measure, MeasuredItem, Message, Tokens};
use epitome_wire::{Conversation, Format, ReadError, Transcript, read};
use std::sync::Arc;

/// Four bytes to the token: all a test of readers needs.
struct Quarter;

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

/// The one place that calls the reader.
fn read_as(from: Option<Format>, bytes: &[u8]) -> Result<Transcript, ReadError> {
    read(Arc::new(bytes.to_vec()), from, &Quarter)
}

fn ids(conversation: &Conversation) -> impl Iterator<Item = EntryId> + use<> {
    (0..conversation.log.len() as u32).map(EntryId)
}

/// The messages of a conversation, each from its original and checked against its light half.
fn originals(conversation: &Conversation) -> Vec<Arc<Message>> {
    let mut messages = Vec::new();
    for id in ids(conversation) {
        if let Some(Entry::Message(item)) = conversation.log.get(id) {
            let message = conversation.originals.message(id).expect("its place was remembered");
            let noted = MeasuredItem { item: item.clone(), sizes: conversation.sizes.of(id) };
            assert_eq!(Quarter.weigh(&message), noted, "{id} is not what was read");
            messages.push(message);
        }
    }
    messages
}
