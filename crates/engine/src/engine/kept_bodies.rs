//! How much of what clients say is stored. A proxy's client says its history again with each request, so that a store may keep the
//! light halves, hashes and marks, and leave the text to it. Where an act needs a text that nobody has at hand, it ends with
//! [`StoreError::NotKept`](crate::store::StoreError::NotKept), and whoever has the request gives it by [`Engine::supply`].

use super::Engine;
use super::tree::SessionTree;
use crate::error::EngineError;
use crate::session::{Session, Step};
use crate::store::{CommitBatch, SessionId};
use epitome_core::{Entry, EntryId, KeptBodies, Mark, Message, Outcome};
use std::collections::HashSet;

impl Engine {
    /// The same with so much of what clients say again stored.
    #[must_use]
    pub fn with_kept_bodies(self, kept: KeptBodies) -> Self {
        Self { kept, ..self }
    }

    /// Gives an open session texts that its store does not keep, for the act that is tried next.
    pub async fn supply(
        &self,
        session: SessionId,
        messages: Vec<(EntryId, Message)>,
    ) -> Result<(), EngineError> {
        let tree = self.tree(session).await?;
        messages.into_iter().for_each(|(id, message)| tree.archive.put(id, message));
        tree.note_supplied();
        Ok(())
    }
}

impl SessionTree {
    /// Takes the texts into a batch that leave the view with it, where they were not stored as they came.
    pub(super) fn keep_superseded(&self, session: &Session, step: &Step, batch: &mut CommitBatch) {
        if self.kept != KeptBodies::Superseded {
            return;
        }
        let held = |id: EntryId| session.archive().held(id).or_else(|| self.archive.held(id));
        let gone = superseded_by(step).into_iter();
        batch.messages.extend(gone.filter_map(|id| Some((id, held(id)?))));
    }
}

/// The messages that the compactions and edits of a step put out of view, or show in part.
fn superseded_by(step: &Step) -> HashSet<EntryId> {
    let mut gone = HashSet::new();
    for one in &step.appended {
        let Entry::Mark(mark) = &one.entry else { continue };
        gone.extend(mark.forms().into_iter().flatten().map(|(id, _)| *id));
        let (Mark::Compaction { record, .. } | Mark::Edit { record, .. }) = mark else { continue };
        if let Outcome::Compacted(change) | Outcome::Pruned(change) = &record.outcome {
            gone.extend(change.superseded.iter().chain(&change.dropped).chain(&change.folded));
        }
    }
    gone
}
