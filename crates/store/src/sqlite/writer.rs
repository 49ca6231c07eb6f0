//! The one connection that is written on. Whoever finds it free and may wait writes on their own thread, all that waits in one
//! transaction; else a thread of the store's does, and who comes while the disk is busy shares its next turn. Of several in a
//! transaction each has a savepoint of its own.

use crate::fault::sqlite;
use epitome_engine::BoxFuture;
use epitome_engine::store::{Durability, FaultKind, StoreError, StoreFault};
use futures_channel::oneshot;
use rusqlite::{Connection, Transaction, TransactionBehavior};
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Something to be written, and when that counts as done.
struct Task {
    durability: Durability,
    work: Work,
}

/// What is done in a transaction, or where none could be begun; what it returns tells whoever waits, once that has ended.
type Work = Box<dyn FnOnce(Result<&Connection, &StoreFault>) -> Done + Send>;
type Acknowledgement = Box<dyn FnOnce(Result<(), &StoreFault>)>;

/// What came of a task.
struct Done {
    /// Whether it stands: what was begun of one that was refused is taken back.
    is_kept: bool,
    tell: Acknowledgement,
}

/// What is written when nothing was for a while.
type IdleWork = Box<dyn FnMut(&mut Connection) + Send>;

/// So many share a transaction at most: the first of them waits for all.
const TASKS_MAX: usize = 64;

/// What is written to a file, and by whom.
pub(super) struct WriteQueue {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// What the thread and those who write themselves share.
struct Shared {
    waiting: Mutex<Waiting>,
    /// Something waits for the thread, or nothing will any more.
    changed: Condvar,
    writer: Mutex<Writer>,
}

/// What is to be written, first come first.
#[derive(Default)]
struct Waiting {
    tasks: VecDeque<Task>,
    /// Whether something was asked for since the thread looked last.
    is_busy: bool,
    is_closed: bool,
}

impl WriteQueue {
    /// Begins to write on a connection; `rest` is done whenever nothing was asked for during `every`.
    pub(super) fn new(connection: Connection, every: Duration, rest: IdleWork) -> Result<Self, StoreFault> {
        let writer = Mutex::new(Writer { connection, durability: None });
        let shared = Arc::new(Shared { waiting: Mutex::default(), changed: Condvar::new(), writer });
        let thread = std::thread::Builder::new()
            .name("epitome-store".into())
            .spawn({
                let shared = shared.clone();
                move || shared.write_all(every, rest)
            })
            .map_err(|error| StoreFault {
                kind: FaultKind::Other,
                what: format!("no thread can be begun ({error})"),
            })?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Has something written by the thread, whole or not at all; what came of it when that counts as done.
    pub(super) fn write<T: Send + 'static>(
        &self,
        durability: Durability,
        act: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> BoxFuture<'static, Result<T, StoreError>> {
        let (task, answer) = task(durability, act);
        self.shared.waiting().push(task);
        self.shared.changed.notify_one();
        answer
    }

    /// The same, before this returns, where nobody else writes: to wake a thread and be woken by it takes as long as a quick disk.
    pub(super) fn write_here<T: Send + 'static>(
        &self,
        durability: Durability,
        act: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> BoxFuture<'static, Result<T, StoreError>> {
        let (task, answer) = task(durability, act);
        self.shared.waiting().push(task);
        match self.shared.free_writer() {
            Some(mut writer) => writer.write_together(self.shared.waiting().take()),
            None => self.shared.changed.notify_one(),
        }
        answer
    }
}

impl Drop for WriteQueue {
    /// Ends the thread, with all that was asked for done.
    fn drop(&mut self) {
        self.shared.waiting().is_closed = true;
        self.shared.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            // It has told whoever waited what went wrong.
            let _ = thread.join();
        }
    }
}

/// Something to be written, and what will be heard of it.
fn task<T: Send + 'static>(
    durability: Durability,
    act: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
) -> (Task, BoxFuture<'static, Result<T, StoreError>>) {
    let (told, answer) = oneshot::channel();
    let work: Work = Box::new(move |begun| {
        let acted = match begun {
            Ok(connection) => act(connection),
            Err(fault) => Err(StoreError::Fault(fault.clone())),
        };
        let is_kept = acted.is_ok();
        let tell = Box::new(move |ended: Result<(), &StoreFault>| {
            let acted = ended.map_err(|fault| StoreError::Fault(fault.clone())).and(acted);
            // Nobody waits any more: it is written all the same.
            let _ = told.send(acted);
        });
        Done { is_kept, tell }
    });
    let answer = Box::pin(async move { answer.await.unwrap_or_else(|_| Err(StoreError::Fault(ended()))) });
    (Task { durability, work }, answer)
}

