//! Sessions nobody speaks in: where a policy wants to compact after some time without a word, it is done then, once.

use crate::background_store;
use crate::blocking;
use crate::books::Book;
use crate::learned;
use crate::notice::NoticeKind;
use crate::server_state::{ServerState, note_step};
use epitome_engine::store::SessionId;
use epitome_engine::{Checkout, EngineError, LookPoint};
use std::sync::Arc;
use std::time::Duration;

/// How often is looked; policies speak of minutes.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// Looks after sessions until it is dropped.
pub(crate) async fn watch(state: Arc<ServerState>) {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        learned::save(&state).await;
        store_leftovers(&state).await;
        if state.settings.is_observing {
            continue;
        }
        let due: Vec<(Checkout, u64)> = state.books.each(due).into_iter().flatten().collect();
        for (checkout, seconds) in due {
            tokio::spawn(check(state.clone(), checkout, seconds));
        }
    }
}

/// Stores what requests appended that were never sent, because their client hung up or something failed.
async fn store_leftovers(state: &Arc<ServerState>) {
    if state.settings.store.is_some() {
        for session in state.books.each(|session, _| session) {
            background_store::store(state.clone(), session).await;
        }
    }
}

/// Takes the idle check of one session; the operator is told what came of it.
async fn check(state: Arc<ServerState>, checkout: Checkout, seconds: u64) {
    let session = checkout.session;
    let failed = |why: String| NoticeKind::Failed { session, why };
    let work = {
        let state = state.clone();
        async move || {
            let acted = state.engine.prepare_at(&checkout, LookPoint::Idle(seconds)).await?;
            note_step(&state, session, &acted);
            Ok(())
        }
    };
    match blocking::run(work).await {
        Some(Ok(())) => {}
        Some(Err(error)) => state.tell(failed(EngineError::to_string(&error))),
        None => state.tell(failed("the work was stopped; the next request takes it up".to_owned())),
    }
}

/// How a session that has been idle for as long as its policy says is to be worked on.
fn due(_: SessionId, book: &mut Book) -> Option<(Checkout, u64)> {
    let checkout = book.checkout.clone().filter(|_| !book.is_idle_checked)?;
    let least = checkout.assembly.policy().check.idle_seconds?;
    let seconds = book.seen.elapsed().as_secs();
    if seconds < least {
        return None;
    }
    book.is_idle_checked = true;
    Some((checkout, seconds))
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::books::BookLimits;
    use crate::walk::tests::{send, state};
    use epitome_engine::store::SessionId;
    use serde_json::json;
    use std::sync::{Arc, Mutex};

    #[tokio::test]
    async fn what_goes_wrong_while_nobody_speaks_is_told() {
        let told = Arc::<Mutex<Vec<String>>>::default();
        let heard = told.clone();
        let tell = move |notice: &_| heard.lock().expect("nobody failed").push(ToString::to_string(notice));
        let state = state(BookLimits::default(), tell);
        send(&state, &[json!({"role": "user", "content": "go on"})]).await;
        let session = SessionId(1);
        let checkout =
            state.books.with(session, |book| book.checkout.clone()).flatten().expect("it is known");
        state.engine.close(session).await;
        state.engine.store().remove(session).await.expect("it was there");
        check(state, checkout, 600).await;
        assert_eq!(*told.lock().expect("nobody failed"), ["s0001: not compacted: there is no session s0001"]);
    }
}
