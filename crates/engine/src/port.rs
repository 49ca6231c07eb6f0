//! Where the engine meets the world: models, hooks and time.

use crate::report::Report;
use crate::watch::Check;
use epitome_core::{Before, Called, EntryId, Request, Tokens, Transformed, Verdict};
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

/// Work that someone else is doing. Dropping it cancels it.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A model that writes summaries.
pub trait Model: Send + Sync {
    /// Its name, as records show it.
    fn name(&self) -> &str;
    /// All a request to it may take, answer included.
    fn window(&self) -> Tokens;
    /// The longest answer it gives.
    fn output_max(&self) -> Tokens;
    /// Whether several calls may run at once. Where that is not known, they run one after another.
    fn takes_parallel(&self) -> bool {
        false
    }
    /// Asks for a summary. Retries of a provider's hiccups are its own affair and bounded.
    fn summarize(&self, request: Request) -> Pending<'_, Called>;
}

/// Someone who is told of compactions and may have a say in them. Each call has a deadline; what comes
/// late, fails or breaks a rule is recorded and passed over.
pub trait Hook: Send + Sync {
    /// Its name, as records show it.
    fn name(&self) -> &str;

    /// Whether it can return the whole new list of a context. At most one hook of a session may.
    fn is_compactor(&self) -> bool {
        false
    }

    /// Before a compaction: its verdict, or nothing to say.
    fn before<'a>(&'a self, event: &'a Before) -> Pending<'a, Result<Option<Verdict>, String>> {
        let _nothing_to_say = event;
        Box::pin(std::future::ready(Ok(None)))
    }

    /// The list that takes the place of `messages`, all of which are in view. Asked of a compactor only.
    fn transform<'a>(&'a self, messages: &'a [EntryId]) -> Pending<'a, Result<Transformed, String>> {
        let _not_ours = messages;
        Box::pin(std::future::ready(Err("it is no compactor".into())))
    }

    /// After a compaction, whatever came of it. What it returns has no effect but on the record.
    fn after<'a>(&'a self, report: &'a Report) -> Pending<'a, Result<(), String>> {
        let _observed = report;
        Box::pin(std::future::ready(Ok(())))
    }

    /// The context is nearly full. Told once for each time it comes to that.
    fn approaching<'a>(&'a self, check: &'a Check) -> Pending<'a, Result<(), String>> {
        let _observed = check;
        Box::pin(std::future::ready(Ok(())))
    }

    /// A branch is about to be left: false keeps the session where it is.
    fn before_tree<'a>(&'a self, leaving: &'a [EntryId]) -> Pending<'a, Result<bool, String>> {
        let _observed = leaving;
        Box::pin(std::future::ready(Ok(true)))
    }
}

/// What is brought back into view after a compaction, read from its source.
pub trait Restorer: Send + Sync {
    /// A file below the project's root as it is now; none where it is gone, outside, or no text.
    fn file(&self, path: &str) -> Option<FileNow>;
    /// Files of rules that hold for the file at `path`, the outermost first: path and text. They come back
    /// with it.
    fn rules(&self, path: &str) -> Vec<(String, String)> {
        let _none_known = path;
        Vec::new()
    }
    /// Skills in use, the most used first: name and text.
    fn skills(&self) -> Vec<(String, String)>;
    /// Servers of tools, with the definitions of their tools as text.
    fn servers(&self) -> Vec<(String, String)>;
}

/// A file as it is on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileNow {
    /// Its text.
    pub text: String,
    /// Whether it was changed by someone else since the session last used it.
    pub is_changed: bool,
}

/// Where time comes from.
pub trait Clock: Send + Sync {
    /// Time since some fixed moment.
    fn now(&self) -> Duration;
    /// Ends after `time`. Needed only where hooks or operators have a deadline.
    fn sleep(&self, time: Duration) -> Pending<'_, ()>;
}

/// A clock that stands still: nothing takes time, and no deadline strikes. For replays and tests.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stopped;

impl Clock for Stopped {
    fn now(&self) -> Duration {
        Duration::ZERO
    }

    fn sleep(&self, _: Duration) -> Pending<'_, ()> {
        Box::pin(std::future::pending())
    }
}
