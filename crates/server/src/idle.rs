//! Sessions nobody speaks in: where a policy wants to compact after some time without a word, it is done then, once.

use crate::books::Book;
use crate::walk::{House, note_step};
use epitome_engine::store::SessionId;
use epitome_engine::{CheckPoint, Checkout};
use std::sync::Arc;
use std::time::Duration;

/// How often is looked; policies speak of minutes.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// Looks after sessions until it is dropped.
pub(crate) async fn watch(house: Arc<House>) {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let due: Vec<(Checkout, u64)> = house.books.each(due).into_iter().flatten().collect();
        for (opening, seconds) in due {
            let house = house.clone();
            let work = async move {
                let acted = house.engine.prepare_at(&opening, CheckPoint::Idle(seconds)).await;
                if let Ok(acted) = acted {
                    note_step(&house, opening.session, &acted);
                }
            };
            tokio::spawn(work);
        }
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
