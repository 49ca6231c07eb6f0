//! Mending a request that its provider refused: what was learned from the refusal is noted, and the request goes once more with less of
//! an answer, of a history, of bytes, or of what is bound and sealed.

use super::{Attempt, PreparedRequest, Walk, WalkError, attempt};
use crate::body_edit;
use crate::notice::NoticeKind;
use crate::observation::note_refusal;
use crate::request::Request;
use crate::resend::Resend;
use crate::server_state::ServerState;
use epitome_core::EntryId;
use epitome_engine::store::SessionId;
use epitome_engine::{Checkout, Event, PreparedSession, RefusalFigures, Session};
use epitome_wire::overflow::OverflowFigures;
use std::sync::Arc;

/// The request mended after a refusal, to be sent once more; none where nothing can be done about it. `first` is what was refused.
pub(crate) async fn mend(
    state: &Arc<ServerState>,
    request: &Arc<Request>,
    remedy: Resend,
    first: &PreparedRequest,
) -> Option<PreparedRequest> {
    if state.settings.is_observing {
        note_refusal(state, request, remedy, first);
        return None;
    }
    let mut mended = mend_by(state, request, remedy, first).await?;
    mended.from.done = mended.from.done.after_refusal(&first.from.done, remedy.name());
    Some(mended)
}

async fn mend_by(
    state: &Arc<ServerState>,
    request: &Arc<Request>,
    remedy: Resend,
    first: &PreparedRequest,
) -> Option<PreparedRequest> {
    let again = match remedy {
        Resend::Compact(told) => Attempt::AfterOverflow(told),
        Resend::AskForLess(told) => {
            let less = || ask_for_less(state, request, told, first);
            match first.from.may_recover.then(less).flatten() {
                Some(less) => return Some(less),
                None => Attempt::AfterOverflow(told),
            }
        }
        Resend::Shed(bytes_max) => Attempt::AfterBytes(bytes_max),
        Resend::LeaveThinkingOut | Resend::LeaveSealedOut | Resend::SendAsItCame
            if !first.from.may_recover =>
        {
            return None;
        }
        Resend::LeaveThinkingOut => Attempt::AfterBinding,
        Resend::LeaveSealedOut => Attempt::AfterSeals,
        // What we have written anew may be at fault; what the client wrote is the client's.
        Resend::SendAsItCame => {
            let is_ours = first.body != *request.body.bytes() && first.from.fits_whole;
            return is_ours.then(|| request.as_it_came(first.from.clone()));
        }
    };
    attempt(state, request, again).await.filter(|again| again.body != first.body || again.beta != first.beta)
}

/// An answer of fewer tokens is none.
const OUTPUT_TOKENS_MIN: u64 = 1_024;

/// The same request with as long an answer as there is room for; none where that is not worth asking for.
fn ask_for_less(
    state: &ServerState,
    request: &Request,
    told: OverflowFigures,
    first: &PreparedRequest,
) -> Option<PreparedRequest> {
    let room = told.answer_room().filter(|room| room.0 >= OUTPUT_TOKENS_MIN)?;
    let body = body_edit::lower_output(&first.body, room.0)?;
    if let Some(window) = told.limit() {
        let (endpoint, now) = (request.endpoint.clone(), state.calendar());
        state.books.windows(|windows| windows.limit(&endpoint, window, now));
    }
    Some(PreparedRequest { body, beta: first.beta, from: first.from.clone(), session: first.session })
}

impl Walk<'_> {
    /// Leaves out of a context that was rebuilt what this endpoint has refused in others.
    pub(super) fn expect_binding(&self, path: &Session, session: SessionId) {
        let (endpoint, now) = (self.request.endpoint.clone(), self.state.calendar());
        let is_rebuilt = !path.compactions().is_empty();
        if is_rebuilt && self.state.books.learned(|known| known.bindings.has(&endpoint, now)) {
            let must_think = body_edit::must_think(self.request.body.bytes());
            self.state.books.with(session, |book| book.sealed.expect_binding(must_think));
        }
    }

    /// Notes what the provider refused, for this request and those behind it.
    pub(super) async fn leave_out(
        &self,
        session: SessionId,
        attempt: Attempt,
        newest: Option<EntryId>,
    ) -> Result<(), WalkError> {
        let must_think = body_edit::must_think(self.request.body.bytes());
        if attempt == Attempt::AfterBinding {
            let (endpoint, now) = (self.request.endpoint.clone(), self.state.calendar());
            self.state.books.learned(|known| known.bindings.learn(&endpoint, now));
        }
        let sealed = self.state.books.with(session, |book| {
            book.tally.recoveries += 1;
            match attempt {
                Attempt::AfterSeals => book.sealed.leave_sealed_out(newest),
                Attempt::AfterBinding
                | Attempt::First
                | Attempt::AfterOverflow(_)
                | Attempt::AfterBytes(_) => book.sealed.leave_thinking_out(newest, must_think),
            }
            book.sealed
        });
        let mut about = self.state.engine.about(session).await?;
        about.proxy_state = sealed.unwrap_or_default().written();
        self.state.engine.describe(session, about).await?;
        Ok(())
    }

    /// Makes room after an overflow; none where no more can be done.
    pub(super) async fn recover(
        &self,
        checkout: &Checkout,
        told: OverflowFigures,
    ) -> Result<Option<PreparedSession>, WalkError> {
        let session = checkout.session;
        self.state.tell(NoticeKind::TooLong { session });
        let figures = RefusalFigures { limit: told.limit().or(told.rate), requested: told.requested };
        let (mut acted, verdict) = self.state.engine.overflow(checkout, figures, told.gap()).await?;
        if told.limit().is_none() && told.rate.is_some() {
            // What one minute allows is what this request must fit, and no window: nothing is learned from it.
            acted.step.events.retain(|event| !matches!(event, Event::Learned { .. }));
        }
        self.learn(&acted.step.events);
        let acted = self.settle(session, Ok(acted))?;
        if verdict.is_err() {
            return Ok(None);
        }
        self.state.books.with(session, |book| book.tally.recoveries += 1);
        Ok(Some(acted))
    }

    /// Learns the window of the request's model, for every session with it. The window that the path is measured by
    /// may be what an agent or the operator says of it, and says nothing of the provider.
    pub(super) fn learn(&self, events: &[Event]) {
        let (endpoint, now) = (self.request.endpoint.clone(), self.state.calendar());
        for event in events {
            if let Event::Learned { window } = event {
                self.state.books.windows(|windows| windows.limit(&endpoint, *window, now));
            }
        }
    }
}
