//! What is in view beside tokens: messages, bytes and pictures, for policies that count them.

use crate::timeline::Lens;
use epitome_core::{ArchiveError, Block, Context, EntryId, Form, Message, ResultPart};
use std::collections::HashMap;

/// Messages, bytes and pictures in view. Bytes and pictures are counted only where the policy asks for them.
#[derive(Clone, Debug, Default)]
pub(crate) struct ViewTally {
    pub messages: u64,
    pub bytes: u64,
    pub media: u64,
    each: HashMap<EntryId, (u64, u64)>,
}

impl ViewTally {
    /// Takes up one more message at the end of the context.
    pub(crate) fn take(
        &mut self,
        id: EntryId,
        context: &Context,
        lens: Lens<'_>,
    ) -> Result<(), ArchiveError> {
        if context.slots().last().is_some_and(|slot| slot.id() == id) {
            self.add(id, Form::WHOLE, lens)?;
        }
        Ok(())
    }

    /// Counts all that is in view again.
    pub(crate) fn recount(&mut self, context: &Context, lens: Lens<'_>) -> Result<(), ArchiveError> {
        (self.messages, self.bytes, self.media) = (0, 0, 0);
        for (id, form, _) in context.message_slots() {
            self.add(id, form, lens)?;
        }
        Ok(())
    }

    /// Counts a message as it is shown; each is weighed once while that is whole.
    fn add(&mut self, id: EntryId, form: Form, lens: Lens<'_>) -> Result<(), ArchiveError> {
        if form.left_out {
            return Ok(());
        }
        self.messages += 1;
        if lens.trigger.bytes.is_none() && lens.trigger.media.is_none() {
            return Ok(());
        }
        let known = self.each.get(&id).copied().filter(|_| form == Form::WHOLE);
        let (bytes, media) = match known {
            Some(known) => known,
            None => weigh(&form.apply(id, &lens.archive.message(id)?, lens.measure)),
        };
        if form == Form::WHOLE {
            self.each.insert(id, (bytes, media));
        }
        self.bytes += bytes;
        self.media += media;
        Ok(())
    }
}

/// Bytes and pictures of a message.
fn weigh(message: &Message) -> (u64, u64) {
    let (mut bytes, mut media) = (0, 0);
    let mut picture = |data: &str| {
        bytes += data.len();
        media += 1;
    };
    let mut texts = 0;
    for block in &message.blocks {
        match block {
            Block::Text { text } | Block::Thinking { text, .. } => texts += text.len(),
            Block::Call(call) => texts += call.name.len() + call.input.len(),
            Block::Image(image) => picture(&image.data),
            Block::Opaque(opaque) => texts += opaque.json.len(),
            Block::Result(result) => result.parts.iter().for_each(|part| match part {
                ResultPart::Text { text } => texts += text.len(),
                ResultPart::Image(image) => picture(&image.data),
                ResultPart::Opaque(opaque) => texts += opaque.json.len(),
            }),
        }
    }
    ((bytes + texts) as u64, media)
}
