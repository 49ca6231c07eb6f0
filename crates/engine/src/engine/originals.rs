//! The originals of an open session: the session holds those that are not stored yet, and those of messages that are shown in part; where
//! a store keeps no texts, those of all that is in view. An act on one of its paths has an archive of its own, with whatever else it
//! reads, for as long as it lasts. So what was said takes no memory between compactions, and nobody who is at work misses what
//! another act has let go meanwhile.
//!
//! Where a store has its originals at hand, as a transcript has, both are that store.

use super::Checkout;
use super::tree::{SessionTree, TreeState};
use crate::error::EngineError;
use crate::session::{AppendedEntry, ReadView, Session};
use crate::store::{SessionId, Store};
use epitome_core::{EntryId, KeptBodies, MemoryArchive, Slot};
use std::collections::HashSet;
use std::sync::Arc;

impl SessionTree {
    /// An archive for one act, with these messages at hand.
    async fn lend(&self, store: &dyn Store, read: &[EntryId]) -> Result<Arc<MemoryArchive>, EngineError> {
        let lent =
            if self.archive.is_backed() { self.archive.clone() } else { self.archive.snapshot().into() };
        self.fill(store, &lent, read).await?;
        Ok(lent)
    }

    /// A copy of the path that ends in `leaf`, with an archive of its own.
    pub(super) async fn check_out_lent(
        &self,
        store: &dyn Store,
        leaf: Option<EntryId>,
        checkout: &Checkout,
    ) -> Result<Session, EngineError> {
        let read = self.state().read_for(leaf, checkout);
        let lent = self.lend(store, &read).await?;
        match self.check_out(leaf, checkout, lent) {
            // Others have appended since it was found out what is needed, or have taken the path that it was to go on from; now
            // nobody may append, and all is read that any way of deriving it asks for.
            Err(EngineError::Archive(_)) => {
                let _in_order = self.commits.lock().await;
                let read = self.state().read_anew(leaf, checkout);
                let lent = self.lend(store, &read).await?;
                self.check_out(leaf, checkout, lent)
            }
            session => session,
        }
    }

