//! Waiting for a model, until it has answered or someone presses ctrl-c. A runtime is made only where
//! someone is waited for.

use crate::progress;
use anyhow::{Context as _, Result};
use epitome_engine::{Pending, now};
use indicatif::ProgressBar;
use std::cell::{OnceCell, RefCell};
use std::fmt;
use std::future::Future;
use std::io;
use tokio::runtime::{Builder, Runtime};

/// The one place that waits.
#[derive(Default)]
pub struct Waiting {
    desk: OnceCell<Desk>,
}

struct Desk {
    runtime: Runtime,
    /// Ends at the first ctrl-c, even one that came between two waits.
    interrupted: RefCell<Pending<'static, io::Result<()>>>,
}

impl Waiting {
    /// What comes of work that asks nobody, and so takes no waiting.
    pub fn none<T>(work: impl Future<Output = T>) -> T {
        now(work)
    }

    /// Waits for work that asks, unless someone presses ctrl-c first.
    pub fn until_done<T>(&self, bar: &ProgressBar, work: impl Future<Output = Result<T>>) -> Result<T> {
        let desk = self.desk()?;
        let spinner = progress::spinner(bar, "waiting for a summary");
        let mut interrupted = desk.interrupted.borrow_mut();
        let done = desk.runtime.block_on(async {
            tokio::select! {
                done = work => done,
                Ok(()) = interrupted.as_mut() => Err(Cancelled.into()),
            }
        });
        spinner.finish_and_clear();
        done
    }

    fn desk(&self) -> Result<&Desk> {
        if let Some(desk) = self.desk.get() {
            return Ok(desk);
        }
        let runtime = Builder::new_current_thread().enable_all().build().context("cannot start a runtime")?;
        let interrupted = RefCell::new(Box::pin(tokio::signal::ctrl_c()) as Pending<'static, _>);
        Ok(self.desk.get_or_init(|| Desk { runtime, interrupted }))
    }
}

/// Someone pressed ctrl-c.
#[derive(Clone, Copy, Debug)]
pub struct Cancelled;

impl fmt::Display for Cancelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cancelled; nothing was written")
    }
}

impl std::error::Error for Cancelled {}

/// Whether work ended because someone pressed ctrl-c.
pub fn is_cancelled(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| cause.is::<Cancelled>())
}
