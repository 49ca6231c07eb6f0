//! A server from its address to its end.

use crate::beginning_watch::BeginningWatch;
use crate::books::Books;
use crate::chain::ChainKey;
use crate::checkpoints::Checkpoints;
use crate::connection_threads::ConnectionThreads;
use crate::hand_over::{self, Neighbours};
use crate::idle;
use crate::learned;
use crate::outward::Outward;
use crate::reply_store;
use crate::responses::{self, SeenResponses};
use crate::router::router;
use crate::seen_lists::SeenLists;
use crate::server_state::ServerState;
use crate::settings::{ServerSettings, ServerSettingsError, ServerStore, check_loopback};
use crate::surroundings::SeenSurroundings;
use crate::totals::{ServerTotals, TrafficCounter};
use axum::Router;
use epitome_engine::store::{MemoryStore, Store};
use epitome_engine::{Engine, TokioRuntime};
use futures_util::future::select;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;

/// A server that has its address and serves nobody yet.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    router: Router,
    state: Arc<ServerState>,
}

/// A server that cannot be started, or that stopped serving.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// It was told what it cannot do.
    #[error(transparent)]
    Settings(#[from] ServerSettingsError),
    /// The address is not to be had.
    #[error("cannot listen on {address}; choose another port, or stop what listens there")]
    Listen {
        /// The address asked for.
        address: SocketAddr,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Secure connections cannot be made.
    #[error("cannot prepare connections to the providers")]
    Outward(#[source] rustls::Error),
    /// There are no threads to serve connections.
    #[error("cannot start the threads that serve connections")]
    Threads(#[source] io::Error),
    /// They were there once.
    #[error("the threads that serve connections have ended; what they said last tells why")]
    Broken,
}

impl Server {
    /// Takes an address of this machine.
    pub async fn bind(address: SocketAddr, settings: ServerSettings) -> Result<Self, ServeError> {
        check_loopback(address)?;
        let failed = |source| ServeError::Listen { address, source };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let outward = Outward::new(settings.silence_max).map_err(ServeError::Outward)?;
        let state = Arc::new(ServerState::new(settings, address, outward));
        learned::load(&state).await;
        responses::load(&state).await;
        hand_over::arrive(&state).await;
        Ok(Self { listener, address, router: router(state.clone()), state })
    }

    /// The address it has; the port is the system's choice where 0 was asked for.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop` ends; requests under way are finished, within [`LEAVING_TIME_MAX`]. What all of them came to.
    #[expect(clippy::async_yields_async, reason = "what the first word ends in is the wait for the second")]
    pub async fn run(
        self,
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> Result<ServerTotals, ServeError> {
        let stop = async {
            stop.await;
            std::future::pending()
        };
        self.run_until(stop).await
    }

    /// The same where `stop` comes to a second word: when that ends too, requests under way are no longer waited for.
    pub async fn run_until<S: Future<Output = ()> + Send + 'static>(
        self,
        stop: impl Future<Output = S> + Send + 'static,
    ) -> Result<ServerTotals, ServeError> {
        let mut threads = ConnectionThreads::start(&self.router).map_err(ServeError::Threads)?;
        let watching = tokio::spawn(idle::watch(self.state.clone()));
        let giving = tokio::spawn(hand_over::watch(self.state.clone()));
        let stopped = threads.take_from(self.listener, stop).await;
        let is_broken = stopped.is_none();
        if let Some(again) = stopped {
            select(pin!(threads.finish()), pin!(timeout(LEAVING_TIME_MAX, again))).await;
        }
        watching.abort();
        giving.abort();
        // Compactions that still wait for a model are let go: what they are about the client sends again.
        self.state.ending.send_replace(true);
        self.state.leave().await;
        threads.end().await;
        if is_broken { Err(ServeError::Broken) } else { Ok(self.state.counter.totals()) }
    }
}

/// So long requests under way are waited for once the server is told to stop: those who run it wait as long before they kill it.
pub const LEAVING_TIME_MAX: Duration = Duration::from_secs(30);

impl ServerState {
    /// A state in which nothing was said yet.
    pub(crate) fn new(settings: ServerSettings, address: SocketAddr, outward: Outward) -> Self {
        let (store, key): (Arc<dyn Store>, ChainKey) = match &settings.store {
            Some(ServerStore { store, key, .. }) => (store.clone(), ChainKey::of_store(*key)),
            None => (Arc::new(MemoryStore::default()), ChainKey::new()),
        };
        let key = if settings.is_observing { key.observing() } else { key };
        let kept = settings.store.as_ref().map(|place| place.keep).unwrap_or_default();
        let engine = Engine::new(store)
            .with_kept_bodies(kept)
            .with_spawn(Arc::new(TokioRuntime::of(Handle::current())));
        // What a request appends is stored while its provider is at work (`background_store`).
        let engine = if settings.store.is_some() { engine.with_deferral() } else { engine };
        Self {
            settings,
            address,
            engine,
            books: Books::default(),
            checkpoints: Arc::new(Checkpoints::default()),
            responses: SeenResponses::default(),
            outward,
            newcomers: tokio::sync::Mutex::default(),
            newcomer_count: AtomicU64::default(),
            key,
            lists: SeenLists::default(),
            surroundings: SeenSurroundings::default(),
            beginnings: BeginningWatch::default(),
            told: Mutex::default(),
            outages: Mutex::default(),
            counter: TrafficCounter::default(),
            neighbours: Neighbours::default(),
            reply_slots: Semaphore::new(reply_store::SLOTS),
            ending: watch::Sender::new(false),
        }
    }
}
