//! Threads that serve connections, one runtime each: a request is read, sent on and answered by one thread, which drives the connection
//! to its provider too, so that no step of it waits until another thread is woken. Connections go to the threads in turn. What takes
//! the processor for long is done elsewhere (`blocking`).

use axum::Router;
use axum::serve::Listener;
use futures_util::FutureExt as _;
use futures_util::future::{Either, join_all, select, select_ok};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::{conn::auto, graceful::GracefulShutdown};
use hyper_util::service::TowerToHyperService;
use std::future::Future;
use std::io;
use std::net::TcpStream as AcceptedStream;
use std::num::NonZero;
use std::pin::pin;
use std::sync::mpsc::channel;
use std::thread::{self, available_parallelism};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::timeout;

/// More would have connections to providers of their own, and nothing to do: passing bytes on takes a fraction of a processor.
const THREADS_MAX: usize = 16;

/// So many connections wait for a thread; further ones wait in the system's own queue, which is about as long.
const WAITING_MAX: usize = 128;

/// So much of a request is read at once: what lies in a processor's cache until it is copied to its place.
const READ_BYTES_MAX: usize = 128 << 10;

/// Whatever is let go ends where it waits next. A thread that hangs in the system, on a disk that is gone, ends with the process.
const ENDING_TIME_MAX: Duration = Duration::from_secs(1);

/// Threads that serve connections until they are dropped.
pub(crate) struct ConnectionThreads {
    queues: Vec<mpsc::Sender<AcceptedStream>>,
    phase: watch::Sender<ServingPhase>,
    /// Each comes to its end when its thread has answered all requests.
    served: Vec<oneshot::Receiver<()>>,
    /// Each comes to its end with its thread.
    ended: Vec<oneshot::Receiver<()>>,
}

/// How far the threads have come; each phase follows the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ServingPhase {
    /// Connections are served.
    Serving,
    /// Requests under way are answered, and no others.
    Finishing,
    /// Whatever is under way is let go.
    Over,
}

impl ConnectionThreads {
    /// As many as there are processors, up to [`THREADS_MAX`].
    pub(crate) fn start(router: &Router) -> io::Result<Self> {
        let count = available_parallelism().map_or(1, NonZero::get).min(THREADS_MAX);
        Self::start_some(router, count, WAITING_MAX)
    }

    fn start_some(router: &Router, count: usize, waiting_max: usize) -> io::Result<Self> {
        let (phase, _) = watch::channel(ServingPhase::Serving);
        let mut threads = Self { queues: Vec::new(), phase, served: Vec::new(), ended: Vec::new() };
        for at in 0..count {
            threads.start_one(at, waiting_max, router.clone())?;
        }
        Ok(threads)
    }

    fn start_one(&mut self, at: usize, waiting_max: usize, router: Router) -> io::Result<()> {
        let (queue, connections) = mpsc::channel(waiting_max);
        // Both are told by being dropped, also by a thread that panics.
        let (serving, served) = oneshot::channel();
        let (living, ended) = oneshot::channel::<()>();
        let (building, built) = channel();
        let phase = self.phase.subscribe();
        let work = move || {
            let _living = living;
            // Made where it is dropped: whoever starts the threads may not block, as dropping a runtime does.
            let runtime = match Builder::new_current_thread().enable_all().build() {
                Ok(runtime) => runtime,
                Err(error) => return drop(building.send(error)),
            };
            drop(building);
            runtime.block_on(serve(connections, router, phase, serving));
            // Whatever is left was told that the server ends, and has nobody to work for.
            runtime.shutdown_background();
        };
        thread::Builder::new().name(format!("connections-{at}")).spawn(work)?;
        built.recv().map_or(Ok(()), Err)?;
        self.queues.push(queue);
        self.served.push(served);
        self.ended.push(ended);
        Ok(())
    }

    /// Takes connections and hands them to the threads in turn, until `stop` ends; what it ends with. None where all threads have ended
    /// before that.
    pub(crate) async fn take_from<S>(
        &self,
        listener: TcpListener,
        stop: impl Future<Output = S>,
    ) -> Option<S> {
        match select(pin!(stop), pin!(self.distribute(listener))).await {
            Either::Left((stopped, _)) => Some(stopped),
            Either::Right(((), _)) => None,
        }
    }

