//! Starting and stopping an upstream, in process, on a real socket.

use crate::provider::Provider;
use crate::server::{Desk, router};
use crate::{Plan, Report, Script};
use axum::serve::ListenerExt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// A stand-in for model providers.
///
/// ```
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// use epitome_upstream::{Script, Upstream};
///
/// let upstream = Upstream::start(Script { window_tokens: Some(32_000), ..Script::default() }).await?;
/// upstream.plan("summary:1=500".parse().expect("a plan"));
/// assert!(upstream.base_url.starts_with("http://127.0.0.1:"));
/// assert_eq!(upstream.report().requests, 0);
/// upstream.stop().await;
/// # Ok::<(), std::io::Error>(())
/// # })?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Upstream;

/// A running upstream. It stops when this is dropped, too.
#[derive(Debug)]
pub struct Handle {
    /// Such as `http://127.0.0.1:40123`; paths follow it.
    pub base_url: String,
    provider: Arc<Provider>,
    stop: watch::Sender<bool>,
    server: JoinHandle<io::Result<()>>,
}

impl Upstream {
    /// Starts on a free port of this machine alone.
    ///
    /// # Errors
    /// Where there is no port to be had.
    pub async fn start(script: Script) -> io::Result<Handle> {
        Self::listen(script, SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await
    }

    /// Starts on this address.
    ///
    /// # Errors
    /// Where it is taken or not this machine's.
    pub async fn listen(script: Script, address: SocketAddr) -> io::Result<Handle> {
        let listener = TcpListener::bind(address).await?;
        let base_url = format!("http://{}", listener.local_addr()?);
        let provider = Arc::new(Provider::new(script));
        let (stop, stopped) = watch::channel(false);
        let app = router(Desk { provider: provider.clone(), stop: stopped.clone() });
        // Small events must not wait for the acknowledgement of those before them.
        let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
        let served = axum::serve(listener, app).with_graceful_shutdown(told(stopped));
        let server = tokio::spawn(async move { served.await });
        Ok(Handle { base_url, provider, stop, server })
    }
}

/// Ends when the handle says so, or is gone.
async fn told(mut stopped: watch::Receiver<bool>) {
    // An error means that the handle was dropped, which says the same.
    drop(stopped.wait_for(|is_stopped| *is_stopped).await);
}

impl Handle {
    /// What has been seen so far.
    pub fn report(&self) -> Report {
        self.provider.state().report.clone()
    }

    /// Sets the plan anew; its numbers count from here.
    pub fn plan(&self, plan: Plan) {
        self.provider.state().plan = plan;
    }

    /// Stops: answers under way are finished without their pauses, and requests left hanging are let go.
    pub async fn stop(self) {
        self.stop.send_replace(true);
        // The server ends well or was stopped with its runtime; either way there is nothing left to do.
        drop(self.server.await);
    }
}
