//! Sessions nobody speaks in: where a policy wants to compact after some time without a word, it is done then, once.

use crate::blocking;
use crate::books::Book;
use crate::notice::What;
use crate::walk::{House, note_step};
use epitome_engine::store::SessionId;
use epitome_engine::{CheckPoint, Checkout, EngineError};
use std::sync::Arc;
use std::time::Duration;

/// How often is looked; policies speak of minutes.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// Looks after sessions until it is dropped.
pub(crate) async fn watch(house: Arc<House>) {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let due: Vec<(Checkout, u64)> = house.books.each(due).into_iter().flatten().collect();
        for (checkout, seconds) in due {
            tokio::spawn(check(house.clone(), checkout, seconds));
        }
    }
}

/// Takes the idle check of one session; the operator is told what came of it.
async fn check(house: Arc<House>, checkout: Checkout, seconds: u64) {
    let session = checkout.session;
    let failed = |why: String| What::Failed { session, why };
    let work = {
        let house = house.clone();
        async move || {
            let acted = house.engine.prepare_at(&checkout, CheckPoint::Idle(seconds)).await?;
            note_step(&house, session, &acted);
            Ok(())
        }
    };
    match blocking::run(work).await {
        Some(Ok(())) => {}
        Some(Err(error)) => house.tell(failed(EngineError::to_string(&error))),
        None => house.tell(failed("the work was stopped; the next request takes it up".to_owned())),
    }
}

/// How a session that has been idle for as long as its policy says is to be worked on.
fn due(_: SessionId, book: &mut Book) -> Option<(Checkout, u64)> {
    let opening = book.opening.clone().filter(|_| !book.is_idle_checked)?;
    let least = opening.assembly.policy().check.idle_seconds?;
    let seconds = book.seen.elapsed().as_secs();
    if seconds < least {
        return None;
    }
    book.is_idle_checked = true;
    Some((opening, seconds))
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::books::BookLimits;
    use crate::walk::tests::{house, send};
    use epitome_engine::store::SessionId;
    use serde_json::json;
    use std::sync::{Arc, Mutex};

    #[tokio::test]
    async fn what_goes_wrong_while_nobody_speaks_is_told() {
        let told = Arc::<Mutex<Vec<String>>>::default();
        let heard = told.clone();
        let tell = move |notice: &_| heard.lock().expect("nobody failed").push(ToString::to_string(notice));
        let house = house(BookLimits::default(), tell);
        send(&house, &[json!({"role": "user", "content": "go on"})]).await;
        let session = SessionId(1);
        let checkout = house.books.with(session, |book| book.opening.clone()).flatten().expect("it is known");
        house.engine.close(session).await;
        house.engine.store().remove(session).await.expect("it was there");
        check(house, checkout, 600).await;
        assert_eq!(*told.lock().expect("nobody failed"), ["s0001: not compacted: there is no session s0001"]);
    }
}
