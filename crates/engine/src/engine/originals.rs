//! The originals of an open session: the session holds those of what is in view, and an act on one of its paths has an archive of its
//! own, with whatever else it reads, for as long as it lasts. So what is superseded takes no memory between compactions, and nobody
//! who is at work misses what another act has put out of view meanwhile.
//!
//! Where a store has its originals at hand, as a transcript has, both are that store.

use super::Checkout;
use super::tree::{SessionTree, TreeState};
use crate::error::EngineError;
use crate::session::Session;
use crate::store::Store;
use epitome_core::{EntryId, KeptBodies, MemoryArchive};
use std::collections::HashSet;
use std::sync::Arc;

/// So many messages may be held that nobody looks at any more.
const ABANDONED_MAX: usize = 64;

impl SessionTree {
    /// An archive for one act on the path to `leaf`, with what must be at hand to derive and count it: messages that a way of counting
    /// has not seen yet, what is not shown whole, and all of them where bytes or pictures count.
    pub(super) async fn lend(
        &self,
        store: &dyn Store,
        leaf: Option<EntryId>,
        checkout: &Checkout,
    ) -> Result<Arc<MemoryArchive>, EngineError> {
        let lent = if self.archive.is_backed() { self.archive.clone() } else { Arc::default() };
        let trigger = &checkout.assembly.policy().trigger;
        let counted = {
            let state = self.state();
            if trigger.bytes.is_some() || trigger.media.is_some() {
                state.messages_of(leaf)
            } else {
                [state.uncounted(leaf, checkout.assembly.sizes_key()), state.edited_in_view(leaf, checkout)]
                    .concat()
            }
        };
        self.fill(store, &lent, &counted).await?;
        Ok(lent)
    }

    /// Has the originals of what is in view at hand, for this act and for those that follow.
    pub(super) async fn read_view(&self, store: &dyn Store, session: &Session) -> Result<(), EngineError> {
        let in_view: Vec<EntryId> = session.context().message_slots().map(|(id, ..)| id).collect();
        self.fill(store, session.archive(), &in_view).await?;
        for id in self.archive.missing(&in_view) {
            if let Some(message) = session.archive().held(id) {
                self.archive.put_shared(id, message);
            }
        }
        Ok(())
    }

    /// Has everything at hand that a compaction may read, once and in bulk, for this act alone.
    pub(super) async fn read_all(
        &self,
        store: &dyn Store,
        session: &Session,
        more: &[EntryId],
    ) -> Result<(), EngineError> {
        let edited = self.state().edited(session.leaf());
        let read = [session.timeline().readable(), edited, more.to_vec()].concat();
        self.fill(store, session.archive(), &read).await
    }

    /// Puts originals into an archive: those that the session holds, and the others from the store.
    async fn fill(
        &self,
        store: &dyn Store,
        archive: &MemoryArchive,
        ids: &[EntryId],
    ) -> Result<(), EngineError> {
        let mut missing = Vec::new();
        for id in archive.missing(ids) {
            match self.archive.held(id) {
                Some(message) => archive.put_shared(id, message),
                None => missing.push(id),
            }
        }
        let log = self.state().log.clone();
        missing.retain(|&id| log.item(id).is_some());
        missing.sort_unstable();
        missing.dedup();
        super::load_into(store, archive, self.id, &missing).await
    }

    /// Lets go of what a path has superseded, unless another path has it in view. Who needs it later reads it again.
    pub(super) fn let_superseded_go(&self, session: &Session) {
        let state = self.state();
        let paths = state.paths.iter().chain([session]);
        let in_view: HashSet<EntryId> =
            paths.flat_map(|path| path.context().message_slots().map(|(id, ..)| id)).collect();
        let gone: Vec<EntryId> =
            session.history().iter().copied().filter(|id| !in_view.contains(id)).collect();
        self.archive.remove(&gone);
    }

    /// Lets go of what no path has in view that was worked on last, once enough was appended to be worth a look: a client that changes
    /// what it said last leaves a branch behind with each request. All of it is stored; who goes back there reads it again.
    pub(super) fn let_abandoned_go(&self) {
        let mut state = self.state();
        let is_stored = self.kept == KeptBodies::All && state.deferred.is_none();
        if state.appended < ABANDONED_MAX || self.archive.is_backed() || !is_stored {
            return;
        }
        state.appended = 0;
        let views = state.paths.iter().flat_map(|path| path.context().message_slots().map(|(id, ..)| id));
        self.archive.retain(&views.collect::<Vec<EntryId>>());
    }
}

impl TreeState {
    /// Messages of a path that some pass shows otherwise than whole: their size must be counted where the path is derived anew.
    fn edited(&self, leaf: Option<EntryId>) -> Vec<EntryId> {
        let marks = self.log.marks_on(&self.log.path_of(leaf)).into_iter();
        let forms = marks.filter_map(|id| self.log.mark_of(self.log.pass_of(id))?.forms());
        forms.flatten().map(|(id, _)| *id).collect()
    }

    /// The same, without what left view before the path was last worked on where it only goes on from there.
    fn edited_in_view(&self, leaf: Option<EntryId>, checkout: &Checkout) -> Vec<EntryId> {
        let edited = self.edited(leaf);
        let Some(known) = self.known_path(&self.log.path_of(leaf), checkout) else { return edited };
        if edited.is_empty() || known.is_outdated_by(&self.log, checkout) {
            return edited;
        }
        let in_view: HashSet<EntryId> = known.context().message_slots().map(|(id, ..)| id).collect();
        let is_left = |id: EntryId| Some(id) <= known.leaf() && !in_view.contains(&id);
        edited.into_iter().filter(|&id| !is_left(id)).collect()
    }
}
