//! The request by which a client compacts its own history: the model is shown that history as it was, wherever it fits the window.
//! Where it does not, it is shown what is in view, a summary of ours and what stands behind it; a summary is made for it only where
//! that does not fit either. What the client goes on with is a new history to us, as it is to the provider.

use super::{Walk, WalkError};
use epitome_core::Tokens;
use epitome_engine::store::SessionId;
use epitome_engine::{Checkout, Session};
use epitome_wire::overflow::OverflowFigures;

/// How much of its history such a request shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HistoryView {
    /// What the session has in view.
    InView,
    /// All of it, as the client sent it.
    Whole,
}

impl HistoryView {
    /// What it takes by our count.
    pub(super) fn tokens(self, path: &Session) -> Tokens {
        match self {
            Self::InView => path.context().tokens(),
            Self::Whole => path.timeline().whole(),
        }
    }
}

impl Walk<'_> {
    /// How the history is shown to a client that compacts it; none where room must be made for it first.
    pub(super) async fn show_history(
        &self,
        checkout: &Checkout,
    ) -> Result<Option<(Session, HistoryView)>, WalkError> {
        let path = self.state.engine.look(checkout).await?;
        let budget = path.budget();
        // What its provider refused once is left out here too.
        let has_refused = self.state.books.with(checkout.session, |book| book.sealed.is_any());
        let view = if budget.fits(path.timeline().whole()) && !has_refused.unwrap_or_default() {
            HistoryView::Whole
        } else if budget.fits(path.context().tokens()) {
            HistoryView::InView
        } else {
            return Ok(None);
        };
        Ok(Some((path, view)))
    }

    /// The same after its provider refused all of it: what is in view, where that is less and fits what the provider says it takes.
    pub(super) async fn show_less(
        &self,
        session: SessionId,
        checkout: &Checkout,
        told: OverflowFigures,
    ) -> Result<Option<Session>, WalkError> {
        let path = self.state.engine.look(checkout).await?;
        let (shown, whole, budget) = (path.context().tokens(), path.timeline().whole(), path.budget());
        let has_room = told.limit().is_none_or(|limit| budget.request(shown) <= limit);
        let is_enough = told.gap().is_none_or(|gap| budget.request(whole).less(budget.request(shown)) >= gap);
        if shown >= whole || !budget.fits(shown) || !has_room || !is_enough {
            return Ok(None);
        }
        if let Some(window) = told.limit() {
            let (endpoint, now) = (self.request.endpoint.clone(), self.state.calendar());
            self.state.books.windows(|windows| windows.limit(&endpoint, window, now));
        }
        self.state.books.with(session, |book| book.tally.recoveries += 1);
        Ok(Some(path))
    }
}
