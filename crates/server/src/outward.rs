//! The way to the providers. Connections are kept and used again. One that its provider has closed meanwhile fails what is sent over it
//! before a byte of the reply comes, and the client can do nothing about that: such a request goes once more, over a connection of
//! its own.

use crate::fault::{Fault, told};
use crate::headers;
use crate::hop::HopId;
use crate::settings::Upstream;
use axum::body::Body;
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use axum::http::request::Parts;
use axum::response::Response;
use bytes::Bytes;
use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder, Method, Request};
use std::collections::{HashMap, HashSet};
use std::error::Error;
use std::io::{self, ErrorKind};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::runtime::{Handle, Id as RuntimeId};

/// A connection that is not made by then will not be made.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(20);

/// Whoever asks whether the server is ready waits no longer: monitoring systems take a slow answer for none.
const REACH_TIME_MAX: Duration = Duration::from_secs(2);

/// Connections to the providers, shared by all requests.
pub(crate) struct Outward {
    /// Connections that are used again, each by the runtime that drives it: over another's a request would have that one's thread
    /// woken to be sent, and its own to hear the reply.
    kept: Mutex<HashMap<RuntimeId, Client>>,
    /// Makes a connection for each request, and keeps none.
    fresh: Client,
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

impl Outward {
    /// Ready to connect. Replies are passed on as they come: packed ones stay packed, and a redirect is the
    /// client's to follow, since it may lead where its key must not go.
    pub(crate) fn new(silence_max: Duration) -> Result<Self, reqwest::Error> {
        let fresh = client_of(silence_max).pool_max_idle_per_host(0).build()?;
        Ok(Self { kept: Mutex::default(), fresh, silence_max, answered: Mutex::default(), hop: HopId::new() })
    }

    /// The connections that this runtime drives.
    fn kept(&self) -> Client {
        let runtime = Handle::current().id();
        let known = self.clients().get(&runtime).cloned();
        // Made with nobody waiting for it, which takes a while: it reads the system's certificates.
        known.unwrap_or_else(|| {
            // One of the same kind could be made before; where this one cannot, each request has a connection of its own.
            let made = client_of(self.silence_max).build().unwrap_or_else(|_| self.fresh.clone());
            self.clients().entry(runtime).or_insert(made).clone()
        })
    }

    fn clients(&self) -> MutexGuard<'_, HashMap<RuntimeId, Client>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Refuses what this server itself has sent.
    pub(crate) fn check_loop(&self, headers: &HeaderMap, to: &Upstream) -> Result<(), Fault> {
        self.hop.check(headers, to)
    }

    /// Whether anybody answers there, whatever they say.
    pub(crate) async fn reach(&self, to: &Upstream) -> Result<(), Fault> {
        let asked = self.fresh.request(Method::HEAD, to.join("/", None)).timeout(REACH_TIME_MAX).send().await;
        asked.map(drop).map_err(|error| unreachable(to, error))
    }

    /// Sends a body of ours in the place of the client's.
    pub(crate) async fn send(
        &self,
        to: &Upstream,
        path: &Path<'_>,
        body: Bytes,
    ) -> Result<reqwest::Response, Fault> {
        let mut headers = headers::to_upstream_readable(path.headers);
        path.beta.into_iter().for_each(|beta| headers::ask_for_beta(&mut headers, beta));
        self.hop.mark(&mut headers, to);
        let mut request = Request::new(Method::POST, to.join(path.path, path.query));
        *request.headers_mut() = headers;
        *request.body_mut() = Some(body.into());
        self.deliver(&self.kept(), to, request).await
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
        let mut request = Request::new(parts.method.clone(), to.join(path, parts.uri.query()));
        *request.headers_mut() = headers;
        if length.is_some() || parts.headers.contains_key(TRANSFER_ENCODING) {
            *request.body_mut() = Some(match body {
                PassedBody::Whole(bytes) => bytes.into(),
                PassedBody::Stream(body) => reqwest::Body::wrap_stream(body.into_data_stream()),
            });
        }
        let reply = self.deliver(&self.kept(), to, request).await?;
        let (status, headers) = (reply.status(), headers::passed_on(reply.headers()));
        let mut response = Response::new(Body::from_stream(reply.bytes_stream()));
        (*response.status_mut(), *response.headers_mut()) = (status, headers);
        Ok(response)
    }

    async fn deliver(
        &self,
        kept: &Client,
        to: &Upstream,
        request: Request,
    ) -> Result<reqwest::Response, Fault> {
        let failed = |error| unreachable(to, error);
        let again = request.try_clone();
        let error = match kept.execute(request).await {
            Ok(reply) => {
                self.note_answered(to);
                return Ok(reply);
            }
            Err(error) => error,
        };
        let may_be_kept = is_closed_early(&error) && self.answered().contains(to);
        let Some(again) = again.filter(|_| may_be_kept) else { return Err(failed(error)) };
        let replied = self.fresh.execute(again).await;
        if replied.is_err() {
            // It is the provider that fails, and not what was kept of it.
            self.answered().remove(to);
        }
        replied.map_err(failed)
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

fn client_of(silence_max: Duration) -> ClientBuilder {
    Client::builder()
        .no_gzip()
        .redirect(Policy::none())
        .connect_timeout(CONNECT_TIME_MAX)
        .read_timeout(silence_max)
}

/// Whether a connection was closed before a byte of the reply came, and not for want of time.
fn is_closed_early(error: &reqwest::Error) -> bool {
    if error.is_connect() || error.is_timeout() {
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

fn unreachable(to: &Upstream, error: reqwest::Error) -> Fault {
    Fault::Unreachable { upstream: to.to_string(), why: told(&error.without_url()) }
}

#[cfg(test)]
mod tests {
    use super::{Outward, Path};
    use crate::settings::{SILENCE_TIME_MAX, Upstream};
    use axum::Router;
    use axum::extract::ConnectInfo;
    use axum::http::HeaderMap;
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
        reply.bytes().await.expect("all of it comes");
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
