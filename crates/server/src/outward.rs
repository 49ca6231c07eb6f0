//! The way to the providers. Connections are kept and used again. One that its provider has closed meanwhile fails what is sent over it
//! before a byte of the reply comes, and the client can do nothing about that: such a request goes once more, over a connection of
//! its own. What fails on a connection that was made for it may have been read and charged for, and does not.

mod connection_use;
mod connector;
mod gathered_pieces;
mod reply_bytes;

pub(crate) use reply_bytes::ReplyError;

use self::connection_use::ConnectionUse;
use self::connector::ProviderConnector;
use self::gathered_pieces::GatheredPieces;
use self::reply_bytes::ReplyBytes;
use crate::fault::{Fault, told};
use crate::headers;
use crate::hop::HopId;
use crate::settings::Upstream;
use axum::body::Body;
use axum::http::header::{CONTENT_LENGTH, PROXY_AUTHORIZATION, TRANSFER_ENCODING};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, Request, Uri};
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream::{BoxStream, StreamExt};
use h2::Reason;
use hyper_util::client::legacy::{Client, Error as ClientError};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use std::collections::HashMap;
use std::error::Error;
use std::io::{self, ErrorKind};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::runtime::{Handle, Id as RuntimeId};
use tokio::time::timeout;
use url::Url;

/// Whoever asks whether the server is ready waits no longer: monitoring systems take a slow answer for none.
const REACH_TIME_MAX: Duration = Duration::from_secs(2);

/// So long a connection is kept that nobody uses: agents' tools run for a minute between two calls. One that its provider closes before
/// costs nothing, where that is seen in time.
const IDLE_TIME_MAX: Duration = Duration::from_secs(90);

type ProviderClient = Client<ProviderConnector, Body>;

/// A provider's reply, as far as its headers, and its bytes as they come.
pub(crate) type ProviderReply = axum::http::Response<BoxStream<'static, Result<Bytes, ReplyError>>>;

/// Connections to the providers, shared by all requests.
pub(crate) struct Outward {
    connector: ProviderConnector,
    /// Connections that are used again, each by the runtime that drives it: over another's a request would have that one's thread
    /// woken to be sent, and its own to hear the reply.
    kept: Mutex<HashMap<RuntimeId, ProviderClient>>,
    /// Makes a connection for each request, and keeps none.
    fresh: ProviderClient,
    silence_max: Duration,
    hop: HopId,
}

/// A body that passes through.
pub(crate) enum PassedBody {
    /// Held whole, and can be sent again.
    Whole(Bytes),
    /// On its way.
    Stream(Body),
}

/// A request that can be sent, and sent again where its body is held whole.
struct ProviderRequest {
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: PassedBody,
}

impl ProviderRequest {
    /// The same once more, as long as none of its body has gone.
    fn copy(&self) -> Option<Self> {
        let PassedBody::Whole(bytes) = &self.body else { return None };
        let (method, uri, headers) = (self.method.clone(), self.uri.clone(), self.headers.clone());
        Some(Self { method, uri, headers, body: PassedBody::Whole(bytes.clone()) })
    }
}

impl From<ProviderRequest> for Request<Body> {
    fn from(request: ProviderRequest) -> Self {
        let ProviderRequest { method, uri, headers, body } = request;
        let mut made = Self::new(match body {
            PassedBody::Whole(bytes) => bytes.into(),
            // Without its trailers: whether they may travel nobody has looked.
            PassedBody::Stream(body) => Body::from_stream(body.into_data_stream()),
        });
        (*made.method_mut(), *made.uri_mut(), *made.headers_mut()) = (method, uri, headers);
        made
    }
}

impl Outward {
    /// Ready to connect, which reads the certificates that the system trusts. Replies are passed on as they come: packed ones stay
    /// packed, and a redirect is the client's to follow, since it may lead where its key must not go.
    pub(crate) fn new(silence_max: Duration) -> Result<Self, rustls::Error> {
        let connector = ProviderConnector::from_env()?;
        let fresh = Client::builder(TokioExecutor::new()).pool_max_idle_per_host(0).build(connector.clone());
        Ok(Self { connector, kept: Mutex::default(), fresh, silence_max, hop: HopId::new() })
    }

    /// The connections that this runtime drives.
    fn client_of_this_runtime(&self) -> ProviderClient {
        let mut clients = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let make_client = || {
            let mut builder = Client::builder(TokioExecutor::new());
            builder.pool_timer(TokioTimer::new()).pool_idle_timeout(IDLE_TIME_MAX);
            builder.build(self.connector.clone())
        };
        clients.entry(Handle::current().id()).or_insert_with(make_client).clone()
    }

