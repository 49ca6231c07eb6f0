//! Where the engine meets the world: models, hooks, operators, files that are read again, and time. Stores are
//! in [`crate::store`].

use crate::check::Check;
use crate::error::EngineError;
use crate::event::Event;
use epitome_core::{
    Archive, CallResult, CheckpointView, CompactorReply, Decision, EntryId, Prompts, Record, SummaryRequest,
    Tokens, UpcomingCompaction, Verdict,
};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

/// Work that someone else is doing. Dropping it cancels it.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Who a session can ask. By default nobody, at a time that stands still: summaries are the embedded
/// summariser's.
#[derive(Clone)]
pub struct Ports {
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// The model that writes summaries.
    pub model: Option<SummaryModel>,
    /// Why there is no `model`, for the record, where the policy leaves summaries to the session's own (`summary.by = "session"`).
    pub no_model: Option<Arc<str>>,
    /// What is brought back after a compaction.
    pub restorer: Option<Arc<dyn Restorer>>,
    /// Who decides about a compaction that waits for a word.
    pub operator: Option<Arc<dyn Operator>>,
    /// What `model` is told. It must be set with it, as `epitome_settings::prompts::built_in` has them: a model that is told
    /// nothing writes nothing of use.
    pub prompts: Arc<Prompts>,
    /// Whoever waits for what is done, where they may have to wait for a model; without one nobody is in a hurry.
    pub waiter: Option<RequestWaiter>,
    /// Who hears of a wait for an operator when it begins; without one it is told with the step, when it is over.
    pub(crate) listener: Option<Arc<dyn EventListener>>,
    hooks: Vec<Arc<dyn Hook>>,
}

impl Default for Ports {
    fn default() -> Self {
        Self {
            clock: Arc::new(FrozenClock),
            model: None,
            no_model: None,
            restorer: None,
            operator: None,
            prompts: Arc::default(),
            waiter: None,
            listener: None,
            hooks: Vec::new(),
        }
    }
}

/// A model that writes summaries, and how it stands to the session.
#[derive(Clone)]
pub struct SummaryModel {
    /// The model.
    pub model: Arc<dyn Model>,
    /// Whether it is the session's own and still has the session's prompt in its cache.
    pub is_warm: bool,
    /// Whether the provider's own compaction may be used.
    pub is_native: bool,
}

impl SummaryModel {
    /// A model that is not the session's own.
    pub fn apart(model: Arc<dyn Model>) -> Self {
        Self { model, is_warm: false, is_native: false }
    }

    /// The session's own model; `is_warm` while its provider still has the session's prompt in its cache.
    pub fn own(model: Arc<dyn Model>, is_warm: bool) -> Self {
        Self { model, is_warm, is_native: false }
    }
}

/// A second compactor.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{second}` cannot be a compactor of this session: `{first}` is one already; remove one of them")]
pub struct TwoCompactors {
    /// The one there is.
    pub first: String,
    /// The one refused.
    pub second: String,
}

impl Ports {
    /// Nobody to ask, at this clock's time.
    pub fn at(clock: Arc<dyn Clock>) -> Self {
        Self { clock, ..Self::default() }
    }

    /// Adds a hook; a second compactor is refused.
    pub fn add_hook(&mut self, hook: Arc<dyn Hook>) -> Result<(), TwoCompactors> {
        if let Some(first) = self.compactor().filter(|_| hook.role() == HookRole::Compactor) {
            return Err(TwoCompactors { first: first.name().to_owned(), second: hook.name().to_owned() });
        }
        self.hooks.push(hook);
        Ok(())
    }

    /// Who is told, and may have a say.
    pub fn hooks(&self) -> &[Arc<dyn Hook>] {
        &self.hooks
    }

    /// The hook that returns whole lists.
    pub fn compactor(&self) -> Option<&Arc<dyn Hook>> {
        self.hooks.iter().find(|hook| hook.role() == HookRole::Compactor)
    }
}

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
    /// What a token that its provider has in its cache costs, in hundredths of one that it has not. Where nobody knows, a
    /// tenth, as most providers charge.
    fn cached_percent(&self) -> u32 {
        10
    }
    /// Asks for a summary. Retries of a provider's passing faults are its own affair and bounded.
    fn summarize(&self, request: SummaryRequest) -> BoxFuture<'_, CallResult>;
}

