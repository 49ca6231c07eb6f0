//! The one thread that writes: it takes what waits, does it in one transaction, each in a savepoint of its own, and says so
//! when that is on disk. Who comes while the disk is busy shares the next turn of it.

use crate::fault::{of_sqlite, sqlite};
use epitome_engine::BoxFuture;
use epitome_engine::store::{Durability, FaultKind, StoreError, StoreFault};
use futures_channel::oneshot;
use rusqlite::{Connection, Savepoint, Transaction, TransactionBehavior};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Something to be written, and when that counts as done.
struct Task {
    durability: Durability,
    work: Work,
}

/// What is done in a transaction, or where none could be begun; what it returns tells whoever waits, once that has ended.
type Work = Box<dyn FnOnce(Result<&mut Transaction<'_>, &StoreFault>) -> Acknowledgement + Send>;
type Acknowledgement = Box<dyn FnOnce(Result<(), &StoreFault>)>;
/// What is written when nothing was for a while.
type IdleWork = Box<dyn FnMut(&mut Connection) + Send>;

/// So many share a transaction at most: the first of them waits for all.
const TASKS_MAX: usize = 64;

/// The thread that writes. It ends when this is dropped, with all that was asked for done.
#[derive(Debug)]
pub(super) struct WriterThread {
    tasks: Option<Sender<Task>>,
    thread: Option<JoinHandle<()>>,
}

impl WriterThread {
    /// Begins to write on a connection; `rest` is done whenever nothing was asked for during `every`.
    pub(super) fn new(connection: Connection, every: Duration, rest: IdleWork) -> Result<Self, StoreFault> {
        let (tasks, queue) = channel();
        let thread = std::thread::Builder::new()
            .name("epitome-store".into())
            .spawn(move || write_all(connection, &queue, every, rest))
            .map_err(|error| StoreFault {
                kind: FaultKind::Other,
                what: format!("no thread can be begun ({error})"),
            })?;
        Ok(Self { tasks: Some(tasks), thread: Some(thread) })
    }

    /// Has something written, whole or not at all; what came of it when it is on disk.
    pub(super) fn write<T: Send + 'static>(
        &self,
        durability: Durability,
        act: impl FnOnce(&Savepoint<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> BoxFuture<'static, Result<T, StoreError>> {
        let (told, answer) = oneshot::channel();
        let work: Work = Box::new(move |begun| {
            let acted = match begun {
                Ok(transaction) => in_savepoint(transaction, act),
                Err(fault) => Err(StoreError::Fault(fault.clone())),
            };
            Box::new(move |ended| {
                let acted = ended.map_err(|fault| StoreError::Fault(fault.clone())).and(acted);
                // Nobody waits any more: it is written all the same.
                let _ = told.send(acted);
            })
        });
        if let Some(tasks) = &self.tasks {
            // Where the thread has ended, the answer does not come.
            let _ = tasks.send(Task { durability, work });
        }
        Box::pin(async move { answer.await.unwrap_or_else(|_| Err(StoreError::Fault(ended()))) })
    }
}

impl Drop for WriterThread {
    fn drop(&mut self) {
        drop(self.tasks.take());
        if let Some(thread) = self.thread.take() {
            // It has told whoever waited what went wrong.
            let _ = thread.join();
        }
    }
}

fn ended() -> StoreFault {
    StoreFault { kind: FaultKind::Gone, what: "the store was closed".into() }
}

fn write_all(mut connection: Connection, queue: &Receiver<Task>, every: Duration, mut rest: IdleWork) {
    loop {
        match queue.recv_timeout(every) {
            Ok(first) => write_together(&mut connection, first, queue),
            Err(RecvTimeoutError::Timeout) => rest(&mut connection),
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

fn write_together(connection: &mut Connection, first: Task, queue: &Receiver<Task>) {
    let tasks: Vec<Task> = std::iter::once(first).chain(queue.try_iter()).take(TASKS_MAX).collect();
    let begun = set_durability(connection, &tasks)
        .and_then(|()| connection.transaction_with_behavior(TransactionBehavior::Immediate));
    let (waiting, ended): (Vec<Acknowledgement>, _) = match begun {
        Ok(mut transaction) => {
            let waiting = tasks.into_iter().map(|task| (task.work)(Ok(&mut transaction))).collect();
            (waiting, transaction.commit().map_err(|error| sqlite(&error)))
        }
        Err(error) => {
            let fault = sqlite(&error);
            (tasks.into_iter().map(|task| (task.work)(Err(&fault))).collect(), Ok(()))
        }
    };
    for tell in waiting {
        tell(ended.as_ref().copied());
    }
}

/// Has the disk waited for where one of these must be on it.
fn set_durability(connection: &Connection, tasks: &[Task]) -> rusqlite::Result<()> {
    let is_for_disk = tasks.iter().any(|task| task.durability == Durability::Disk);
    connection
        .prepare_cached(if is_for_disk {
            "PRAGMA synchronous = FULL"
        } else {
            "PRAGMA synchronous = NORMAL"
        })?
        .raw_execute()
        .map(drop)
}

fn in_savepoint<T>(
    transaction: &mut Transaction<'_>,
    act: impl FnOnce(&Savepoint<'_>) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    // Dropped without a commit it is rolled back, and the others of the transaction are none the worse for it.
    let savepoint = transaction.savepoint().map_err(of_sqlite)?;
    let acted = act(&savepoint)?;
    savepoint.commit().map_err(of_sqlite)?;
    Ok(acted)
}
