//! Making a connection to a provider: through the proxy that the environment names for it, or straight; with TLS where its address says
//! so, by the certificates that the system trusts.

use super::connection_use::ConnectionUse;
use axum::http::uri::Scheme;
use axum::http::{HeaderValue, Uri};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::crypto::aws_lc_rs;
use rustls_platform_verifier::BuilderVerifierExt as _;
use std::future::Future;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tower_service::Service;

/// A connection that is not made by then will not be made.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(20);

/// Idle connections are probed this often, and given up after so many probes without an answer: what lies between may have forgotten them.
const KEEPALIVE_TIME: Duration = Duration::from_secs(15);
const KEEPALIVE_RETRIES: u32 = 3;

/// What was sent and nobody acknowledged by then went over a connection that something between has forgotten: it is not tried while it
/// has something to send, and the system would wait for a quarter of an hour.
#[cfg(target_os = "linux")]
const UNACKNOWLEDGED_TIME_MAX: Duration = Duration::from_secs(30);

pub(super) type ConnectError = Box<dyn std::error::Error + Send + Sync>;

type ConnectFuture<T> = Pin<Box<dyn Future<Output = Result<T, ConnectError>> + Send>>;

/// Makes connections to providers.
#[derive(Clone)]
pub(super) struct ProviderConnector {
    network: NetworkConnector,
    /// For the provider itself; offers HTTP/2 by ALPN.
    tls: Arc<ClientConfig>,
}

/// Connects to an address, or through a proxy, as far as where the provider's own TLS begins.
#[derive(Clone)]
struct NetworkConnector {
    tcp: HttpConnector,
    proxies: Arc<Matcher>,
    /// For a proxy; offers nothing by ALPN, since proxies are spoken to in HTTP/1.1.
    tls: Arc<ClientConfig>,
}

/// A stream to an address or through a proxy, in that one's TLS where it has some.
type NetworkStream = MaybeHttpsStream<TokioIo<TcpStream>>;

/// A connection to a provider.
pub(super) struct ProviderStream {
    stream: MaybeHttpsStream<NetworkStream>,
    /// Whether requests over it name their whole address, as a proxy that forwards them needs.
    is_proxied: bool,
    /// What was made of it so far.
    uses: ConnectionUse,
}

impl ProviderConnector {
    /// Connects as the environment says now.
    pub(super) fn from_env() -> Result<Self, rustls::Error> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let versions = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
        let without_alpn = versions.with_platform_verifier()?.with_no_client_auth();
        let mut tls = without_alpn.clone();
        tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_keepalive(Some(KEEPALIVE_TIME));
        tcp.set_keepalive_interval(Some(KEEPALIVE_TIME));
        tcp.set_keepalive_retries(Some(KEEPALIVE_RETRIES));
        #[cfg(target_os = "linux")]
        tcp.set_tcp_user_timeout(Some(UNACKNOWLEDGED_TIME_MAX));
        // Shared among the addresses that a name has, so that one which swallows what is sent leaves time for the next.
        tcp.set_connect_timeout(Some(CONNECT_TIME_MAX));
        let network =
            NetworkConnector { tcp, proxies: Arc::new(Matcher::from_env()), tls: Arc::new(without_alpn) };
        Ok(Self { network, tls: Arc::new(tls) })
    }

    /// What a proxy is to be told with a request to this address that it passes on itself.
    pub(super) fn proxy_authorization(&self, to: &Uri) -> Option<HeaderValue> {
        self.forwarding_proxy(to)?.basic_auth().cloned()
    }

    /// The proxy that passes on each request to this address, which it reads; through TLS it sees none.
    fn forwarding_proxy(&self, to: &Uri) -> Option<Intercept> {
        let is_plain = to.scheme() == Some(&Scheme::HTTP);
        is_plain.then(|| self.network.proxies.intercept(to)).flatten()
    }
}

impl NetworkConnector {
    async fn connect(mut self, to: Uri) -> Result<NetworkStream, ConnectError> {
        let Some(proxy) = self.proxies.intercept(&to) else {
            return Ok(MaybeHttpsStream::Http(self.tcp.call(to).await?));
        };
        let mut to_proxy = HttpsConnector::from((self.tcp, self.tls));
        if to.scheme() != Some(&Scheme::HTTPS) {
            return to_proxy.call(proxy.uri().clone()).await;
        }
        Ok(tunnel(&proxy, to_proxy).call(to).await?)
    }
}

/// Connects through a proxy that is to see nothing of what goes by.
fn tunnel<C>(proxy: &Intercept, to_proxy: C) -> Tunnel<C> {
    let tunnel = Tunnel::new(proxy.uri().clone(), to_proxy);
    match proxy.basic_auth() {
        Some(authorization) => tunnel.with_auth(authorization.clone()),
        None => tunnel,
    }
}

impl Service<Uri> for NetworkConnector {
    type Response = NetworkStream;
    type Error = ConnectError;
    type Future = ConnectFuture<NetworkStream>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ConnectError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        Box::pin(self.clone().connect(to))
    }
}

impl Service<Uri> for ProviderConnector {
    type Response = ProviderStream;
    type Error = ConnectError;
    type Future = ConnectFuture<ProviderStream>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ConnectError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let is_proxied = self.forwarding_proxy(&to).is_some();
        let connecting = HttpsConnector::from((self.network.clone(), self.tls.clone())).call(to);
        Box::pin(async move {
            let late = |_| format!("no connection was made in {} seconds", CONNECT_TIME_MAX.as_secs());
            let stream = timeout(CONNECT_TIME_MAX, connecting).await.map_err(late)??;
            Ok(ProviderStream { stream, is_proxied, uses: ConnectionUse::default() })
        })
    }
}

impl Connection for ProviderStream {
    fn connected(&self) -> Connected {
        self.stream.connected().proxy(self.is_proxied).extra(self.uses.clone())
    }
}

impl Read for ProviderStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl Write for ProviderStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, pieces)
    }
}
