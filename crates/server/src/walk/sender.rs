//! What goes with a body on its way: who learns from the reply, what is known of the request's size, and what the reply's headers say.

use super::Walk;
use super::whole_history::HistoryView;
use crate::learner::{Learner, ReplyCounter};
use crate::reply::Sender;
use crate::request::Request;
use crate::response_headers::{CompactionUse, DoneHeaders};
use crate::responses;
use crate::totals::RequestSize;
use epitome_core::Record;
use epitome_engine::store::SessionId;
use epitome_engine::{Checkout, Session};
use epitome_wire::Protocol;
use epitome_wire::overflow::RequestFacts;
use std::sync::{Arc, PoisonError};

impl Walk<'_> {
    pub(super) fn sender(
        &self,
        checkout: Checkout,
        path: &Session,
        view: HistoryView,
        may_recover: bool,
    ) -> Sender {
        let budget = path.budget();
        let estimate = Some(budget.request(view.tokens(path)));
        let known = RequestFacts { estimate, window: Some(budget.window), largest: None };
        let (state, endpoint) = (self.state.clone(), self.request.endpoint.clone());
        let size = request_size(path, view);
        let done = self.done(checkout.session, size);
        let Request { protocol, body, tenant, .. } = self.request;
        let asked = match protocol {
            Protocol::Anthropic | Protocol::OpenaiChat => None,
            Protocol::OpenaiResponses => responses::asked(&state, *tenant, body),
        };
        let model = body.model().to_owned();
        let counter = ReplyCounter { measure: path.assembly().measure().clone(), scale: budget.scale };
        let chain = self.request.hashes.last().copied();
        let sent_with = path.leaf().map(|leaf| self.request.call_key(leaf));
        let learner = Learner { state, checkout, sent_with, chain, model, endpoint, size, asked, counter };
        let fits_whole = budget.request(path.timeline().whole()) <= budget.window;
        Sender { fits_whole, may_recover, listener: Some(Arc::new(learner)), known, done }
    }

    /// What the reply's headers say.
    pub(super) fn done(&self, session: SessionId, size: RequestSize) -> DoneHeaders {
        let is_observing = self.state.settings.is_observing;
        let is_less = size.sent.min(size.observed) < size.whole;
        let compaction = match *self.rebuilt.lock().unwrap_or_else(PoisonError::into_inner) {
            CompactionUse::None if is_less => CompactionUse::InUse,
            made => made,
        };
        DoneHeaders { taken_up: Some((session, size)), compaction, recovery: None, is_observing }
    }

    pub(super) fn note_rebuilt(&self, record: Option<&Record>) {
        if let Some(rebuilt) = record.and_then(CompactionUse::of) {
            *self.rebuilt.lock().unwrap_or_else(PoisonError::into_inner) = rebuilt;
        }
    }
}

/// What a request has, and what it would have without us: no more than the window, beyond which no provider takes it.
fn request_size(path: &Session, view: HistoryView) -> RequestSize {
    let (budget, whole) = (path.budget(), path.timeline().whole());
    let (whole, sent) = (budget.request(whole), budget.request(view.tokens(path)));
    let observed = sent.less(path.timeline().observed());
    RequestSize { whole, without: whole.min(budget.window).max(sent), sent, observed }
}
