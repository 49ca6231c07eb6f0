//! What contexts take in the tokens of their model, whatever their policy counts by. A preset may count as the system
//! it is named after does, in quarters of characters say; figures of two presets can be held side by side in these.

use anyhow::Result;
use epitome_core::{Archive as _, Form, SizeTable, Slot, Tokens};
use epitome_engine::{Assembly, Session};

/// Counts contexts of one conversation.
pub struct ModelCount {
    assembly: Assembly,
    /// What the messages of the file take.
    sizes: SizeTable,
}

impl ModelCount {
    /// Counts as `assembly` does, by which the messages of the file take `sizes`.
    pub fn new(assembly: Assembly, sizes: SizeTable) -> Self {
        Self { assembly, sizes }
    }

    /// The name of that way of counting.
    pub fn method(&self) -> String {
        self.assembly.count_method().to_string()
    }

    /// What it counts by.
    pub fn assembly(&self) -> &Assembly {
        &self.assembly
    }

    /// What the messages of the file take.
    pub fn sizes(&self) -> &SizeTable {
        &self.sizes
    }

    /// What the request of a session as it stands takes.
    pub fn context(&self, session: &Session) -> Result<Tokens> {
        self.request(session, session.context().slots())
    }

    /// What a request takes whose history these things are.
    pub fn request(&self, session: &Session, slots: &[Slot]) -> Result<Tokens> {
        let sizes: Result<Vec<Tokens>> = slots.iter().map(|slot| self.slot(session, slot)).collect();
        Ok(self.with_history(sizes?.into_iter().sum()))
    }

    /// What a request takes whose history takes this much.
    pub fn with_history(&self, history: Tokens) -> Tokens {
        self.assembly.budget().request(history)
    }

    /// What one thing of a history takes.
    pub fn slot(&self, session: &Session, slot: &Slot) -> Result<Tokens> {
        let measure = &**self.assembly.measure();
        match slot {
            Slot::Summary { id } | Slot::Message { id, form: Form::WHOLE } if self.sizes.has(*id) => {
                Ok(self.sizes.total(*id))
            }
            Slot::Message { form: Form { left_out: true, .. }, .. } => Ok(Tokens::ZERO),
            Slot::Message { id, form } => {
                let message = session.archive().message(*id)?;
                Ok(measure.sizes(&form.apply(*id, &message, measure)).total())
            }
            Slot::Summary { id } => {
                let summary =
                    session.log().compaction(*id).and_then(|compaction| compaction.summary.as_deref());
                Ok(measure.text(summary.unwrap_or_default()) + measure.framing())
            }
        }
    }
}
