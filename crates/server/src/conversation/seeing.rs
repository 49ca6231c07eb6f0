//! What the model is to see of a conversation, in terms of the client's own messages.

use super::Conversation;
use crate::view::Seen;
use epitome_core::{Archive, Author, Block, Entry, EntryId, Form, Message, Role, Slot};
use epitome_engine::EngineError;
use std::sync::Arc;

impl Conversation {
    /// What the model is to see, slot by slot; none where that is all of it, as the client sent it.
    pub(crate) fn seen(&self) -> Result<Option<Vec<Seen>>, EngineError> {
        let slots = self.session.context().slots();
        let is_whole = |slot: &Slot| matches!(slot, Slot::Message { form, .. } if *form == Form::WHOLE);
        if slots.len() == self.session.history().len() && slots.iter().all(is_whole) {
            return Ok(None);
        }
        let seen: Result<Vec<Option<Seen>>, EngineError> =
            slots.iter().map(|slot| self.seen_in(slot)).collect();
        Ok(Some(seen?.into_iter().flatten().collect()))
    }

    fn seen_in(&self, slot: &Slot) -> Result<Option<Seen>, EngineError> {
        let (id, form) = match slot {
            Slot::Summary { id } => return Ok(self.summary(*id).map(Seen::Summary)),
            Slot::Message { id, form } => (*id, *form),
        };
        let Some(origin) = self.origins.get(id.index()).copied().flatten() else { return Ok(None) };
        let is_spared = self.spared.last().is_some_and(|spared| spared.element == origin.element);
        let form = Form { thinking: form.thinking && !is_spared, ..form };
        let message = self.layers.message(id)?;
        let is_cut = Form { thinking: false, ..form } == Form::WHOLE && !is_all_thinking(&message, form);
        let shown = (!is_cut).then(|| form.apply(id, &message, &self.gauge));
        Ok(Some(Seen::Message { origin, form, shown }))
    }

    fn summary(&self, id: EntryId) -> Option<Arc<Message>> {
        let Some(Entry::Compaction(compaction)) = self.session.log().get(id) else { return None };
        let text = compaction.summary.as_ref()?.text.clone();
        Some(Arc::new(Message::text(Role::User, Author::Harness, text)))
    }
}

/// Whether leaving out thinking leaves nothing of a message.
fn is_all_thinking(message: &Message, form: Form) -> bool {
    let is_thinking = |block: &Block| matches!(block, Block::Thinking { .. });
    form.thinking && message.blocks.iter().all(is_thinking)
}
