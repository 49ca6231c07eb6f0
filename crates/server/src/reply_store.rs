//! Storing replies when they have ended, with what their provider said of the call. Most clients send the reply back with their next
//! request, in a form of their own, and at once where the model called a tool; a reply is stored by itself where its client pauses: the
//! last one of a conversation, that of a request which stands alone, and whatever a server has at its end.

use crate::background_store;
use crate::blocking;
use crate::books::Book;
use crate::ended_call::{CallKey, EndedCall, UnstoredReply, UsageSource};
use crate::server_state::ServerState;
use epitome_engine::store::SessionId;
use epitome_engine::{Checkout, EngineError};
use epitome_tokens::Usage;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;

/// A client that goes on with a reply by itself has done so by then.
const PAUSE: Duration = Duration::from_millis(200);

/// So many replies are stored at once: nobody waits for it, and others are served meanwhile.
pub(crate) const SLOTS: usize = 2;

/// Has the reply to a request stored once its client pauses.
pub(crate) fn store_soon(state: &Arc<ServerState>, session: SessionId, sent_with: CallKey) {
    if state.settings.store.is_none() {
        return;
    }
    // Where the whole server ends, whatever is left is stored then.
    let Ok(runtime) = Handle::try_current() else { return };
    let state = state.clone();
    runtime.spawn(async move {
        tokio::time::sleep(PAUSE).await;
        // The semaphore is never closed.
        let _turn = state.reply_slots.acquire().await;
        if store(&state, session, &sent_with).await {
            background_store::store(state.clone(), session).await;
        }
    });
}

/// Stores every reply that is not.
pub(crate) async fn store_all(state: &Arc<ServerState>) {
    let unstored = |session: SessionId, book: &mut Book| {
        book.ended_calls.unstored().into_iter().map(|sent_with| (session, sent_with)).collect::<Vec<_>>()
    };
    for (session, sent_with) in state.books.each(unstored).into_iter().flatten() {
        store(state, session, &sent_with).await;
    }
}

/// Takes a reply up, unless its client has sent it back meanwhile; whether there is something to be stored.
async fn store(state: &Arc<ServerState>, session: SessionId, sent_with: &CallKey) -> bool {
    let taken = state.books.with(session, |book| take(book, sent_with)).flatten();
    let Some((UnstoredReply { message, said, checkout }, usage)) = taken else { return false };
    let work = {
        let state = state.clone();
        async move || {
            let told = usage.filter(|(_, source)| *source == UsageSource::Provider).map(|(usage, _)| usage);
            let stored = state.engine.take_reply(&checkout, (message, said), told).await?;
            let estimate = usage.filter(|(_, source)| *source == UsageSource::Estimate);
            if let (Some(leaf), Some((estimate, _))) = (stored, estimate) {
                let ended = Checkout { leaf: Some(leaf), ..checkout };
                state.engine.reply_estimated(&ended, estimate).await?;
            }
            Ok::<_, EngineError>(stored)
        }
    };
    // What cannot be stored now is stored when the client sends it back.
    let Some(Ok(Some(entry))) = blocking::run(work).await else { return false };
    state.books.with(session, |book| {
        book.ended_calls.get_mut(sent_with).into_iter().for_each(|call| call.stored_as = Some(entry));
    });
    true
}

fn take(book: &mut Book, sent_with: &CallKey) -> Option<(UnstoredReply, Option<(Usage, UsageSource)>)> {
    let EndedCall { reply, usage, .. } = book.ended_calls.get_mut(sent_with)?;
    Some((reply.take()?, *usage))
}