    /// Comes to its end when no thread is left.
    async fn distribute(&self, mut listener: TcpListener) {
        let mut turns = (0..self.queues.len()).cycle();
        let mut ended = join_all(self.queues.iter().map(|queue| Box::pin(queue.closed())));
        while let Either::Left(((connection, _), _)) =
            select(pin!(Listener::accept(&mut listener)), &mut ended).await
        {
            // Small events must not wait for the acknowledgement of the ones before. A socket that refuses is slower, no more.
            drop(connection.set_nodelay(true));
            // One that cannot be taken out of this runtime is closed.
            if let Some((connection, turn)) = connection.into_std().ok().zip(turns.next()) {
                self.hand_over(connection, turn).await;
            }
        }
    }

    /// Hands a connection to the thread whose turn it is. One that is stuck keeps no others waiting: as long as any has room, that takes it.
    async fn hand_over(&self, connection: AcceptedStream, turn: usize) {
        let (before, after) = self.queues.split_at(turn);
        let mut waiting = connection;
        for queue in after.iter().chain(before) {
            waiting = match queue.try_send(waiting) {
                Ok(()) => return,
                Err(TrySendError::Full(refused) | TrySendError::Closed(refused)) => refused,
            };
        }
        // All are full, or have ended: whichever has room first takes it. Where none is left the connection is closed.
        let room = self.queues.iter().map(|queue| Box::pin(queue.reserve()));
        if let Ok((permit, _)) = select_ok(room).await {
            permit.send(waiting);
        }
    }

    /// Has them take no more requests; comes to its end when those under way are answered.
    pub(crate) async fn finish(&mut self) {
        self.phase.send_replace(ServingPhase::Finishing);
        join_all(self.served.drain(..)).await;
    }

    /// Lets go whatever is under way.
    pub(crate) async fn end(mut self) {
        self.phase.send_replace(ServingPhase::Over);
        drop(timeout(ENDING_TIME_MAX, join_all(self.ended.drain(..))).await);
    }
}

/// Serves the connections that are handed to this thread. Its runtime stays for as long as others may need what it drives.
async fn serve(
    mut handed: mpsc::Receiver<AcceptedStream>,
    router: Router,
    phase: watch::Receiver<ServingPhase>,
    serving: oneshot::Sender<()>,
) {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().max_buf_size(READ_BYTES_MAX);
    let (service, connections) = (TowerToHyperService::new(router), GracefulShutdown::new());
    let mut finishing = pin!(reached(phase.clone(), ServingPhase::Finishing));
    while let Either::Left((Some(connection), _)) = select(pin!(handed.recv()), &mut finishing).await {
        // One that cannot be taken into this runtime is closed.
        if let Ok(connection) = TcpStream::from_std(connection) {
            let served = builder.serve_connection(TokioIo::new(connection), service.clone()).into_owned();
            // However it ends, whoever is at its other end knows.
            tokio::spawn(connections.watch(served).map(drop));
        }
    }
    select(pin!(connections.shutdown()), pin!(reached(phase.clone(), ServingPhase::Over))).await;
    drop(serving);
    reached(phase, ServingPhase::Over).await;
}

/// Comes to its end when that phase has begun, or nobody can begin it any more.
async fn reached(mut phase: watch::Receiver<ServingPhase>, awaited: ServingPhase) {
    drop(phase.wait_for(|now| *now >= awaited).await);
}

#[cfg(test)]
mod tests {
    use super::{ConnectionThreads, THREADS_MAX};
    use axum::Router;
    use axum::routing::get;
    use futures_util::future::join;
    use std::collections::HashSet;
    use std::future::pending;
    use std::num::NonZero;
    use std::sync::{Arc, Barrier};
    use std::thread::{self, available_parallelism};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::sync::Notify;

    const WAITING_FEW: usize = 4;

    async fn thread_name() -> String {
        thread::current().name().unwrap_or_default().to_owned()
    }

    async fn text(client: &reqwest::Client, url: &str) -> String {
        let response = client.get(url).send().await.expect("it answers");
        response.text().await.expect("all of it comes")
    }

