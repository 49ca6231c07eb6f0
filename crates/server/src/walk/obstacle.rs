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
use std::mem::{Discriminant, discriminant};
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
    /// Texts that the store leaves to the client.
    Unkept { session: SessionId, ids: Vec<EntryId> },
    /// Texts that the store cannot give while it fails.
    OutOfReach { session: SessionId, ids: Vec<EntryId> },
    /// The store does not answer.
    Failing,
}

/// How long a walk has been held up: in all, and by what holds it up now.
pub(super) struct WalkDelay {
    begun: Instant,
    since: Instant,
    by: Option<Discriminant<Obstacle>>,
}

/// However obstacles take turns; no client waits for longer.
const DELAY_TIME_MAX: Duration = Duration::from_secs(600);

impl WalkDelay {
    pub(super) fn begin() -> Self {
        let now = Instant::now();
        Self { begun: now, since: now, by: None }
    }

    /// Meets an obstacle; for how long the walk was held up by its like, without another in between.
    fn by(&mut self, obstacle: &Obstacle) -> Duration {
        let kind = discriminant(obstacle);
        if self.by.replace(kind) != Some(kind) {
            self.since = Instant::now();
        }
        self.since.elapsed()
    }
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
            StoreError::NotKept { session, ids } => {
                Some(Self::Unkept { session: *session, ids: ids.clone() })
            }
            StoreError::OutOfReach { session, ids } => {
                Some(Self::OutOfReach { session: *session, ids: ids.clone() })
            }
            StoreError::Fault(fault) if fault.kind.is_passing() => Some(Self::Failing),
            // What is damaged stays so, and whoever runs the server is told.
            _ => None,
        }
    }
}

impl Walk<'_> {
    /// Whether an error is told when it comes. One that can be got past is told only if that fails, with the request that then goes out
    /// untouched.
    pub(super) fn is_told(error: &EngineError) -> bool {
        // Nothing is wrong where the client has gone: its next request begins anew.
        !matches!(error, EngineError::NobodyWaits) && Obstacle::of_engine(error).is_none()
    }

    /// Gets past what ended a walk, so that it can be begun anew; the error where that cannot be done.
    pub(super) async fn get_past(
        &self,
        error: WalkError,
        attempt: Attempt,
        delay: &mut WalkDelay,
    ) -> Result<(), WalkError> {
        let Some(obstacle) = Obstacle::of(&error) else { return Err(error) };
        let waited = delay.by(&obstacle);
        if waited >= self.patience(&obstacle, attempt) || delay.begun.elapsed() >= DELAY_TIME_MAX {
            return Err(error);
        }
        match obstacle {
            Obstacle::Held(_) | Obstacle::Moved => self.wait_for_others(waited).await,
            Obstacle::Unkept { session, ids } => self.supply(session, &ids).await,
            Obstacle::OutOfReach { session, ids } => match self.supply(session, &ids).await {
                // The request does not say it either.
                Err(_) => self.begin_anew(error),
                supplied => supplied,
            },
            Obstacle::Failing => self.begin_anew(error),
        }
    }

    /// Goes on as if the session were new, once.
    fn begin_anew(&self, error: WalkError) -> Result<(), WalkError> {
        if self.begins_anew.swap(true, Ordering::Relaxed) { Err(error) } else { Ok(()) }
    }

    /// How long a walk is begun anew. Whoever has a session and does not give it up has a model write its summary, mostly: that is
    /// waited for as if it were ours.
    fn patience(&self, obstacle: &Obstacle, attempt: Attempt) -> Duration {
        match obstacle {
            Obstacle::Held(session) => {
                let seconds = self.rule_of(*session, attempt).policy.guard.wait_seconds_max;
                seconds.map_or(Duration::MAX, Duration::from_secs).max(OTHERS_TIME)
            }
            Obstacle::Moved | Obstacle::Unkept { .. } | Obstacle::OutOfReach { .. } | Obstacle::Failing => {
                OTHERS_TIME
            }
        }
    }

    /// Waits for a moment, unless the client has gone.
    async fn wait_for_others(&self, waited: Duration) -> Result<(), WalkError> {
        let pause = if waited < OTHERS_TIME { OTHERS_PAUSE } else { MODELS_PAUSE };
        match select(pin!(tokio::time::sleep(pause)), self.waiter.waiter.gone()).await {
            Either::Left(_) => Ok(()),
            Either::Right(_) => Err(EngineError::NobodyWaits.into()),
        }
    }

    /// Whether the walk goes on as if its session were new.
    pub(super) fn begins_anew(&self) -> bool {
        self.begins_anew.load(Ordering::Relaxed)
    }
}
