//! Whether a connection has answered a request before: one that has was kept, and its provider may have closed it meanwhile without
//! having read what came next. Of one that has not, nobody knows what its provider has done with the request.

use axum::http::{Extensions, Response};
use hyper_util::client::legacy::Error as ClientError;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A note that goes with a connection. The client hands it out with each reply that came over it, and with what failed there.
#[derive(Clone, Default)]
pub(super) struct ConnectionUse {
    has_answered: Arc<AtomicBool>,
}

impl ConnectionUse {
    /// Notes that a reply came over its connection.
    pub(super) fn note_answer<T>(reply: &Response<T>) {
        // It alone is read and written: nothing else is to be seen in its order.
        reply
            .extensions()
            .get()
            .into_iter()
            .for_each(|Self { has_answered }| has_answered.store(true, Ordering::Relaxed));
    }

    /// Whether a request failed on a connection that had answered one before.
    pub(super) fn is_of_kept(error: &ClientError) -> bool {
        let mut extras = Extensions::new();
        error.connect_info().into_iter().for_each(|connection| connection.get_extras(&mut extras));
        extras.get().is_some_and(|Self { has_answered }| has_answered.load(Ordering::Relaxed))
    }
}
