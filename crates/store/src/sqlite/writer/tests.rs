//! Who writes, in which order, and what stays of what was refused.

use super::*;
use std::sync::mpsc::channel;
use std::thread;

/// A queue on a table of numbers in memory that never rests.
fn queue() -> WriteQueue {
    let connection = Connection::open_in_memory().expect("there is memory");
    connection.execute_batch("CREATE TABLE numbers (number INTEGER)").expect("a table is made");
    WriteQueue::new(connection, Duration::from_secs(3_600), Box::new(|_| ())).expect("a thread begins")
}

fn add(connection: &Connection, number: i64) -> Result<(), StoreError> {
    connection.execute("INSERT INTO numbers VALUES (?1)", [number]).expect("the table is there");
    Ok(())
}

fn refused() -> StoreError {
    StoreError::Fault(StoreFault { kind: FaultKind::Other, what: "as a test wants it".into() })
}

/// What came of a task, to be compared.
async fn told<T>(answer: BoxFuture<'static, Result<T, StoreError>>) -> Result<T, String> {
    answer.await.map_err(|error| error.to_string())
}

/// The numbers in the order in which they were written.
async fn written(queue: &WriteQueue) -> Vec<i64> {
    let all = queue.write(Durability::System, |connection| {
        let mut select =
            connection.prepare("SELECT number FROM numbers ORDER BY rowid").expect("a statement");
        let rows = select.query_map([], |row| row.get(0)).expect("rows");
        Ok(rows.collect::<Result<Vec<i64>, _>>().expect("numbers"))
    });
    all.await.expect("it is read")
}

#[tokio::test]
async fn who_may_wait_writes_on_their_own_thread_and_others_on_the_stores() {
    let queue = queue();
    let who = |_: &Connection| Ok(thread::current().id());
    assert_eq!(told(queue.write_here(Durability::Disk, who)).await, Ok(thread::current().id()));
    assert_ne!(told(queue.write(Durability::Disk, who)).await, Ok(thread::current().id()));
}

#[cfg(unix)]
#[tokio::test]
async fn what_is_written_to_a_file_that_was_moved_away_fails_until_it_is_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let (place, elsewhere) = (folder.path().join("store.db"), folder.path().join("elsewhere.db"));
    let connection = Connection::open(&place).expect("a file");
    connection.execute_batch("CREATE TABLE numbers (number INTEGER)").expect("a table is made");
    let queue =
        WriteQueue::new(connection, Duration::from_secs(3_600), Box::new(|_| ())).expect("a thread begins");
    let kind = async |number| {
        let written = queue.write_here(Durability::Disk, move |connection| add(connection, number)).await;
        written.map_err(|error| match error {
            StoreError::Fault(fault) => fault.kind,
            other => panic!("{other}"),
        })
    };
    assert_eq!(kind(1).await, Ok(()));
    std::fs::rename(&place, &elsewhere).expect("it is moved");
    assert_eq!(kind(2).await, Err(FaultKind::Gone));
    std::fs::copy(&elsewhere, &place).expect("another stands in its place");
    assert_eq!(kind(3).await, Err(FaultKind::Gone));
    std::fs::rename(&elsewhere, &place).expect("it is moved back");
    assert_eq!(kind(4).await, Ok(()));
    assert_eq!(written(&queue).await, [1, 4]);
}

#[tokio::test]
async fn what_comes_while_another_writes_is_written_behind_it_and_nobody_waits_for_the_connection() {
    let queue = queue();
    let (begun, has_begun) = channel();
    let (go_on, may_go_on) = channel::<()>();
    let first = queue.write(Durability::Disk, move |connection| {
        begun.send(()).expect("somebody waits");
        may_go_on.recv().expect("it is told to");
        add(connection, 1)
    });
    has_begun.recv().expect("it begins");
    let second = queue.write_here(Durability::Disk, |connection| add(connection, 2));
    let third = queue.write_here(Durability::Disk, |connection| add(connection, 3));
    go_on.send(()).expect("it waits");
    assert_eq!([told(first).await, told(second).await, told(third).await], [Ok(()), Ok(()), Ok(())]);
    assert_eq!(written(&queue).await, [1, 2, 3]);
}

#[tokio::test]
async fn what_is_refused_leaves_nothing_alone_or_among_others() {
    let queue = queue();
    let refuse = |connection: &Connection| add(connection, 0).and(Err::<(), _>(refused()));
    assert_eq!(told(queue.write_here(Durability::Disk, refuse)).await, Err(refused().to_string()));
    let (go_on, may_go_on) = channel::<()>();
    // Held up by the first, the others share a transaction.
    let first = queue.write(Durability::Disk, move |_| {
        may_go_on.recv().expect("it is told to");
        Ok(())
    });
    let before = queue.write(Durability::Disk, |connection| add(connection, 1));
    let between = queue.write(Durability::Disk, refuse);
    let after = queue.write(Durability::Disk, |connection| add(connection, 2));
    go_on.send(()).expect("it waits");
    let ended = [told(first).await, told(before).await, told(between).await, told(after).await];
    assert_eq!(ended, [Ok(()), Ok(()), Err(refused().to_string()), Ok(())]);
    assert_eq!(written(&queue).await, [1, 2]);
}

#[test]
fn what_was_asked_for_is_written_before_the_end() {
    let queue = queue();
    let (done, is_done) = channel();
    for number in 0..200 {
        let done = done.clone();
        drop(queue.write(Durability::System, move |_| {
            done.send(number).expect("somebody listens");
            Ok(())
        }));
    }
    drop(queue);
    drop(done);
    assert_eq!(is_done.iter().collect::<Vec<_>>(), (0..200).collect::<Vec<_>>());
}

#[test]
fn a_quiet_store_does_what_it_puts_off() {
    let connection = Connection::open_in_memory().expect("there is memory");
    let (rested, has_rested) = channel();
    let rest = Box::new(move |_: &mut Connection| rested.send(()).unwrap_or_default());
    let _queue = WriteQueue::new(connection, Duration::from_millis(50), rest).expect("a thread begins");
    has_rested.recv_timeout(Duration::from_secs(10)).expect("it rests");
}