    /// Has the originals of what is in view at hand, for this act and for those that follow. Looked at is what has come into view since
    /// the path was last worked on, unless something was let go meanwhile.
    pub(super) async fn read_view(
        &self,
        store: &dyn Store,
        session: &mut Session,
    ) -> Result<(), EngineError> {
        let times_rebuilt = session.timeline().times_rebuilt();
        let seen = ReadView { times_rebuilt, times_let_go: self.state().times_let_go, ..session.read_view };
        let from = if seen == session.read_view { seen.slots } else { 0 };
        let slots = session.context().slots();
        let in_view: Vec<EntryId> = slots[from.min(slots.len())..].iter().filter_map(Slot::message).collect();
        self.fill(store, session.archive(), &in_view).await?;
        let state = self.state();
        for id in self.archive.missing(&in_view) {
            if let Some(message) = session.archive().held(id) {
                self.archive.put_shared(id, message);
            }
        }
        let (slots, times_let_go) = (session.context().slots().len(), state.times_let_go);
        // What was let go while this was read is looked for again the next time.
        let is_all = times_let_go == seen.times_let_go || from == 0;
        session.read_view = ReadView { slots: if is_all { slots } else { 0 }, times_rebuilt, times_let_go };
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

    /// Has everything at hand that a copy is derived anew from where others have appended since it was checked out: what any pass on
    /// its path shows in part, though it left view long ago. Whoever calls holds `commits`, so that nobody appends meanwhile.
    pub(super) async fn read_edited(
        &self,
        store: &dyn Store,
        session: &Session,
        own: &[AppendedEntry],
    ) -> Result<(), EngineError> {
        let is_own = |id: EntryId| own.iter().any(|one| one.id == id);
        let base = session.history().iter().rev().copied().find(|&id| !is_own(id));
        let mut read = self.state().edited(base);
        let trigger = &session.policy().trigger;
        // They are counted anew with what is derived anew.
        if trigger.bytes.is_some() || trigger.media.is_some() {
            read.extend(session.context().message_slots().map(|(id, ..)| id).filter(|&id| !is_own(id)));
        }
        self.fill(store, session.archive(), &read).await
    }

    /// Puts originals into an archive: those that the session holds, and the others from the store.
    pub(super) async fn fill(
        &self,
        store: &dyn Store,
        archive: &MemoryArchive,
        ids: &[EntryId],
    ) -> Result<(), EngineError> {
        let mut missing = Vec::new();
        let lacking = archive.missing(ids);
        if lacking.is_empty() {
            return Ok(());
        }
        for id in lacking {
            match self.archive.held(id) {
                Some(message) => archive.put_shared(id, message),
                None => missing.push(id),
            }
        }
        let log = self.state().log.clone();
        missing.retain(|&id| log.item(id).is_some());
        missing.sort_unstable();
        missing.dedup();
        load_into(store, archive, self.id, &missing).await
    }

    /// Lets go of what a path has superseded, unless another path has it in view. Who needs it later reads it again.
    pub(super) fn let_superseded_go(&self, session: &Session) {
        let mut state = self.state();
        let paths = state.paths.iter().chain([session]);
        let in_view: HashSet<EntryId> =
            paths.flat_map(|path| path.context().message_slots().map(|(id, ..)| id)).collect();
        let gone: Vec<EntryId> =
            session.history().iter().copied().filter(|id| !in_view.contains(id)).collect();
        self.archive.remove(&gone);
        state.times_let_go += 1;
    }

    /// Lets go of what is stored and no path shows in part: a call needs none of it, and who needs it later reads it again.
    pub(super) fn let_stored_go(&self) {
        let mut state = self.state();
        let is_stored = self.kept == KeptBodies::All && state.deferred.is_none();
        if self.archive.is_backed() || !is_stored {
            return;
        }
        let in_part = state.paths.iter().flat_map(|path| path.context().shown_in_part());
        let is_any_gone = self.archive.retain(&in_part.collect::<Vec<EntryId>>());
        state.times_let_go += u64::from(is_any_gone);
    }

    /// Has the originals of messages at hand that are shown in part, for whoever writes what is in view.
    pub(super) async fn read_cut(&self, store: &dyn Store, session: &Session) -> Result<(), EngineError> {
        let cut: Vec<EntryId> = session.context().shown_in_part().collect();
        self.fill(store, session.archive(), &cut).await
    }
}

impl TreeState {
    /// What must be at hand to derive and count the path to `leaf`: messages that were not counted yet, what is not shown whole, and all
    /// of them where bytes or pictures count. Where the path goes on from one that was worked on, that is what is new in it.
    fn read_for(&self, leaf: Option<EntryId>, checkout: &Checkout) -> Vec<EntryId> {
        let growth = self.growth_of(leaf, checkout);
        let trigger = &checkout.assembly.policy().trigger;
        let is_all_read = trigger.bytes.is_some() || trigger.media.is_some();
        let uncounted = if is_all_read {
            growth.since.iter().copied().filter(|&id| self.log.item(id).is_some()).collect()
        } else {
            self.uncounted(&growth.since, checkout.assembly.sizes_key())
        };
        match growth
            .known
            .map(|at| &self.paths[at])
            .filter(|known| !known.is_outdated_by(&self.log, checkout))
        {
            Some(known) if !is_all_read || known.timeline().held_passes().is_empty() => {
                let marks = growth.since.iter().flat_map(|id| self.log.marks_at(Some(*id))).copied();
                [uncounted, self.shown_in_part(marks)].concat()
            }
            Some(_) | None if is_all_read => self.messages_of(leaf),
            Some(_) | None => [uncounted, self.edited(leaf)].concat(),
        }
    }

    /// What must be at hand to derive and count the path to `leaf` from whichever path it is gone on from, or from none.
    fn read_anew(&self, leaf: Option<EntryId>, checkout: &Checkout) -> Vec<EntryId> {
        let trigger = &checkout.assembly.policy().trigger;
        if trigger.bytes.is_some() || trigger.media.is_some() {
            return self.messages_of(leaf);
        }
        [self.uncounted(&self.log.path_of(leaf), checkout.assembly.sizes_key()), self.edited(leaf)].concat()
    }

    /// Messages of a path that some pass shows otherwise than whole: their size must be counted where the path is derived anew.
    fn edited(&self, leaf: Option<EntryId>) -> Vec<EntryId> {
        self.shown_in_part(self.log.marks_on(&self.log.path_of(leaf)).into_iter())
    }

    /// Messages that the passes behind some marks show otherwise than whole.
    fn shown_in_part(&self, marks: impl Iterator<Item = EntryId>) -> Vec<EntryId> {
        let forms = marks.filter_map(|id| self.log.mark_of(self.log.pass_of(id))?.forms());
        forms.flatten().map(|(id, _)| *id).collect()
    }
}

/// Puts originals into memory.
async fn load_into(
    store: &dyn Store,
    archive: &MemoryArchive,
    session: SessionId,
    ids: &[EntryId],
) -> Result<(), EngineError> {
    if ids.is_empty() {
        return Ok(());
    }
    let messages = store.originals(session, ids).await?;
    for (&id, message) in ids.iter().zip(messages) {
        archive.put_shared(id, message);
    }
    Ok(())
}
