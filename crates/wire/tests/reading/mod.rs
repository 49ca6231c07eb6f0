//! What the tests of readers ask of every conversation, and the fuzz targets with them: each message is found again at
//! its bytes, as it was weighed when it was read.

use epitome_core::{Archive, EntryId, Image, Measure, MeasuredItem, Message, Tokens};
use epitome_wire::Conversation;
use std::sync::Arc;

/// A token for each byte, so that no byte goes astray unnoticed.
pub(crate) struct ByteMeasure;

impl Measure for ByteMeasure {
    fn text(&self, text: &str) -> Tokens {
        Tokens(text.len() as u64)
    }
    fn image(&self, _: &Image) -> Tokens {
        Tokens(1000)
    }
    fn framing(&self) -> Tokens {
        Tokens(4)
    }
}

pub(crate) fn ids(conversation: &Conversation) -> impl Iterator<Item = EntryId> + use<> {
    (0..conversation.log.len() as u32).map(EntryId)
}

/// The messages of a conversation that [`ByteMeasure`] weighed, each from its original and checked against its light half.
#[track_caller]
pub(crate) fn originals(conversation: &Conversation) -> Vec<Arc<Message>> {
    let mut messages = Vec::new();
    for id in ids(conversation) {
        if let Some(item) = conversation.log.item(id) {
            let message = conversation.originals.message(id).expect("its place was remembered");
            let noted = MeasuredItem { item: item.clone(), sizes: conversation.sizes.of(id) };
            assert_eq!(ByteMeasure.weigh(&message), noted, "{id} is not what was read");
            messages.push(message);
        }
    }
    messages
}