/// What a hook may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HookRole {
    /// Give verdicts, and be told.
    #[default]
    Observer,
    /// The same, and return the whole new list of a context. At most one hook of a session may.
    Compactor,
}

/// Someone who is told of compactions and may have a say in them. Each call has a deadline; what comes
/// late, fails or breaks a rule is recorded and passed over. Messages named by id are read from the archive
/// that is handed along.
pub trait Hook: Send + Sync {
    /// Its name, as records show it.
    fn name(&self) -> &str;

    /// What it may do.
    fn role(&self) -> HookRole {
        HookRole::Observer
    }

    /// Before a compaction: its verdict, or nothing to say.
    fn before<'a>(
        &'a self,
        event: &'a UpcomingCompaction,
        archive: &'a dyn Archive,
    ) -> BoxFuture<'a, Result<Option<Verdict>, String>> {
        let _nothing_to_say = (event, archive);
        Box::pin(std::future::ready(Ok(None)))
    }

    /// The list that takes the place of `messages`, all of which are in view. Asked of a compactor only.
    fn transform<'a>(
        &'a self,
        messages: &'a [EntryId],
        archive: &'a dyn Archive,
    ) -> BoxFuture<'a, Result<CompactorReply, String>> {
        let _not_ours = (messages, archive);
        Box::pin(std::future::ready(Err("it is no compactor".into())))
    }

    /// After a compaction, whatever came of it. What it returns has no effect but on the record.
    fn after<'a>(&'a self, record: &'a Record) -> BoxFuture<'a, Result<(), String>> {
        let _observed = record;
        Box::pin(std::future::ready(Ok(())))
    }

    /// The context is nearly full. Told once for each time it comes to that.
    fn approaching<'a>(&'a self, check: &'a Check) -> BoxFuture<'a, Result<(), String>> {
        let _observed = check;
        Box::pin(std::future::ready(Ok(())))
    }

    /// A branch is about to be left: false keeps the session where it is.
    fn before_tree<'a>(&'a self, leaving: &'a [EntryId]) -> BoxFuture<'a, Result<bool, String>> {
        let _observed = leaving;
        Box::pin(std::future::ready(Ok(true)))
    }
}

/// Someone who approves, edits or rejects a compaction before it is made. How long that may take is the
/// policy's to say.
pub trait Operator: Send + Sync {
    /// Asks for a decision.
    fn decide(&self, pending: CheckpointView) -> BoxFuture<'_, Decision>;
}

/// A request for which a session is worked on, and the caller who waits for it.
#[derive(Clone)]
pub struct RequestWaiter {
    /// Since when they wait, by the clock of the same ports: `guard.wait_seconds_max` begins there.
    pub since: Duration,
    /// The caller.
    pub waiter: Arc<dyn Waiter>,
}

/// A caller who waits, and may stop to.
pub trait Waiter: Send + Sync {
    /// Ends when the caller has gone for good. Calls of models that were made for them are cancelled then, and nothing is changed,
    /// unless others wait for the same.
    fn gone(&self) -> BoxFuture<'_, ()>;
}

/// Somebody who hears of events while an act goes on: the store of the session.
pub(crate) trait EventListener: Send + Sync {
    /// Takes events in the order they happened; they are not told again.
    fn hear(&self, events: Vec<Event>) -> BoxFuture<'_, Result<(), EngineError>>;
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
    fn sleep(&self, time: Duration) -> BoxFuture<'_, ()>;
    /// Milliseconds since 1970; none where there is no calendar.
    fn unix_ms(&self) -> Option<u64> {
        None
    }
}

/// A clock that stands still: nothing takes time, and no deadline strikes. For replays and tests.
#[derive(Clone, Copy, Debug, Default)]
pub struct FrozenClock;

impl Clock for FrozenClock {
    fn now(&self) -> Duration {
        Duration::ZERO
    }

    fn sleep(&self, _: Duration) -> BoxFuture<'_, ()> {
        Box::pin(std::future::pending())
    }
}

/// Has work done beside everything else. What it returns ends when the work does, and cancels it where
/// it is dropped.
///
/// With tokio that is `AbortOnDropHandle::new(tokio::spawn(work))`, or its like.
pub trait Spawn: Send + Sync {
    /// Begins `work`.
    fn spawn(&self, work: BoxFuture<'static, ()>) -> BoxFuture<'static, ()>;
}
