//! Where background work is done, and how it goes there: put off, at once, or lost. And waiting: somebody who waits gives up
//! when nothing comes, and asks again.

use crate::World;
use crate::dice::Dice;
use epitome_engine::{Background, BoxFuture, Driver, EngineError, Phase, Session, Spawn};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

/// A workshop in which everything goes the same way until that changes.
#[derive(Default)]
pub(crate) struct Workshop {
    pace: Arc<Mutex<Pace>>,
}

/// How work goes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Pace {
    /// Nothing is done yet.
    #[default]
    PutOff,
    /// Whatever can be done is.
    AtOnce,
    /// It ends, and nothing came of it: the machine went down.
    Lost,
}

impl Workshop {
    /// From here on it goes some other way.
    pub(crate) fn turn(&self, dice: &mut Dice) {
        self.set(match dice.below(8) {
            0..3 => Pace::PutOff,
            7 => Pace::Lost,
            _ => Pace::AtOnce,
        });
    }

    /// Somebody has waited in vain: it is done now, or never.
    fn hurry(&self) {
        let pace = *self.pace.lock().unwrap_or_else(PoisonError::into_inner);
        self.set(if pace == Pace::PutOff { Pace::AtOnce } else { Pace::Lost });
    }

    fn set(&self, pace: Pace) {
        *self.pace.lock().unwrap_or_else(PoisonError::into_inner) = pace;
    }
}

impl Spawn for Workshop {
    fn spawn(&self, mut work: BoxFuture<'static, ()>) -> BoxFuture<'static, ()> {
        let pace = self.pace.clone();
        Box::pin(poll_fn(move |context| match *pace.lock().unwrap_or_else(PoisonError::into_inner) {
            Pace::PutOff => Poll::Pending,
            Pace::AtOnce => work.as_mut().poll(context),
            Pace::Lost => Poll::Ready(()),
        }))
    }
}

/// Work under way on a session.
pub(crate) type Work<'s, T> = Pin<Box<dyn Future<Output = Result<T, EngineError>> + 's>>;

/// More tries than there are answers that never come.
const TRIES_MAX: usize = 100;

/// What comes of work that is looked at once; none where it waits for somebody.
pub(crate) fn at_once<T>(mut work: Pin<Box<dyn Future<Output = T> + '_>>) -> Option<T> {
    match work.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}

impl World {
    /// Does something until it is done. Whoever waits for an answer that does not come gives up, and begins again; what was
    /// there before is there after.
    pub(crate) fn patiently<T>(
        &mut self,
        act: impl for<'s> Fn(&'s mut Background, &'s Driver, &'s mut Session, &'s Workshop) -> Work<'s, T>,
    ) -> T {
        for _ in 0..TRIES_MAX {
            let Self { background, bed, workshop, .. } = self;
            if let Some(done) = at_once(act(background, &bed.driver, &mut bed.session, workshop)) {
                return done.expect("all is in memory");
            }
            assert_ne!(self.bed.session.phase(), Phase::Compacting, "seed {}", self.seed);
            self.seen.push("gave up waiting");
            self.workshop.hurry();
            self.check_derived();
        }
        panic!("seed {}: nothing comes of it", self.seed);
    }
}
