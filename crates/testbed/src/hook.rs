//! A hook that answers by script and remembers what it was told.

use epitome_core::{Archive, CompactorReply, EntryId, Record, UpcomingCompaction, Verdict};
use epitome_engine::{BoxFuture, Check, Hook, HookRole};
use std::sync::{Mutex, PoisonError};

/// A hook in a test. Without a script it has nothing to say.
#[derive(Debug, Default)]
pub struct TestHook {
    name: String,
    is_compactor: bool,
    hangs: bool,
    verdict: Mutex<Option<Result<Option<Verdict>, String>>>,
    list: Mutex<Option<Result<CompactorReply, String>>>,
    /// What it was told before each compaction.
    pub before: Mutex<Vec<UpcomingCompaction>>,
    /// What it was told after each.
    pub after: Mutex<Vec<Record>>,
    /// How often it was warned.
    pub warned: Mutex<u32>,
}

impl TestHook {
    /// A hook of this name.
    pub fn new(name: &str) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// The same, always with this verdict.
    #[must_use]
    pub fn says(self, verdict: Result<Option<Verdict>, String>) -> Self {
        *self.verdict.lock().unwrap_or_else(PoisonError::into_inner) = Some(verdict);
        self
    }

    /// The same as a compactor, always with this list; with none it hangs.
    #[must_use]
    pub fn compacts(self, list: Option<Result<CompactorReply, String>>) -> Self {
        *self.list.lock().unwrap_or_else(PoisonError::into_inner) = list;
        Self { is_compactor: true, ..self }
    }

    /// The same, never answering.
    #[must_use]
    pub fn hangs(self) -> Self {
        Self { hangs: true, ..self }
    }

    /// What it was told before each compaction.
    pub fn told(&self) -> Vec<UpcomingCompaction> {
        self.before.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What it was told after each.
    pub fn records(&self) -> Vec<Record> {
        self.after.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Hook for TestHook {
    fn name(&self) -> &str {
        &self.name
    }

    fn role(&self) -> HookRole {
        if self.is_compactor { HookRole::Compactor } else { HookRole::Observer }
    }

    fn before<'a>(
        &'a self,
        event: &'a UpcomingCompaction,
        _: &'a dyn Archive,
    ) -> BoxFuture<'a, Result<Option<Verdict>, String>> {
        self.before.lock().unwrap_or_else(PoisonError::into_inner).push(event.clone());
        let verdict = self.verdict.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if self.hangs {
            return Box::pin(std::future::pending());
        }
        Box::pin(std::future::ready(verdict.unwrap_or(Ok(None))))
    }

    fn transform<'a>(
        &'a self,
        _: &'a [EntryId],
        _: &'a dyn Archive,
    ) -> BoxFuture<'a, Result<CompactorReply, String>> {
        match self.list.lock().unwrap_or_else(PoisonError::into_inner).clone() {
            Some(list) => Box::pin(std::future::ready(list)),
            None => Box::pin(std::future::pending()),
        }
    }

    fn after<'a>(&'a self, record: &'a Record) -> BoxFuture<'a, Result<(), String>> {
        self.after.lock().unwrap_or_else(PoisonError::into_inner).push(record.clone());
        Box::pin(std::future::ready(Ok(())))
    }

    fn approaching<'a>(&'a self, _: &'a Check) -> BoxFuture<'a, Result<(), String>> {
        *self.warned.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        Box::pin(std::future::ready(Ok(())))
    }
}
