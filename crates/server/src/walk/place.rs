//! Finding the session that a request goes on with: by the hashes of what it says, here or in the store, or a new one. Books are opened
//! for it, and sessions whose books must go are closed.

use super::{Pace, Walk, WalkError};
use crate::book_hold::{BookHold, LeavingSessions};
use crate::books::Book;
use crate::known_path;
use crate::request::Request;
use crate::sealed_parts::SealedParts;
use epitome_core::EntryId;
use epitome_engine::EngineError;
use epitome_engine::store::{MessageLocation, SessionId};
use std::sync::atomic::{AtomicU64, Ordering};

/// Where a request's messages have come to stand.
pub(super) struct Place {
    pub(super) session: SessionId,
    /// How many of its elements were known.
    pub(super) known: usize,
    /// The newest message that was known.
    pub(super) leaf: Option<EntryId>,
    /// Without its book a session is written as it came, however long it is.
    pub(super) _held: BookHold,
}

/// A newcomer that is counted once it was taken up, or may have been: a walk can end in the middle of that.
struct CountedNewcomer<'c>(&'c AtomicU64);

impl Drop for CountedNewcomer<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Release);
    }
}

impl Walk<'_> {
    /// The session that the request goes on with, or a new one.
    pub(super) async fn place(&self) -> Result<Place, WalkError> {
        let Request { tenant, hashes, .. } = self.request;
        let engine = &self.state.engine;
        let newcomers = || self.state.newcomer_count.load(Ordering::Acquire);
        let before = newcomers();
        let found = if self.begins_anew() { None } else { engine.find(*tenant, hashes).await? };
        if let Some(node) = found {
            if self.state.books.has_room(node.session, self.bytes_from(node.depth)) {
                return self.place_at(node).await;
            }
            if self.state.books.remove(node.session) {
                self.close(vec![node.session]).await?;
            }
        }
        let _newcomers = self.state.newcomers.lock().await;
        let may_be_known = !self.begins_anew() && (found.is_some() || newcomers() != before);
        if may_be_known && let Some(node) = engine.find(*tenant, hashes).await? {
            return self.place_at(node).await;
        }
        // Nothing is kept of a request that cannot be read.
        let messages = self.read(0)?;
        let session = engine.begin(*tenant).await?;
        let _counted = CountedNewcomer(&self.state.newcomer_count);
        let held = match self.open_book(session).await {
            Ok(held) => held,
            Err(error) => {
                engine.close(session).await;
                return Err(error);
            }
        };
        self.watch_beginning(session);
        let leaf = self.append(session, None, &messages).await?;
        Ok(Place { session, known: hashes.len(), leaf, _held: held })
    }

    /// Goes on from the deepest message that is known.
    pub(super) async fn place_at(&self, node: MessageLocation) -> Result<Place, WalkError> {
        let held = self.open_book(node.session).await?;
        self.recognize(node).await?;
        Ok(Place { session: node.session, known: node.depth, leaf: Some(node.entry), _held: held })
    }

    /// Takes up where the messages of a path stand that others have stored, or this server before it was restarted.
    pub(super) async fn recognize(&self, node: MessageLocation) -> Result<(), WalkError> {
        let is_known = |book: &mut Book| book.origins.contains_key(&node.entry);
        if self.state.books.with(node.session, is_known).unwrap_or_default() {
            return Ok(());
        }
        if self.pace == Pace::Light {
            return Err(WalkError::Heavy);
        }
        let Request { tenant, hashes, .. } = self.request;
        self.state.engine.flush(node.session).await?;
        let traced = self.state.engine.trace(*tenant, &hashes[..node.depth]).await?;
        let log = self.state.engine.log(node.session, node.entry).await?;
        let origins =
            known_path::origins(&log, node.entry, &traced).ok_or(WalkError::Unknown(node.session))?;
        let sized = origins.into_iter().map(|(id, origin)| (id, origin, self.bytes_of(origin)));
        self.close(self.state.books.add_messages(node.session, sized)).await?;
        let refused = SealedParts::read(&self.state.engine.about(node.session).await?.proxy_state);
        self.state.books.with(node.session, |book| book.sealed = book.sealed.and(refused));
        if self.state.books.with(node.session, |book| book.records.is_empty()).unwrap_or_default() {
            let records = self.state.engine.store().records(node.session).await.map_err(EngineError::from)?;
            let keep = |book: &mut Book| {
                records.into_iter().for_each(|one| book.keep_record(Some(one.entry), one.record));
            };
            self.state.books.with(node.session, keep);
        }
        Ok(())
    }

    /// Opens the book of a session, and holds it; those that must go for it are closed.
    pub(super) async fn open_book(&self, session: SessionId) -> Result<BookHold, WalkError> {
        let Request { protocol, body, .. } = self.request;
        let gone = self.state.books.open(session, *protocol, body.model());
        let gone = gone.ok_or(WalkError::Leaving(session))?;
        let held = BookHold::of_opened(self.state, session);
        self.close(gone).await?;
        Ok(held)
    }

    /// Closes sessions whose books were let go.
    pub(super) async fn close(&self, gone: Vec<SessionId>) -> Result<(), WalkError> {
        let leaving = LeavingSessions { books: &self.state.books, sessions: gone };
        for &session in &leaving.sessions {
            self.state.engine.close(session).await;
            // What is in memory alone is let go with it; a store that outlives us keeps what it keeps.
            if self.state.settings.store.is_none() {
                self.state.engine.store().remove(session).await.map_err(EngineError::from)?;
            }
        }
        Ok(())
    }

    /// What the elements from a place on take.
    pub(super) fn bytes_from(&self, known: usize) -> usize {
        let Request { body, opening, .. } = self.request;
        (opening + known..body.len()).map(|at| body.element(at).len()).sum()
    }
}
