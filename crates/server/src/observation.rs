//! A server that observes: each body goes out as it came, and what would have been done to it is told, counted and kept as not done.
//! What would have been done is found out by what asks nobody.

use crate::notice::NoticeKind;
use crate::request::Request;
use crate::resend::Resend;
use crate::server_state::ServerState;
use crate::walk::PreparedRequest;
use epitome_core::{Entry, EntryId, Mark, Record};
use epitome_engine::store::SessionId;
use epitome_engine::{PreparedSession, Step};
use std::sync::Arc;

/// Keeps the record of a compaction that would have been made, and tells the operator.
pub(crate) fn note_observed(state: &ServerState, session: SessionId, observed: &PreparedSession) {
    let Some((entry, record)) = observation(&observed.step) else { return };
    let model = state.books.with(session, |book| {
        book.keep_observed(entry, record.clone());
        book.model.clone()
    });
    state.counter.observed(&model.unwrap_or_default());
    state.tell(NoticeKind::observed(session, &record));
}

/// The mark that was left, and its record.
fn observation(step: &Step) -> Option<(EntryId, Arc<Record>)> {
    step.appended.iter().find_map(|one| match &one.entry {
        Entry::Mark(Mark::Observation { record, .. }) => Some((one.id, record.clone())),
        Entry::Mark(_) | Entry::Message(_) | Entry::Recorded(_) | Entry::Note { .. } => None,
    })
}

/// Tells what would have been done about a refusal. The window that it names is learned: the next request is looked at by it.
pub(crate) fn note_refusal(
    state: &ServerState,
    request: &Request,
    remedy: Resend,
    refused: &PreparedRequest,
) {
    let Some(session) = refused.session.filter(|_| refused.from.may_recover) else { return };
    let limit = match remedy {
        Resend::Compact(told) | Resend::AskForLess(told) => told.limit(),
        Resend::Shed(_) | Resend::LeaveThinkingOut | Resend::LeaveSealedOut | Resend::SendAsItCame => None,
    };
    if let Some(window) = limit {
        let (endpoint, now) = (request.endpoint.clone(), state.calendar());
        state.books.windows(|windows| windows.limit(&endpoint, window, now));
    }
    // What the client wrote is the client's: sent as it came it was already.
    if remedy != Resend::SendAsItCame {
        state.tell(NoticeKind::WouldResend { session, recovery: remedy.name() });
    }
}
