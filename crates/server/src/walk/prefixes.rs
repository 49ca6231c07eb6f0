//! Telling the operator of requests that begin with something else each time.

use super::Walk;
use crate::books::Book;
use crate::credentials;
use crate::notice::NoticeKind;
use crate::prefix_watch::PrefixPart;
use crate::request::Request;
use epitome_engine::store::SessionId;

impl Walk<'_> {
    /// Looks at what stands in front of the messages of a request.
    pub(super) fn watch_prefix(&self, session: SessionId) {
        let Request { around, hashes, upstream, .. } = self.request;
        let is_at_anthropic = credentials::is_anthropic(upstream);
        let see = |book: &mut Book| book.prefix.see(&around.prefix, hashes.len(), is_at_anthropic);
        let part = self.state.books.with(session, see).flatten();
        part.into_iter().for_each(|part| self.state.tell(NoticeKind::VolatilePrefix { session, part }));
    }

    /// Looks at how the list of a request begins that nobody knew the beginning of.
    pub(super) fn watch_beginning(&self, session: SessionId) {
        if self.state.beginnings.see(&self.state.key, self.request) {
            let part = PrefixPart::FirstMessages;
            let notice = NoticeKind::VolatilePrefix { session, part }
                .with_model(Some(self.request.body.model().to_owned()));
            // Each of them begins a session: it is the client that is told of.
            self.state.tell_once_as(self.request.tenant, part.to_string(), &notice);
        }
    }
}
