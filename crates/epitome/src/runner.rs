//! Running what the engine does, and waiting for whoever it asks, until they have answered or someone presses ctrl-c.
//! Work that asks nobody is run to its end: ctrl-c ends the program then, as it does any other.

use crate::progress;
use anyhow::{Context as _, Result};
use epitome_engine::{BoxFuture, Driver};
use indicatif::ProgressBar;
use std::cell::{OnceCell, RefCell};
use std::fmt;
use std::future::Future;
use std::io;
use tokio::runtime::{Builder, Runtime};

/// The one place that waits.
#[derive(Default)]
pub struct Runner {
    runtime: OnceCell<Runtime>,
    /// Ends at the first ctrl-c since someone was first waited for, even one that came between two waits.
    interrupted: OnceCell<RefCell<BoxFuture<'static, io::Result<()>>>>,
}

impl Runner {
    /// Runs work that asks whoever `driver` can ask.
    pub fn run<T>(
        &self,
        driver: &Driver,
        bar: &ProgressBar,
        work: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let ports = driver.ports();
        let asks = ports.model.is_some() || ports.operator.is_some() || !ports.hooks().is_empty();
        if !asks {
            return self.to_the_end(work);
        }
        // A terminal shows the operator's question or something that moves, not both.
        let moves = ports.model.is_some() && ports.operator.is_none();
        let spinner = moves.then(|| progress::spinner(bar, "waiting for a summary"));
        let done = self.until_cancelled(work);
        spinner.inspect(ProgressBar::finish_and_clear);
        done
    }

    /// Runs work that asks nobody.
    pub fn to_the_end<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        self.runtime()?.block_on(work)
    }

    fn until_cancelled<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        let runtime = self.runtime()?;
        let interrupted = self
            .interrupted
            .get_or_init(|| RefCell::new(Box::pin(tokio::signal::ctrl_c()) as BoxFuture<'static, _>));
        let mut interrupted = interrupted.borrow_mut();
        runtime.block_on(async {
            tokio::select! {
                done = work => done,
                Ok(()) = interrupted.as_mut() => Err(Interruption.into()),
            }
        })
    }

    fn runtime(&self) -> Result<&Runtime> {
        if let Some(runtime) = self.runtime.get() {
            return Ok(runtime);
        }
        // With a thread of its own: a store opened here goes on working for whoever waits for it on another runtime.
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.context("cannot start a runtime")?;
        Ok(self.runtime.get_or_init(|| runtime))
    }
}

/// Someone pressed ctrl-c.
#[derive(Clone, Copy, Debug)]
pub struct Interruption;

impl fmt::Display for Interruption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cancelled; nothing was written")
    }
}

impl std::error::Error for Interruption {}

/// Whether work ended because someone pressed ctrl-c.
pub fn is_cancelled(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| cause.is::<Interruption>())
}
