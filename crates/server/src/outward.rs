//! The way to the providers. Connections are kept and used again. One that its provider has closed meanwhile fails what is sent over it
//! before a byte of the reply comes, and the client can do nothing about that: such a request goes once more, over a connection of
//! its own.

mod connector;
mod reply_bytes;

pub(crate) use reply_bytes::{ReplyBytes, ReplyError};

use self::connector::ProviderConnector;
use crate::fault::{Fault, told};
use crate::headers;
use crate::hop::HopId;
use crate::settings::Upstream;
use axum::body::Body;
use axum::http::header::{CONTENT_LENGTH, PROXY_AUTHORIZATION, TRANSFER_ENCODING};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, Request};
use axum::response::Response;
use bytes::Bytes;
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use std::collections::{HashMap, HashSet};
use std::error::Error;
use std::io::{self, ErrorKind};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::runtime::{Handle, Id as RuntimeId};
use tokio::time::timeout;

/// Whoever asks whether the server is ready waits no longer: monitoring systems take a slow answer for none.
const REACH_TIME_MAX: Duration = Duration::from_secs(2);

/// So long a connection is kept that nobody uses: longer than most providers do.
const IDLE_TIME_MAX: Duration = Duration::from_secs(90);

type ProviderClient = Client<ProviderConnector, Body>;

/// A provider's reply, as far as its headers.
pub(crate) type ProviderReply = axum::http::Response<ReplyBytes>;

/// Connections to the providers, shared by all requests.
pub(crate) struct Outward {
    connector: ProviderConnector,
    /// Connections that are used again, each by the runtime that drives it: over another's a request would have that one's thread
    /// woken to be sent, and its own to hear the reply.
    kept: Mutex<HashMap<RuntimeId, ProviderClient>>,
    /// Makes a connection for each request, and keeps none.
    fresh: ProviderClient,
    silence_max: Duration,
    /// Upstreams that have answered since a new connection to them failed: of those a connection may be kept.
    answered: Mutex<HashSet<Upstream>>,
    hop: HopId,
}

/// A body that passes through.
pub(crate) enum PassedBody {
    /// Held whole, and can be sent again.
    Whole(Bytes),
    /// On its way.
    Stream(Body),
}

impl From<PassedBody> for Body {
    fn from(body: PassedBody) -> Self {
        match body {
            PassedBody::Whole(bytes) => bytes.into(),
            PassedBody::Stream(body) => body,
        }
    }
}

impl Outward {
    /// Ready to connect, which reads the certificates that the system trusts. Replies are passed on as they come: packed ones stay
    /// packed, and a redirect is the client's to follow, since it may lead where its key must not go.
    pub(crate) fn new(silence_max: Duration) -> Result<Self, rustls::Error> {
        let connector = ProviderConnector::from_env()?;
        let fresh = Client::builder(TokioExecutor::new()).pool_max_idle_per_host(0).build(connector.clone());
        let (kept, answered, hop) = (Mutex::default(), Mutex::default(), HopId::new());
        Ok(Self { connector, kept, fresh, silence_max, answered, hop })
    }

    /// The connections that this runtime drives.
    fn kept(&self) -> ProviderClient {
        let mut clients = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let made = || {
            let mut builder = Client::builder(TokioExecutor::new());
            builder.pool_timer(TokioTimer::new()).pool_idle_timeout(IDLE_TIME_MAX);
            builder.build(self.connector.clone())
        };
        clients.entry(Handle::current().id()).or_insert_with(made).clone()
    }

    /// Refuses what this server itself has sent.
    pub(crate) fn check_loop(&self, headers: &HeaderMap, to: &Upstream) -> Result<(), Fault> {
        self.hop.check(headers, to)
    }

    /// Whether anybody answers there, whatever they say.
    pub(crate) async fn reach(&self, to: &Upstream) -> Result<(), Fault> {
        let request =
            self.request(to.join("/", None).as_str(), Method::HEAD, HeaderMap::new(), Body::empty());
        let asked = async { Ok(self.fresh.request(request?).await?) };
        let asked = timeout(REACH_TIME_MAX, asked).await;
        let asked = asked.unwrap_or(Err(ReplyError::Silent(REACH_TIME_MAX)));
        asked.map(drop).map_err(|error| unreachable(to, &error))
    }

