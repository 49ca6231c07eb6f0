//! The way to the providers.

use crate::fault::{Fault, told};
use crate::headers;
use crate::settings::Upstream;
use axum::body::Body;
use axum::http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use axum::http::request::Parts;
use axum::response::Response;
use reqwest::redirect::Policy;
use reqwest::{Client, Method, Url};
use std::time::Duration;

/// A connection that is not made by then will not be made.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(20);
/// Providers send pings while a model thinks; one that says nothing for so long has gone away.
const SILENCE_TIME_MAX: Duration = Duration::from_secs(600);

/// Whoever asks whether the server is ready waits no longer: monitoring systems take a slow answer for none.
const REACH_TIME_MAX: Duration = Duration::from_secs(2);

/// Connections to the providers, shared by all requests.
#[derive(Clone)]
pub(crate) struct Outward(Client);

impl Outward {
    /// Ready to connect. Replies are passed on as they come: packed ones stay packed, and a redirect is the
    /// client's to follow, since it may lead where its key must not go.
    pub(crate) fn new() -> Result<Self, reqwest::Error> {
        let client = Client::builder()
            .no_gzip()
            .redirect(Policy::none())
            .connect_timeout(CONNECT_TIME_MAX)
            .read_timeout(SILENCE_TIME_MAX)
            .build()?;
        Ok(Self(client))
    }

    /// Whether anybody answers there, whatever they say.
    pub(crate) async fn reach(&self, to: &Upstream) -> Result<(), Fault> {
        let asked = self.0.request(Method::HEAD, to.join("/", None)).timeout(REACH_TIME_MAX).send().await;
        asked.map(drop).map_err(|error| unreachable(to, error))
    }

    /// Sends a body of ours in the place of the client's.
    pub(crate) async fn send(
        &self,
        to: &Upstream,
        path: &Path<'_>,
        body: bytes::Bytes,
    ) -> Result<reqwest::Response, Fault> {
        let request =
            self.0.request(Method::POST, path.url(to)).headers(headers::to_upstream_readable(path.headers));
        request.body(body).send().await.map_err(|error| unreachable(to, error))
    }

    /// Passes a request on as it comes, and its reply back as it comes.
    pub(crate) async fn pass(
        &self,
        to: &Upstream,
        url: Url,
        parts: &Parts,
        body: Body,
    ) -> Result<Response, Fault> {
        let mut headers = headers::to_upstream(&parts.headers);
        let length = parts.headers.get(CONTENT_LENGTH);
        headers.extend(length.map(|length| (CONTENT_LENGTH, length.clone())));
        let mut request = self.0.request(parts.method.clone(), url).headers(headers);
        if length.is_some() || parts.headers.contains_key(TRANSFER_ENCODING) {
            request = request.body(reqwest::Body::wrap_stream(body.into_data_stream()));
        }
        let reply = request.send().await.map_err(|error| unreachable(to, error))?;
        let (status, headers) = (reply.status(), headers::passed_on(reply.headers()));
        let mut response = Response::new(Body::from_stream(reply.bytes_stream()));
        (*response.status_mut(), *response.headers_mut()) = (status, headers);
        Ok(response)
    }
}

/// Where a request is to go, and with which headers.
pub(crate) struct Path<'r> {
    /// Its path there.
    pub(crate) path: &'r str,
    /// Its query.
    pub(crate) query: Option<&'r str>,
    /// The headers it came with.
    pub(crate) headers: &'r axum::http::HeaderMap,
}

impl Path<'_> {
    fn url(&self, to: &Upstream) -> Url {
        to.join(self.path, self.query)
    }
}

fn unreachable(to: &Upstream, error: reqwest::Error) -> Fault {
    Fault::Unreachable { upstream: to.to_string(), why: told(&error.without_url()) }
}
