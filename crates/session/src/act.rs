//! Acts that may take a while, each on a copy of the session, and on a blocking thread where a tokio runtime has one. What
//! is done is the engine's driver's.

use crate::error::SessionError;
use epitome_core::{Tokens, Trigger};
use epitome_engine::{
    Background, CompactOptions, Driver, EngineError, LookPoint, Recovery, Session, Spawn, Step, TurnEnd,
};
use futures_util::lock::Mutex;
use std::sync::Arc;

/// What is to be done.
pub(crate) enum Act {
    /// What is due at a point.
    Prepare(LookPoint),
    /// Room after a refusal, which was by so much.
    Recover(Option<Tokens>),
    /// Labels for pictures after a refusal for bytes, where one may take so many.
    ShedPictures { bytes_max: Option<u64> },
    /// What is due when a turn has ended.
    EndTurn(TurnEnd),
    /// A compaction.
    Compact(Trigger, CompactOptions),
}

/// What came of it.
pub(crate) struct ActResult {
    pub(crate) step: Step,
    /// Why no room was made after a refusal.
    pub(crate) hindrance: Option<String>,
}

/// A copy of a session, to be acted on.
pub(crate) struct SessionWork {
    pub(crate) session: Session,
    pub(crate) driver: Driver,
    /// Locked for as long as the work goes on: who gives up waiting finds a summary still under way.
    pub(crate) background: Arc<Mutex<Background>>,
}

/// The session as it is then, and what came of the act.
type WorkResult = (Session, Result<ActResult, EngineError>);

impl SessionWork {
    #[cfg(feature = "tokio")]
    pub(crate) async fn run(self, act: Act) -> Result<WorkResult, SessionError> {
        match epitome_engine::TokioRuntime::current() {
            Ok(runtime) => {
                let spawn: Arc<dyn Spawn> = Arc::new(runtime.clone());
                let work = runtime.off_executor(self.perform(act, Some(spawn)));
                work.await.map_err(|_| SessionError::Lost)
            }
            Err(_) => Ok(self.perform(act, None).await),
        }
    }

    #[cfg(not(feature = "tokio"))]
    pub(crate) async fn run(self, act: Act) -> Result<WorkResult, SessionError> {
        Ok(self.perform(act, None).await)
    }

    async fn perform(self, act: Act, spawn: Option<Arc<dyn Spawn>>) -> WorkResult {
        let Self { mut session, driver, background } = self;
        let mut background = background.lock().await;
        let done = match spawn {
            Some(spawn) => perform_beside(&mut background, &*spawn, &driver, &mut session, act).await,
            None => perform_alone(&driver, &mut session, act).await,
        };
        (session, done)
    }
}

/// With summaries made in the background, where the policy wants that.
async fn perform_beside(
    background: &mut Background,
    spawn: &dyn Spawn,
    driver: &Driver,
    session: &mut Session,
    act: Act,
) -> Result<ActResult, EngineError> {
    let step = match act {
        Act::Prepare(point) => background.prepare_at(driver, session, point, spawn).await?,
        Act::EndTurn(end) => background.end_turn(driver, session, end, spawn).await?,
        Act::ShedPictures { bytes_max } => return Ok(driver.shed_pictures(session, bytes_max)?.into()),
        Act::Recover(over) => return Ok(background.recover(driver, session, over).await?.into()),
        Act::Compact(trigger, options) => background.compact_with(driver, session, trigger, options).await?,
    };
    Ok(ActResult { step, hindrance: None })
}

async fn perform_alone(driver: &Driver, session: &mut Session, act: Act) -> Result<ActResult, EngineError> {
    let step = match act {
        Act::Prepare(point) => driver.prepare_at(session, point).await?,
        Act::EndTurn(end) => driver.end_turn(session, end).await?,
        Act::ShedPictures { bytes_max } => return Ok(driver.shed_pictures(session, bytes_max)?.into()),
        Act::Recover(over) => return Ok(driver.recover(session, over).await?.into()),
        Act::Compact(trigger, options) => driver.compact_with(session, trigger, options).await?,
    };
    Ok(ActResult { step, hindrance: None })
}

impl From<Recovery> for ActResult {
    fn from(recovery: Recovery) -> Self {
        match recovery {
            Recovery::Retry(step) => Self { step: *step, hindrance: None },
            Recovery::Surface { why, step } => Self { step: *step, hindrance: Some(why) },
        }
    }
}

#[cfg(test)]
mod tests;
