//! What contexts take in the tokens of their model, whatever their policy counts by. A preset may count as the system
//! it is named after does, in quarters of characters say; figures of two presets can be held side by side in these.

use anyhow::Result;
use epitome_core::{Archive as _, EntryId, Form, Message, Role, Slot, Tokens};
use epitome_engine::{Assembly, Session};
use std::cell::RefCell;
use std::collections::HashMap;

/// Counts contexts of one conversation.
pub struct ModelCount {
    assembly: Assembly,
    /// What messages take that are shown whole; contexts of one conversation share most of theirs.
    whole: RefCell<HashMap<EntryId, Tokens>>,
}

impl ModelCount {
    /// Counts as `assembly` does.
    pub fn new(assembly: Assembly) -> Self {
        Self { assembly, whole: RefCell::default() }
    }

    /// The name of that way of counting.
    pub fn method(&self) -> String {
        self.assembly.count_method().to_string()
    }

    /// What a request takes whose history these things are.
    pub fn request(&self, session: &Session, slots: &[Slot]) -> Result<Tokens> {
        let sizes: Result<Vec<Tokens>> = slots.iter().map(|slot| self.slot(session, slot)).collect();
        Ok(self.assembly.budget().request(sizes?.into_iter().sum()))
    }

    /// What the request of a session as it stands takes.
    pub fn context(&self, session: &Session) -> Result<Tokens> {
        self.request(session, session.context().slots())
    }

    fn slot(&self, session: &Session, slot: &Slot) -> Result<Tokens> {
        let (id, form) = match slot {
            Slot::Summary { id } => return Ok(self.summary(session, *id)),
            Slot::Message { id, form } => (*id, *form),
        };
        if form.left_out {
            return Ok(Tokens::ZERO);
        }
        if let Some(&size) = self.whole.borrow().get(&id).filter(|_| form == Form::WHOLE) {
            return Ok(size);
        }
        let message = session.archive().message(id)?;
        let measure = &**self.assembly.measure();
        let size = measure.sizes(&form.apply(id, &message, measure)).total();
        if form == Form::WHOLE {
            self.whole.borrow_mut().insert(id, size);
        }
        Ok(size)
    }

    fn summary(&self, session: &Session, id: EntryId) -> Tokens {
        let summary = session.log().compaction(id).and_then(|compaction| compaction.summary.clone());
        let size = |text| {
            let message = Message::text(Role::User, epitome_core::Author::Harness, text);
            self.assembly.measure().sizes(&message).total()
        };
        summary.map_or(Tokens::ZERO, size)
    }
}
