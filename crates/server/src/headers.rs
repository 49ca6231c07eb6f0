//! Which headers travel, and whose request it is by them.

use axum::http::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, EXPECT, HOST,
    HeaderName, TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use axum::http::{HeaderMap, HeaderValue};
use epitome_wire::protocol::SUMMARY_HEADER;
use std::sync::Arc;

/// Headers that belong to one connection and not to what travels over it.
const HOP_BY_HOP: [HeaderName; 8] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-authenticate"),
    HeaderName::from_static("proxy-authorization"),
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// Where credentials are, and which account of theirs is meant.
const CREDENTIALS: [HeaderName; 5] = [
    AUTHORIZATION,
    HeaderName::from_static("x-api-key"),
    HeaderName::from_static("api-key"),
    HeaderName::from_static("openai-organization"),
    HeaderName::from_static("openai-project"),
];

/// By which a client says which of the operator's agents it is; nobody's business but ours.
const AGENT: HeaderName = HeaderName::from_static("x-epitome-agent");

/// By which a client asks for features of Anthropic's API that not everybody has.
const BETA: HeaderName = HeaderName::from_static("anthropic-beta");

/// By which one of us says that a request asks for a summary; nobody else's business either.
const SUMMARY: HeaderName = HeaderName::from_static(SUMMARY_HEADER);

/// How the tokens of an Anthropic subscription begin.
const SUBSCRIPTION_TOKEN: &str = "sk-ant-oat";

/// The headers to send on: all but those of the connection, which includes those it names itself.
pub(crate) fn passed_on(headers: &HeaderMap) -> HeaderMap {
    let mut passed = headers.clone();
    let named = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|all| all.split(','));
    for name in named.filter_map(|name| HeaderName::from_bytes(name.trim().as_bytes()).ok()) {
        passed.remove(name);
    }
    for name in &HOP_BY_HOP {
        passed.remove(name);
    }
    passed
}

/// The headers of a request to the provider.
pub(crate) fn to_upstream(headers: &HeaderMap) -> HeaderMap {
    let mut passed = passed_on(headers);
    passed.remove(HOST);
    // We have told the client to go on, and wait for nobody's word before we send the body.
    passed.remove(EXPECT);
    passed.remove(AGENT);
    passed.remove(SUMMARY);
    passed.remove(CONTENT_LENGTH);
    passed
}

/// The same for a request whose reply we read while it passes: packed bytes could not be.
pub(crate) fn to_upstream_readable(headers: &HeaderMap) -> HeaderMap {
    let mut passed = to_upstream(headers);
    passed.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    passed
}

/// The credentials of a request, in a fixed order.
pub(crate) fn credentials(headers: &HeaderMap) -> Vec<(String, String)> {
    let held = CREDENTIALS.into_iter().flat_map(|name| {
        let values =
            headers.get_all(&name).iter().map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
        values.map(move |value| (name.as_str().to_owned(), value)).collect::<Vec<_>>()
    });
    held.collect()
}

/// The features of Anthropic's API that a request asks for.
pub(crate) fn beta(headers: &HeaderMap) -> Option<Arc<str>> {
    let named: Vec<&str> = headers.get_all(BETA).iter().filter_map(|value| value.to_str().ok()).collect();
    (!named.is_empty()).then(|| named.join(",").into())
}

/// Asks for a feature of Anthropic's API, unless it is asked for already.
pub(crate) fn ask_for_beta(headers: &mut HeaderMap, feature: &'static str) {
    let named = beta(headers);
    let has_it = named.as_deref().is_some_and(|all| all.split(',').any(|one| one.trim() == feature));
    if has_it {
        return;
    }
    let all = named.map_or_else(|| feature.to_owned(), |named| format!("{named},{feature}"));
    if let Ok(all) = HeaderValue::from_str(&all) {
        headers.insert(BETA, all);
    }
}

/// The agent that a request says it is of.
pub(crate) fn agent(headers: &HeaderMap) -> Option<String> {
    headers.get(AGENT)?.to_str().ok().map(str::to_owned)
}

/// Whether a request is one of ours that asks for a summary.
pub(crate) fn is_summary_call(headers: &HeaderMap) -> bool {
    headers.contains_key(SUMMARY)
}

/// Why a body may not be read and changed: it is packed, or it is paid for by a subscription, whose terms say nothing of
/// programs between the client and the provider. None where it may.
pub(crate) fn why_not_ours(headers: &HeaderMap) -> Option<&'static str> {
    let is_subscription = |(_, value): &(String, String)| {
        let token = value.trim().rsplit(' ').next().unwrap_or_default();
        token
            .get(..SUBSCRIPTION_TOKEN.len())
            .is_some_and(|opening| opening.eq_ignore_ascii_case(SUBSCRIPTION_TOKEN))
    };
    let is_plain = |value: &HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"identity");
    if !headers.get_all(CONTENT_ENCODING).iter().all(is_plain) {
        return Some("the request's body is packed; have the client send it plain");
    }
    let is_paid = credentials(headers).iter().any(is_subscription);
    is_paid.then_some(
        "it is paid for by a subscription, whose terms say nothing of programs in between; use an API key, see docs/reference/proxy.md",
    )
}

/// Whether a reply is a stream of events.
pub(crate) fn is_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    kind.trim_start().to_ascii_lowercase().starts_with("text/event-stream")
}

/// How many bytes the body has, where the headers say so.
pub(crate) fn length(headers: &HeaderMap) -> Option<usize> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{to_upstream, why_not_ours};
    use axum::http::{HeaderMap, HeaderName, HeaderValue};

    fn headers(all: &[(&'static str, &'static str)]) -> HeaderMap {
        all.iter()
            .map(|&(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect()
    }

    #[test]
    fn headers_of_the_connection_stay_behind_and_all_others_travel() {
        let came = headers(&[
            ("host", "127.0.0.1:7117"),
            ("connection", "keep-alive, x-mine"),
            ("x-mine", "1"),
            ("transfer-encoding", "chunked"),
            ("content-length", "7"),
            ("x-epitome-agent", "reviewer"),
            ("anthropic-beta", "a,b"),
            ("x-api-key", "k"),
        ]);
        assert_eq!(to_upstream(&came), headers(&[("anthropic-beta", "a,b"), ("x-api-key", "k")]));
    }

    #[test]
    fn packed_bodies_and_subscriptions_are_left_alone() {
        let is_ours = |all: &[(&'static str, &'static str)]| why_not_ours(&headers(all)).is_none();
        assert!(is_ours(&[("authorization", "Bearer sk-1")]) && is_ours(&[]));
        assert!(
            !is_ours(&[("authorization", "Bearer sk-ant-oat01-x")])
                && !is_ours(&[("authorization", "bearer sk-ant-oat01-x")])
                && !is_ours(&[("x-api-key", "sk-ant-oat01-x")])
                && !is_ours(&[("content-encoding", "zstd")])
        );
    }
}