    /// Sends a body of ours in the place of the client's.
    pub(crate) async fn send(
        &self,
        to: &Upstream,
        path: &Path<'_>,
        body: Bytes,
    ) -> Result<ProviderReply, Fault> {
        let mut headers = headers::to_upstream_readable(path.headers);
        path.beta.into_iter().for_each(|beta| headers::ask_for_beta(&mut headers, beta));
        self.hop.mark(&mut headers, to);
        let url = to.join(path.path, path.query);
        self.deliver(to, url.as_str(), (Method::POST, headers), PassedBody::Whole(body)).await
    }

    /// Passes a request on as it comes, and its reply back as it comes.
    pub(crate) async fn pass(
        &self,
        to: &Upstream,
        path: &str,
        parts: &Parts,
        body: PassedBody,
    ) -> Result<Response, Fault> {
        let mut headers = headers::to_upstream(&parts.headers);
        let length = parts.headers.get(CONTENT_LENGTH);
        headers.extend(length.map(|length| (CONTENT_LENGTH, length.clone())));
        self.hop.mark(&mut headers, to);
        let url = to.join(path, parts.uri.query());
        let has_body = length.is_some() || parts.headers.contains_key(TRANSFER_ENCODING);
        let body = if has_body { body } else { PassedBody::Whole(Bytes::new()) };
        let reply = self.deliver(to, url.as_str(), (parts.method.clone(), headers), body).await?;
        let (status, headers) = (reply.status(), headers::passed_on(reply.headers()));
        let mut response = Response::new(Body::from_stream(reply.into_body()));
        (*response.status_mut(), *response.headers_mut()) = (status, headers);
        Ok(response)
    }

    fn request(
        &self,
        url: &str,
        method: Method,
        headers: HeaderMap,
        body: Body,
    ) -> Result<Request<Body>, ReplyError> {
        let mut request = Request::new(body);
        (*request.method_mut(), *request.uri_mut(), *request.headers_mut()) = (method, url.parse()?, headers);
        if let Some(authorization) = self.connector.proxy_authorization(request.uri()) {
            request.headers_mut().entry(PROXY_AUTHORIZATION).or_insert(authorization);
        }
        Ok(request)
    }

    async fn deliver(
        &self,
        to: &Upstream,
        url: &str,
        (method, headers): (Method, HeaderMap),
        body: PassedBody,
    ) -> Result<ProviderReply, Fault> {
        let failed = |error: ReplyError| unreachable(to, &error);
        let again = match &body {
            PassedBody::Whole(bytes) => Some((method.clone(), headers.clone(), bytes.clone())),
            PassedBody::Stream(_) => None,
        };
        let request = self.request(url, method, headers, body.into()).map_err(failed)?;
        let error = match self.ask(&self.kept(), request).await {
            Ok(reply) => {
                self.note_answered(to);
                return Ok(reply);
            }
            Err(error) => error,
        };
        let may_be_kept = is_closed_early(&error) && self.answered().contains(to);
        let Some((method, headers, bytes)) = again.filter(|_| may_be_kept) else { return Err(failed(error)) };
        let request = self.request(url, method, headers, bytes.into()).map_err(failed)?;
        let replied = self.ask(&self.fresh, request).await;
        if replied.is_err() {
            // It is the provider that fails, and not what was kept of it.
            self.answered().remove(to);
        }
        replied.map_err(failed)
    }

    async fn ask(
        &self,
        client: &ProviderClient,
        request: Request<Body>,
    ) -> Result<ProviderReply, ReplyError> {
        let replied = timeout(self.silence_max, client.request(request)).await;
        let reply = replied.map_err(|_| ReplyError::Silent(self.silence_max))??;
        Ok(reply.map(|body| ReplyBytes::new(body, self.silence_max)))
    }

