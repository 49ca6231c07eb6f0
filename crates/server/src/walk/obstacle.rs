//! What stands in the way of a walk and passes, or can be got past: others who have its session, texts that its store does not have at
//! hand, a store that fails. The walk is then begun anew.
//!
//! A session that another server compacts is waited for as long as a model of our own would be: one of them makes the summary, and the
//! others find it. A server that dies at it holds the session until its lease is over.

use super::{Attempt, Walk, WalkError};
use epitome_core::EntryId;
use epitome_engine::EngineError;
use epitome_engine::store::{SessionId, StoreError};
use futures_util::future::{Either, select};
use std::pin::pin;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// So long a request waits at least for others that work on its session: longer than a lease whose holder has died.
const OTHERS_TIME: Duration = Duration::from_secs(15);
/// Then it looks again.
const OTHERS_PAUSE: Duration = Duration::from_millis(50);
/// The same behind [`OTHERS_TIME`]: by then it is a model that is waited for.
const MODELS_PAUSE: Duration = Duration::from_millis(250);

/// What stands in the way of a walk.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Obstacle {
    /// Another process has the session: one that is not at work on it gives it up at once, and what one had that died is free when its
    /// lease is over.
    Held(SessionId),
    /// Another process has had it meanwhile, or this one lets it go.
    Moved,
    /// Texts that the store leaves to the client, or cannot give now.
    Unread { session: SessionId, ids: Vec<EntryId> },
    /// The store does not answer.
    Failing,
}

impl Obstacle {
    /// What an error comes from; none where it stays.
    fn of(error: &WalkError) -> Option<Self> {
        match error {
            WalkError::Engine(error) => Self::of_engine(error),
            WalkError::Leaving(_) => Some(Self::Moved),
            WalkError::Unreadable(_)
            | WalkError::NoWindow(_)
            | WalkError::Unknown(_)
            | WalkError::Heavy
            | WalkError::Stopped => None,
        }
    }

    fn of_engine(error: &EngineError) -> Option<Self> {
        let EngineError::Store(error) = error else { return None };
        match error {
            StoreError::Leased(session) => Some(Self::Held(*session)),
            StoreError::Fenced(_) | StoreError::Conflict { .. } => Some(Self::Moved),
            StoreError::NotKept { session, ids } | StoreError::OutOfReach { session, ids } => {
                Some(Self::Unread { session: *session, ids: ids.clone() })
            }
            StoreError::Fault(_) => Some(Self::Failing),
            // What is no error of theirs is none that passes.
            _ => None,
        }
    }
}

impl Walk<'_> {
    /// Whether an error is told: what can be got past is only where that failed, with the request that goes out untouched.
    pub(super) fn is_told(error: &EngineError) -> bool {
        // Nothing is wrong where the client has gone: its next request begins anew.
        !matches!(error, EngineError::NobodyWaits) && Obstacle::of_engine(error).is_none()
    }

    /// Gets past what ended a walk that began then, so that it can be begun anew; the error where that cannot be done.
    pub(super) async fn get_past(
        &self,
        error: WalkError,
        attempt: Attempt,
        begun: Instant,
    ) -> Result<(), WalkError> {
        let Some(obstacle) = Obstacle::of(&error) else { return Err(error) };
        if begun.elapsed() >= self.patience(&obstacle, attempt) {
            return Err(error);
        }
        match obstacle {
            Obstacle::Held(_) | Obstacle::Moved => self.wait_for_others(begun).await,
            Obstacle::Unread { session, ids } => self.supply(session, &ids).await,
            Obstacle::Failing if self.forgets.swap(true, Ordering::Relaxed) => Err(error),
            Obstacle::Failing => Ok(()),
        }
    }

    /// How long a walk is begun anew. Whoever has a session and does not give it up has a model write its summary, mostly: that is
    /// waited for as if it were ours.
    fn patience(&self, obstacle: &Obstacle, attempt: Attempt) -> Duration {
        match obstacle {
            Obstacle::Held(session) => {
                let seconds = self.rule_of(*session, attempt).policy.guard.wait_seconds_max;
                seconds.map_or(Duration::MAX, Duration::from_secs).max(OTHERS_TIME)
            }
            Obstacle::Moved | Obstacle::Unread { .. } | Obstacle::Failing => OTHERS_TIME,
        }
    }

    /// Waits for a moment, unless the client has gone.
    async fn wait_for_others(&self, begun: Instant) -> Result<(), WalkError> {
        let pause = if begun.elapsed() < OTHERS_TIME { OTHERS_PAUSE } else { MODELS_PAUSE };
        match select(pin!(tokio::time::sleep(pause)), self.waiter.waiter.gone()).await {
            Either::Left(_) => Ok(()),
            Either::Right(_) => Err(EngineError::NobodyWaits.into()),
        }
    }

    /// Whether the walk goes on as if its session were new.
    pub(super) fn forgets(&self) -> bool {
        self.forgets.load(Ordering::Relaxed)
    }
}