    async fn listener() -> (TcpListener, String) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let url = format!("http://{}/", listener.local_addr().expect("it listens"));
        (listener, url)
    }

    #[tokio::test]
    async fn connections_go_to_all_threads_in_turn_and_stay_there() {
        let threads = ConnectionThreads::start(&Router::new().route("/", get(thread_name)));
        let mut threads = threads.expect("threads begin");
        let (listener, url) = listener().await;
        let ask = async {
            let mut names = HashSet::new();
            for _ in 0..THREADS_MAX {
                // A pool of its own is a connection of its own.
                let client = reqwest::Client::new();
                let first = text(&client, &url).await;
                assert_eq!(text(&client, &url).await, first);
                names.insert(first);
            }
            names
        };
        let names = threads.take_from(listener, ask).await.expect("threads are there");
        let count = available_parallelism().map_or(1, NonZero::get).min(THREADS_MAX);
        assert_eq!(names, (0..count).map(|at| format!("connections-{at}")).collect());
        threads.finish().await;
        threads.end().await;
    }

    #[tokio::test]
    async fn a_request_under_way_is_answered_at_the_end_and_others_are_not_taken() {
        let (begun, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let slow = {
            let (begun, go_on) = (begun.clone(), go_on.clone());
            move || async move {
                begun.notify_one();
                go_on.notified().await;
                "answered"
            }
        };
        let threads = ConnectionThreads::start(&Router::new().route("/", get(slow)));
        let mut threads = threads.expect("threads begin");
        let (listener, url) = listener().await;
        let asked = tokio::spawn({
            let url = url.clone();
            async move { text(&reqwest::Client::new(), &url).await }
        });
        threads.take_from(listener, begun.notified()).await;
        assert!(reqwest::get(&url).await.is_err(), "nobody listens any more");
        let finished = async {
            threads.finish().await;
            assert_eq!(asked.await.expect("it ends"), "answered");
            threads.end().await;
        };
        // Told to finish before the request may go on.
        join(finished, async { go_on.notify_one() }).await;
    }

    #[tokio::test]
    #[expect(clippy::async_yields_async, reason = "what is asked of the stuck thread is answered at the end")]
    async fn a_thread_that_is_stuck_keeps_neither_others_nor_the_end_waiting() {
        let (begun, go_on) = (Arc::new(Notify::new()), Arc::new(Barrier::new(2)));
        let stuck = {
            let (begun, go_on) = (begun.clone(), go_on.clone());
            move || async move {
                begun.notify_one();
                // As in the system, on a disk that does not answer.
                go_on.wait();
            }
        };
        let router = Router::new().route("/stuck", get(stuck)).route("/", get(thread_name));
        let threads = ConnectionThreads::start_some(&router, 2, WAITING_FEW).expect("threads begin");
        let (listener, url) = listener().await;
        let ask = async {
            let asked = tokio::spawn(reqwest::get(format!("{url}stuck")));
            begun.notified().await;
            // More than may wait for the one that is stuck, whose turn comes all the same, and one that is answered.
            let mut waiting = Vec::new();
            for _ in 0..WAITING_FEW * 4 {
                let connected = TcpStream::connect(url["http://".len()..].trim_end_matches('/')).await;
                waiting.push(connected.expect("it is taken"));
            }
            assert!(text(&reqwest::Client::new(), &url).await.starts_with("connections-"));
            asked
        };
        let asked = threads.take_from(listener, ask).await.expect("threads are there");
        threads.end().await;
        go_on.wait();
        drop(asked.await.expect("it ends"));
    }

    #[tokio::test]
    async fn what_is_under_way_is_let_go_with_the_threads() {
        for is_told in [true, false] {
            let begun = Arc::new(Notify::new());
            let endless = {
                let begun = begun.clone();
                move || async move {
                    begun.notify_one();
                    pending::<&str>().await
                }
            };
            let threads = ConnectionThreads::start(&Router::new().route("/", get(endless)));
            let threads = threads.expect("threads begin");
            let (listener, url) = listener().await;
            let asked = tokio::spawn(reqwest::get(url));
            threads.take_from(listener, begun.notified()).await;
            if is_told {
                threads.end().await;
            } else {
                drop(threads);
            }
            assert!(asked.await.expect("it ends").is_err(), "nobody answers any more");
        }
    }
}