    fn note_answered(&self, to: &Upstream) {
        let mut answered = self.answered();
        if !answered.contains(to) {
            answered.insert(to.clone());
        }
    }

    fn answered(&self) -> MutexGuard<'_, HashSet<Upstream>> {
        self.answered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a connection was closed before a byte of the reply came, and not for want of time.
fn is_closed_early(error: &ReplyError) -> bool {
    let ReplyError::Client(error) = error else { return false };
    if error.is_connect() {
        return false;
    }
    let mut cause = error.source();
    while let Some(error) = cause {
        let by_protocol = error.downcast_ref::<hyper::Error>();
        if by_protocol.is_some_and(|error| error.is_incomplete_message() || error.is_canceled()) {
            return true;
        }
        let by_system = error.downcast_ref::<io::Error>().map(io::Error::kind);
        if matches!(
            by_system,
            Some(ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted | ErrorKind::BrokenPipe)
        ) {
            return true;
        }
        cause = error.source();
    }
    false
}

/// Where a request is to go, and with which headers.
pub(crate) struct Path<'r> {
    /// Its path there.
    pub(crate) path: &'r str,
    /// Its query.
    pub(crate) query: Option<&'r str>,
    /// The headers it came with.
    pub(crate) headers: &'r HeaderMap,
    /// A feature of Anthropic's API that we ask for beside those its client does.
    pub(crate) beta: Option<&'static str>,
}

/// What is told of a provider that could not be heard.
pub(crate) fn unreachable(to: &Upstream, error: &ReplyError) -> Fault {
    Fault::Unreachable { upstream: to.to_string(), why: told(error) }
}

#[cfg(test)]
mod tests {
    use super::{Outward, Path};
    use crate::settings::{SILENCE_TIME_MAX, Upstream};
    use axum::Router;
    use axum::extract::ConnectInfo;
    use axum::http::HeaderMap;
    use futures_util::TryStreamExt as _;
    use std::collections::HashSet;
    use std::net::SocketAddr;
    use std::sync::{Arc, Mutex};
    use tokio::net::TcpListener;
    use tokio::runtime::Builder;

    /// A provider, and the addresses that its connections come from.
    async fn provider() -> (Upstream, Arc<Mutex<HashSet<SocketAddr>>>) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let to = format!("http://{}", listener.local_addr().expect("it listens"));
        let seen = Arc::new(Mutex::new(HashSet::new()));
        let note = {
            let seen = seen.clone();
            async move |ConnectInfo(from): ConnectInfo<SocketAddr>| {
                seen.lock().expect("nobody panics").insert(from);
            }
        };
        let router = Router::new().fallback(note).into_make_service_with_connect_info::<SocketAddr>();
        tokio::spawn(axum::serve(listener, router).into_future());
        (to.parse().expect("a base URL"), seen)
    }

    /// As often each runtime sends.
    const SENDS: usize = 20;

    async fn send(outward: &Outward, to: &Upstream) {
        let path = Path { path: "/v1/models", query: None, headers: &HeaderMap::new(), beta: None };
        let reply = outward.send(to, &path, "{}".into()).await.expect("somebody answers");
        reply.into_body().try_collect::<Vec<_>>().await.expect("all of it comes");
    }

    #[test]
    fn a_connection_is_used_again_by_the_runtime_that_drives_it_and_by_no_other() {
        let runtime =
            || Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
        let (own, others) = ([runtime(), runtime()], runtime());
        let (to, seen) = others.block_on(provider());
        let outward = Outward::new(SILENCE_TIME_MAX).expect("a client can be made");
        let mut before = HashSet::new();
        for runtime in &own {
            (0..SENDS).for_each(|_| runtime.block_on(send(&outward, &to)));
            let used = std::mem::take(&mut *seen.lock().expect("nobody panics"));
            // Whoever sends before the connection is known to be free has another made.
            assert!(used.len() < SENDS, "each send has made a connection");
            assert!(used.is_disjoint(&before), "it was sent over another's");
            before = used;
        }
    }
}