    /// Refuses what this server itself has sent.
    pub(crate) fn check_loop(&self, headers: &HeaderMap, to: &Upstream) -> Result<(), Fault> {
        self.hop.check(headers, to)
    }

    /// Whether anybody answers there, whatever they say.
    pub(crate) async fn reach(&self, to: &Upstream) -> Result<(), Fault> {
        let body = PassedBody::Whole(Bytes::new());
        let request = self.make_request(to, Method::HEAD, &to.join("/", None), HeaderMap::new(), body)?;
        let asked = timeout(REACH_TIME_MAX, self.fresh.request(request.into())).await;
        let replied = asked.map_or(Err(ReplyError::Silent(REACH_TIME_MAX)), |asked| Ok(asked?));
        replied.map(drop).map_err(|error| fault_of(to, &error))
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
        let (url, body) = (to.join(path.path, path.query), PassedBody::Whole(body));
        self.deliver(to, self.make_request(to, Method::POST, &url, headers, body)?).await
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
        let request = self.make_request(to, parts.method.clone(), &url, headers, body)?;
        let reply = self.deliver(to, request).await?;
        let (status, headers) = (reply.status(), headers::passed_on(reply.headers()));
        let mut response = Response::new(Body::from_stream(reply.into_body()));
        (*response.status_mut(), *response.headers_mut()) = (status, headers);
        Ok(response)
    }

    fn make_request(
        &self,
        to: &Upstream,
        method: Method,
        url: &Url,
        mut headers: HeaderMap,
        body: PassedBody,
    ) -> Result<ProviderRequest, Fault> {
        let uri: Uri = url.as_str().parse().map_err(|error| fault_of(to, &ReplyError::Address(error)))?;
        if let Some(authorization) = self.connector.proxy_authorization(&uri) {
            headers.entry(PROXY_AUTHORIZATION).or_insert(authorization);
        }
        Ok(ProviderRequest { method, uri, headers, body })
    }

    async fn deliver(&self, to: &Upstream, request: ProviderRequest) -> Result<ProviderReply, Fault> {
        let again = request.copy();
        let error = match self.ask(&self.client_of_this_runtime(), request).await {
            Ok(reply) => return Ok(reply),
            Err(error) => error,
        };
        let Some(again) = again.filter(|_| is_unread(&error)) else { return Err(fault_of(to, &error)) };
        self.ask(&self.fresh, again).await.map_err(|error| fault_of(to, &error))
    }

    async fn ask(
        &self,
        client: &ProviderClient,
        request: ProviderRequest,
    ) -> Result<ProviderReply, ReplyError> {
        let replied = timeout(self.silence_max, client.request(request.into())).await;
        let reply = replied.map_err(|_| ReplyError::Silent(self.silence_max))??;
        ConnectionUse::note_answer(&reply);
        let is_stream = headers::is_stream(reply.headers());
        Ok(reply.map(|body| {
            let bytes = ReplyBytes::new(body, self.silence_max);
            if is_stream { GatheredPieces::new(bytes).boxed() } else { bytes.boxed() }
        }))
    }
}

/// Whether a request that failed was read by nobody, as far as can be told.
fn is_unread(error: &ReplyError) -> bool {
    let ReplyError::Client(error) = error else { return false };
    is_sent_back(error) || (is_closed_early(error) && ConnectionUse::is_of_kept(error))
}

/// Whether a provider said by HTTP/2 that it has not looked at a request: it closes the connection, or had too many.
fn is_sent_back(error: &ClientError) -> bool {
    let mut cause = error.source();
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<h2::Error>().filter(|error| error.is_remote()) {
            return (error.is_go_away() && error.reason() == Some(Reason::NO_ERROR))
                || (error.is_reset() && error.reason() == Some(Reason::REFUSED_STREAM));
        }
        cause = error.source();
    }
    false
}

/// Whether a connection was closed before a byte of the reply came, and not for want of time.
fn is_closed_early(error: &ClientError) -> bool {
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
fn fault_of(to: &Upstream, error: &ReplyError) -> Fault {
    let (upstream, why) = (to.to_string(), told(error));
    match error {
        ReplyError::Client(error) if error.is_connect() => Fault::Unreachable { upstream, why },
        ReplyError::Address(_) => Fault::Unreachable { upstream, why },
        ReplyError::Client(_) | ReplyError::BrokenOff(_) | ReplyError::Silent(_) => {
            Fault::Unanswered { upstream, why }
        }
    }
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
