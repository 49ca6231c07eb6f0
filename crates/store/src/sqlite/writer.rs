//! The one connection that is written on. Whoever finds it free and may wait writes on their own thread, all that waits in one
//! transaction; else a thread of the store's does, and who comes while the disk is busy shares its next turn. Of several in a
//! transaction each has a savepoint of its own.

use super::file::{BUSY_TIME, OpenedFile};
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
type Work = Box<dyn FnOnce(Result<&Connection, &StoreFault>) -> TaskResult + Send>;
type Acknowledgement = Box<dyn FnOnce(Result<(), &StoreFault>)>;

/// What came of a task.
struct TaskResult {
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
    shared: Arc<SharedQueue>,
    thread: Option<JoinHandle<()>>,
}

/// What the thread and those who write themselves share.
struct SharedQueue {
    waiting: Mutex<Waiting>,
    /// Something waits for the thread, or nothing will any more.
    changed: Condvar,
    writer: Mutex<WriteConnection>,
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
        let file = OpenedFile::of(&connection);
        let writer = Mutex::new(WriteConnection { connection, file, durability: None });
        let shared = Arc::new(SharedQueue { waiting: Mutex::default(), changed: Condvar::new(), writer });
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

    /// The same, before this returns, where nobody else writes to the file: to wake a thread and be woken by it takes as long as a
    /// quick disk. Others are not waited for here.
    pub(super) fn write_here<T: Send + 'static>(
        &self,
        durability: Durability,
        act: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> BoxFuture<'static, Result<T, StoreError>> {
        let (task, answer) = task(durability, act);
        self.shared.waiting().push(task);
        if !self.shared.write_now() {
            self.shared.changed.notify_one();
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
        TaskResult { is_kept, tell }
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

    /// Takes back what could not be begun.
    fn put_back(&mut self, tasks: Vec<Task>) {
        tasks.into_iter().rev().for_each(|task| self.tasks.push_front(task));
    }
}

fn ended() -> StoreFault {
    StoreFault { kind: FaultKind::Gone, what: "the store was closed".into() }
}

impl SharedQueue {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The connection. What one who panicked had begun on it was rolled back.
    fn writer(&self) -> MutexGuard<'_, WriteConnection> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The connection, where nobody writes on it just now.
    fn free_writer(&self) -> Option<MutexGuard<'_, WriteConnection>> {
        match self.writer.try_lock() {
            Ok(writer) => Some(writer),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Writes what waits, unless that would have to wait for somebody; whether it did.
    fn write_now(&self) -> bool {
        let Some(mut writer) = self.free_writer() else { return false };
        let tasks = self.waiting().take();
        if tasks.is_empty() {
            // The thread was quicker.
            return true;
        }
        match writer.begin(durability(&tasks), Duration::ZERO) {
            Ok(transaction) => {
                tell_all(write_in(transaction, tasks));
                true
            }
            // The thread finds out, and tells whoever waits.
            Err(_) => {
                self.waiting().put_back(tasks);
                false
            }
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
                // What fails now is said to whoever writes next.
                drop(writer.rest(&mut rest));
            }
            drop(writer);
            waiting = self.waiting();
        }
    }
}

/// The connection that is written on.
struct WriteConnection {
    connection: Connection,
    file: OpenedFile,
    /// What its last transaction waited for; none where nothing was written yet.
    durability: Option<Durability>,
}

impl WriteConnection {
    fn write_together(&mut self, tasks: Vec<Task>) {
        match self.begin(durability(&tasks), BUSY_TIME) {
            Ok(transaction) => tell_all(write_in(transaction, tasks)),
            Err(fault) => {
                tell_all((tasks.into_iter().map(|task| (task.work)(Err(&fault)).tell).collect(), Ok(())));
            }
        }
    }

    /// Begins a transaction whose end the disk is waited for, or is not; a process that is at one is waited for so long.
    fn begin(
        &mut self,
        durability: Durability,
        others_time: Duration,
    ) -> Result<Transaction<'_>, StoreFault> {
        self.file.check()?;
        self.begin_in_file(durability, others_time).map_err(|error| sqlite(&error))
    }

    fn begin_in_file(
        &mut self,
        durability: Durability,
        others_time: Duration,
    ) -> rusqlite::Result<Transaction<'_>> {
        self.connection.busy_timeout(others_time)?;
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

    /// Does what was put off while there was something to write.
    fn rest(&mut self, work: &mut IdleWork) -> rusqlite::Result<()> {
        self.connection.busy_timeout(BUSY_TIME)?;
        work(&mut self.connection);
        Ok(())
    }
}

/// What a transaction of these waits for.
fn durability(tasks: &[Task]) -> Durability {
    let is_for_disk = tasks.iter().any(|task| task.durability == Durability::Disk);
    if is_for_disk { Durability::Disk } else { Durability::System }
}

/// Tells whoever waits how a transaction ended.
fn tell_all((waiting, ended): (Vec<Acknowledgement>, Result<(), StoreFault>)) {
    for tell in waiting {
        tell(ended.as_ref().copied());
    }
}

/// Does what waits, and ends the transaction: who is to be told, and how it ended.
fn write_in(
    mut transaction: Transaction<'_>,
    mut tasks: Vec<Task>,
) -> (Vec<Acknowledgement>, Result<(), StoreFault>) {
    // One alone is the transaction: a savepoint within it would be two statements more.
    if tasks.len() == 1
        && let Some(task) = tasks.pop()
    {
        let TaskResult { is_kept, tell } = (task.work)(Ok(&transaction));
        // Dropped without a commit it is rolled back, where SQLite has not done so itself.
        let ended = if is_kept { transaction.commit() } else { Ok(()) };
        return (vec![tell], ended.map_err(|error| sqlite(&error)));
    }
    let waiting = tasks.into_iter().map(|task| in_savepoint(&mut transaction, task.work)).collect();
    (waiting, transaction.commit().map_err(|error| sqlite(&error)))
}

/// Does one of several: what it wrote is taken back where it is refused, and the others are none the worse for it.
fn in_savepoint(transaction: &mut Transaction<'_>, work: Work) -> Acknowledgement {
    let savepoint = match transaction.savepoint() {
        Ok(savepoint) => savepoint,
        Err(error) => return work(Err(&sqlite(&error))).tell,
    };
    let TaskResult { is_kept, tell } = work(Ok(&savepoint));
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
