//! Who may ask: programs on this machine. A page in a browser can make the browser ask for it, under a name
//! that leads to this machine; such requests carry a foreign host or origin, and are refused.

use crate::fault::Fault;
use axum::Json;
use axum::extract::Request;
use axum::http::header::{CONNECTION, HOST, ORIGIN, UPGRADE};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use epitome_wire::Protocol;
use serde_json::json;
use std::net::{Ipv4Addr, Ipv6Addr};

/// Lets requests to this machine through.
pub(crate) async fn check(request: Request, next: Next) -> Response {
    match refusal(request.headers(), request.uri()) {
        Some(why) => (StatusCode::FORBIDDEN, Json(json!({"error": why}))).into_response(),
        None => next.run(request).await,
    }
}

/// Answers whoever wants a socket of their own at once: a reply from further on would come late, and mean something else.
pub(crate) async fn refuse_upgrade(request: Request, next: Next) -> Response {
    let is_socket = |value: &HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"websocket");
    if !request.headers().get_all(UPGRADE).iter().any(is_socket) {
        return next.run(request).await;
    }
    let mut response = Fault::Upgrade.response(Protocol::OpenaiResponses);
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

fn refusal(headers: &HeaderMap, uri: &Uri) -> Option<&'static str> {
    let host = headers
        .get(HOST)
        .and_then(|host| host.to_str().ok())
        .or_else(|| uri.authority().map(|all| all.as_str()));
    if !host.is_some_and(is_here) {
        return Some("the Host header names another machine; ask for localhost or 127.0.0.1");
    }
    let is_foreign = |origin: &str| !origin.split_once("://").is_some_and(|(_, host)| is_here(host));
    let origins = headers.get_all(ORIGIN).iter().map(|origin| origin.to_str().unwrap_or_default());
    let mut foreign = origins.filter(|origin| is_foreign(origin));
    foreign.next().map(|_| "the Origin header names another site; only pages of this machine may ask")
}

/// Whether a host, with or without a port, is this machine: by its name, or by an address we may listen on.
fn is_here(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|digit| digit.is_ascii_digit()) => name,
        Some(_) | None => host,
    };
    let v6 = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
    name.eq_ignore_ascii_case("localhost")
        || name.parse().is_ok_and(|address: Ipv4Addr| address.is_loopback())
        || v6.and_then(|name| name.parse().ok()).is_some_and(|address: Ipv6Addr| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::is_here;

    #[test]
    fn this_machine_has_few_names() {
        let here = ["localhost", "localhost:7117", "LOCALHOST:1", "127.0.0.1:7117", "[::1]:7117", "[::1]"];
        let elsewhere =
            ["", "evil.example", "evil.example:7117", "127.0.0.1.evil.example", "localhost.evil.example:1"];
        assert_eq!((here.map(is_here), elsewhere.map(is_here)), ([true; 6], [false; 5]));
    }

    #[test]
    fn every_address_that_can_be_listened_on_can_be_asked_for() {
        let hosts = ["127.0.0.2:7117", "127.1.2.3", "128.0.0.1:7117", "0.0.0.0", "[::2]:7117", "::1"];
        assert_eq!(hosts.map(is_here), [true, true, false, false, false, false]);
    }
}
