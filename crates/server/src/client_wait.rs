//! The client of a request, as one who waits for a compaction: it has gone when it has hung up and did not come back within a moment,
//! or when the server ends. A client that gave up sends its request again at once, and is to find the work under way.

use crate::checkpoints::ClientLine;
use crate::server_state::ServerState;
use epitome_engine::{BoxFuture, RequestWaiter, Waiter};
use futures_util::future::select;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// So long a client that hung up may take to send its request again: the first retry of the providers' own libraries comes
/// within a second. What a model writes meanwhile is nearly free: its prompt is paid for already.
const RETRY_TIME: Duration = Duration::from_secs(3);

/// A client that waits for its request to be made to fit.
struct WaitingClient {
    line: ClientLine,
    ending: watch::Receiver<bool>,
}

impl Waiter for WaitingClient {
    fn gone(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            let given_up = async {
                self.line.hung_up().await;
                tokio::time::sleep(RETRY_TIME).await;
            };
            let mut ending = self.ending.clone();
            let ended = async {
                // Where nobody can say so any more, it has ended as well.
                drop(ending.wait_for(|is_ending| *is_ending).await);
            };
            select(pin!(given_up), pin!(ended)).await;
        })
    }
}

/// The wait of a client that begins now.
pub(crate) fn begin(state: &ServerState, line: ClientLine) -> RequestWaiter {
    let waiter = WaitingClient { line, ending: state.ending.subscribe() };
    RequestWaiter { since: state.settings.clock.now(), waiter: Arc::new(waiter) }
}
