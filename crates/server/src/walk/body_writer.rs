//! Writing the body that shows a path: the client's own bytes where all is in view; else the head that was written when the newest pass
//! was made, and what the client has said since.

use super::whole_history::HistoryView;
use super::{Walk, WalkError};
use crate::books::Book;
use crate::own_model;
use crate::request::Request;
use crate::rules::{OwnModel, SessionRule, WarmRequest};
use crate::shown_path::{outline_slots, view_slots};
use crate::view::{self, Origin, ViewSlot};
use crate::written_head::{self, WrittenHead};
use bytes::Bytes;
use epitome_core::{EntryId, KeptBodies};
use epitome_engine::store::SessionId;
use epitome_engine::{Checkout, Session};
use std::borrow::Cow;
use std::sync::Arc;

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
        // What is written anew of messages that are cut, or that parts are left out of, is read for that.
        self.state.engine.read_in_view(session, path).await?;
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

    /// The head that was written for a pass on this branch, here or by whoever worked on the session before.
    async fn head(&self, session: SessionId, pass: EntryId) -> Option<Arc<WrittenHead>> {
        let (books, hashes) = (&self.state.books, &self.request.hashes);
        let find = |book: &mut Book| (book.heads.find(pass, hashes), book.heads.was_looked_for(pass));
        let (known, was_looked_for) = books.with(session, find)?;
        if known.is_some() || was_looked_for {
            return known;
        }
        let store = &self.state.settings.store.as_ref()?.store;
        let stored = written_head::load(&**store, session, pass).await;
        let take = |book: &mut Book| {
            book.heads.take_stored(pass, stored);
            book.heads.find(pass, hashes)
        };
        books.with(session, take).flatten()
    }

    /// Keeps the head of a list that was just written. Where others may be asked to go on from it, they find it.
    async fn keep_head(&self, session: SessionId, pass: EntryId, slots: &[ViewSlot], list: &[Cow<'_, str>]) {
        let Some(head) = WrittenHead::of(self.request, slots, list).map(Arc::new) else { return };
        let gone = self.state.books.with(session, |book| book.heads.put(pass, head.clone())).flatten();
        // A head holds what clients said, cut.
        let store = self.state.settings.store.as_ref().filter(|store| store.keep == KeptBodies::All);
        let Some(store) = store else { return };
        let saving = written_head::save(store.store.clone(), session, (pass, head), gone);
        if self.state.neighbours.may_be() {
            saving.await;
        } else {
            tokio::spawn(saving);
        }
    }
}

impl Walk<'_> {
    /// The client's body with the messages that show `slots`.
    pub(super) fn written(&self, slots: &[ViewSlot]) -> Bytes {
        let Request { protocol, body, opening, .. } = self.request;
        body.with_messages(&view::messages(*protocol, body, *opening, slots))
    }

    /// Shows the request's own model, where it may go on from it, the request as it stands before a compaction.
    pub(super) async fn show_to_own_model(
        &self,
        checkout: &Checkout,
        rule: &SessionRule,
    ) -> Result<(), WalkError> {
        let OwnModel::Ready(own) = &rule.own_model else { return Ok(()) };
        if !own_model::is_warm(checkout) || !rule.policy.summary.input.may_extend() {
            return Ok(());
        }
        let path = self.state.engine.look(checkout).await?;
        let slots = self.state.books.with(checkout.session, |book| {
            let last = path.leaf().and_then(|leaf| book.origins.get(&leaf)).copied();
            view_slots(&path, book).map(|slots| (slots, last))
        });
        let body = match slots.transpose()? {
            Some((Some(slots), _)) => self.written(&slots),
            Some((None, Some(last))) => self.messages_up_to(last),
            Some((None, None)) | None => return Ok(()),
        };
        (own.remember)(WarmRequest { body, beta: self.request.beta.clone() });
        Ok(())
    }

    /// The client's body with its messages up to `last`.
    pub(super) fn messages_up_to(&self, last: Origin) -> Bytes {
        let Request { body, opening, .. } = self.request;
        let messages: Vec<&str> = (0..opening + last.elements().end).map(|at| body.element(at)).collect();
        body.with_messages(&messages)
    }
}
