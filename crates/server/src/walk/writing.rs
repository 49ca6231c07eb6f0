//! Writing the body that shows a path: the client's own bytes where all is in view; else the head that was written when the newest pass
//! was made, and what the client has said since.

use super::whole_history::HistoryView;
use super::{Walk, WalkError};
use crate::request::Request;
use crate::seeing::{outline_slots, view_slots};
use crate::view::{self, ViewSlot};
use crate::written_head::{self, WrittenHead};
use bytes::Bytes;
use epitome_core::{EntryId, KeptBodies};
use epitome_engine::Session;
use epitome_engine::store::SessionId;
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Walk<'_> {
    /// The body that shows a path of a session, all of it or what is in view.
    pub(super) async fn write(
        &self,
        session: SessionId,
        path: &Session,
        view: HistoryView,
    ) -> Result<Bytes, WalkError> {
        let Request { protocol, body, opening, .. } = self.request;
        let books = &self.state.books;
        let outline = match view {
            HistoryView::InView => books.with(session, |book| outline_slots(path, book)).transpose()?,
            HistoryView::Whole => None,
        };
        let Some(outline) = outline.flatten() else { return Ok(body.bytes().clone()) };
        let pass = self.head_pass(session, path);
        if let Some(pass) = pass
            && let Some(head) = self.head(session, pass).await
            && let Some(mut list) = head.list(self.request, &outline)
        {
            view::mark(*protocol, body, &outline, &mut list);
            return Ok(body.with_messages(&list));
        }
        let slots = books.with(session, |book| view_slots(path, book)).transpose()?.flatten();
        let slots = slots.unwrap_or_default();
        let mut list = view::unmarked(*protocol, body, *opening, &slots);
        if let Some(pass) = pass {
            self.keep_head(session, pass, &slots, &list).await;
        }
        view::mark(*protocol, body, &slots, &mut list);
        Ok(body.with_messages(&list))
    }

    /// The pass whose head a path begins with; none where there is none, or where parts that its provider refused are left out.
    fn head_pass(&self, session: SessionId, path: &Session) -> Option<EntryId> {
        let is_plain = self.state.books.with(session, |book| !book.sealed.is_any())?;
        path.timeline().newest_pass().filter(|_| is_plain)
    }

    /// The head that was written for a pass, here or by whoever worked on the session before.
    async fn head(&self, session: SessionId, pass: EntryId) -> Option<Arc<WrittenHead>> {
        if let Some(known) = self.state.books.with(session, |book| book.heads.of(pass))? {
            return known;
        }
        let store = &self.state.settings.store.as_ref()?.store;
        let kept = written_head::load(&**store, session, pass).await.map(Arc::new);
        self.state.books.with(session, |book| book.heads.put(pass, kept.clone()));
        kept
    }

    /// Keeps the head of a list that was just written. Where others may be asked to go on from it, they find it.
    async fn keep_head(&self, session: SessionId, pass: EntryId, slots: &[ViewSlot], list: &[Cow<'_, str>]) {
        let head = WrittenHead::of(self.request, slots, list).map(Arc::new);
        let gone = self.state.books.with(session, |book| book.heads.put(pass, head.clone())).flatten();
        // A head holds what clients said, cut.
        let store = self.state.settings.store.as_ref().filter(|store| store.keep == KeptBodies::All);
        let Some((head, store)) = head.zip(store) else { return };
        let saving = written_head::save(store.store.clone(), session, (pass, head), gone);
        if self.state.is_shared.load(Ordering::Relaxed) {
            saving.await;
        } else {
            tokio::spawn(saving);
        }
    }
}