impl Waiting {
    fn push(&mut self, task: Task) {
        self.tasks.push_back(task);
        self.is_busy = true;
    }

    /// What the next transaction is about.
    fn take(&mut self) -> Vec<Task> {
        let count = self.tasks.len().min(TASKS_MAX);
        self.tasks.drain(..count).collect()
    }
}

fn ended() -> StoreFault {
    StoreFault { kind: FaultKind::Gone, what: "the store was closed".into() }
}

impl Shared {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The connection. What one who panicked had begun on it was rolled back.
    fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The connection, where nobody writes on it just now.
    fn free_writer(&self) -> Option<MutexGuard<'_, Writer>> {
        match self.writer.try_lock() {
            Ok(writer) => Some(writer),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// The thread's work, to the end of the store.
    fn write_all(&self, every: Duration, mut rest: IdleWork) {
        let mut waiting = self.waiting();
        loop {
            let is_quiet = |waiting: &mut Waiting| waiting.tasks.is_empty() && !waiting.is_closed;
            let woken = self.changed.wait_timeout_while(waiting, every, is_quiet);
            let (mut woken, timed) = woken.unwrap_or_else(PoisonError::into_inner);
            let (was_busy, is_over) =
                (std::mem::take(&mut woken.is_busy), woken.is_closed && woken.tasks.is_empty());
            drop(woken);
            if is_over {
                return;
            }
            let mut writer = self.writer();
            // Whoever wrote meanwhile may have done this too.
            let tasks = self.waiting().take();
            if !tasks.is_empty() {
                writer.write_together(tasks);
            } else if timed.timed_out() && !was_busy {
                rest(&mut writer.connection);
            }
            drop(writer);
            waiting = self.waiting();
        }
    }
}

/// The connection that is written on.
struct Writer {
    connection: Connection,
    /// What its last transaction waited for; none where nothing was written yet.
    durability: Option<Durability>,
}

impl Writer {
    fn write_together(&mut self, tasks: Vec<Task>) {
        let is_for_disk = tasks.iter().any(|task| task.durability == Durability::Disk);
        let works = tasks.into_iter().map(|task| task.work);
        let (waiting, ended) =
            match self.begin(if is_for_disk { Durability::Disk } else { Durability::System }) {
                Ok(transaction) => write_in(transaction, works.collect()),
                Err(error) => {
                    let fault = sqlite(&error);
                    (works.map(|work| work(Err(&fault)).tell).collect(), Ok(()))
                }
            };
        for tell in waiting {
            tell(ended.as_ref().copied());
        }
    }

    /// Begins a transaction whose end the disk is waited for, or is not.
    fn begin(&mut self, durability: Durability) -> rusqlite::Result<Transaction<'_>> {
        if self.durability != Some(durability) {
            self.connection
                .prepare_cached(match durability {
                    Durability::Disk => "PRAGMA synchronous = FULL",
                    Durability::System => "PRAGMA synchronous = NORMAL",
                })?
                .raw_execute()?;
            self.durability = Some(durability);
        }
        self.connection.transaction_with_behavior(TransactionBehavior::Immediate)
    }
}

/// Does what waits, and ends the transaction: who is to be told, and how it ended.
fn write_in(
    mut transaction: Transaction<'_>,
    mut works: Vec<Work>,
) -> (Vec<Acknowledgement>, Result<(), StoreFault>) {
    // One alone is the transaction: a savepoint within it would be two statements more.
    if works.len() == 1
        && let Some(work) = works.pop()
    {
        let Done { is_kept, tell } = work(Ok(&transaction));
        // Dropped without a commit it is rolled back, where SQLite has not done so itself.
        let ended = if is_kept { transaction.commit() } else { Ok(()) };
        return (vec![tell], ended.map_err(|error| sqlite(&error)));
    }
    let waiting = works.into_iter().map(|work| in_savepoint(&mut transaction, work)).collect();
    (waiting, transaction.commit().map_err(|error| sqlite(&error)))
}

/// Does one of several: what it wrote is taken back where it is refused, and the others are none the worse for it.
fn in_savepoint(transaction: &mut Transaction<'_>, work: Work) -> Acknowledgement {
    let savepoint = match transaction.savepoint() {
        Ok(savepoint) => savepoint,
        Err(error) => return work(Err(&sqlite(&error))).tell,
    };
    let Done { is_kept, tell } = work(Ok(&savepoint));
    // Dropped without a commit it is rolled back.
    match if is_kept { savepoint.commit() } else { Ok(()) } {
        Ok(()) => tell,
        Err(error) => {
            let fault = sqlite(&error);
            Box::new(move |_| tell(Err(&fault)))
        }
    }
}

#[cfg(test)]
mod tests;
