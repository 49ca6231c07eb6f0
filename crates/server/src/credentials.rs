//! Whose a credential is, by how it begins, and whose a public host is. A credential is sent to no public host but its own: an
//! agent that is pointed at the wrong provider must not hand over its key. Hosts that nobody knows are the operator's own, and take
//! what they are given.

use crate::fault::Fault;
use crate::headers;
use crate::settings::Upstream;
use axum::http::HeaderMap;

/// A company whose keys and hosts can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeyOwner {
    Anthropic,
    Openai,
    Google,
    Amazon,
    Microsoft,
}

/// How keys begin, in whichever header.
const KEYS: [(&str, KeyOwner); 6] = [
    ("sk-ant-", KeyOwner::Anthropic),
    ("sk-proj-", KeyOwner::Openai),
    ("sk-svcacct-", KeyOwner::Openai),
    ("sk-admin-", KeyOwner::Openai),
    ("ya29.", KeyOwner::Google),
    ("AWS4-", KeyOwner::Amazon),
];

/// Domains that are one company's.
const DOMAINS: [(&str, KeyOwner); 6] = [
    ("anthropic.com", KeyOwner::Anthropic),
    ("openai.com", KeyOwner::Openai),
    ("chatgpt.com", KeyOwner::Openai),
    ("googleapis.com", KeyOwner::Google),
    ("amazonaws.com", KeyOwner::Amazon),
    ("azure.com", KeyOwner::Microsoft),
];

impl KeyOwner {
    const fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "Anthropic",
            Self::Openai => "OpenAI",
            Self::Google => "Google",
            Self::Amazon => "Amazon",
            Self::Microsoft => "Microsoft",
        }
    }

    /// Whose host it is; none where it is nobody's we know.
    fn of_host(host: &str) -> Option<Self> {
        let is_of = |domain: &str| {
            let before = host.len().checked_sub(domain.len()).filter(|at| host.is_char_boundary(*at));
            before.is_some_and(|at| {
                host[at..].eq_ignore_ascii_case(domain) && (at == 0 || host[..at].ends_with('.'))
            })
        };
        DOMAINS.into_iter().find(|(domain, _)| is_of(domain)).map(|(_, owner)| owner)
    }

    /// Whose keys are among these headers.
    fn of_headers(headers: &HeaderMap) -> Vec<Self> {
        let owner = |(_, value): (String, String)| {
            // The scheme of an `authorization` stands in front of its token; Amazon's is the scheme itself.
            let words: Vec<&str> = value.split_ascii_whitespace().take(2).collect();
            let begins = |key: &str| words.iter().any(|word| word.starts_with(key));
            KEYS.into_iter().find(|(key, _)| begins(key)).map(|(_, owner)| owner)
        };
        headers::credentials(headers).into_iter().filter_map(owner).collect()
    }
}

/// Whether a host is a company's public one.
pub(crate) fn is_public(upstream: &Upstream) -> bool {
    KeyOwner::of_host(upstream.host()).is_some()
}

/// Whether a host is one of Anthropic's own.
pub(crate) fn is_anthropic(upstream: &Upstream) -> bool {
    KeyOwner::of_host(upstream.host()) == Some(KeyOwner::Anthropic)
}

/// Whether a host is one of OpenAI's own, which has no path but OpenAI's.
pub(crate) fn is_openai(upstream: &Upstream) -> bool {
    KeyOwner::of_host(upstream.host()) == Some(KeyOwner::Openai)
}

/// Whether a host is Azure's.
pub(crate) fn is_azure(upstream: &Upstream) -> bool {
    KeyOwner::of_host(upstream.host()) == Some(KeyOwner::Microsoft)
}

/// Whether one of the credentials is Anthropic's.
pub(crate) fn has_anthropic_key(headers: &HeaderMap) -> bool {
    KeyOwner::of_headers(headers).contains(&KeyOwner::Anthropic)
}

/// Refuses to send a credential to another company's public host.
pub(crate) fn check(headers: &HeaderMap, upstream: &Upstream) -> Result<(), Fault> {
    let Some(host) = KeyOwner::of_host(upstream.host()) else { return Ok(()) };
    match KeyOwner::of_headers(headers).into_iter().find(|owner| *owner != host) {
        Some(owner) => Err(Fault::ForeignKey { owner: owner.name(), upstream: upstream.to_string() }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::check;
    use axum::http::{HeaderMap, HeaderName, HeaderValue};

    fn is_sent(to: &str, name: &'static str, value: &'static str) -> bool {
        let headers =
            HeaderMap::from_iter([(HeaderName::from_static(name), HeaderValue::from_static(value))]);
        check(&headers, &to.parse().expect("a base URL")).is_ok()
    }

    #[test]
    fn a_key_goes_to_its_own_public_host_and_to_whoever_is_nobody_we_know() {
        let (anthropic, openai) = ("https://api.anthropic.com", "https://api.openai.com");
        let sent = [
            is_sent(anthropic, "x-api-key", "sk-ant-api03-x"),
            is_sent(anthropic, "authorization", "Bearer sk-ant-oat01-x"),
            is_sent(openai, "authorization", "Bearer sk-proj-x"),
            is_sent(openai, "authorization", "Bearer sk-x"),
            is_sent("https://eu.api.openai.com", "authorization", "Bearer sk-proj-x"),
            is_sent("https://x.googleapis.com", "authorization", "Bearer ya29.x"),
            is_sent("https://gateway.example/openai.com", "authorization", "Bearer sk-ant-x"),
            is_sent("https://notopenai.com", "authorization", "Bearer sk-ant-x"),
            is_sent("http://127.0.0.1:8000", "x-api-key", "sk-ant-x"),
        ];
        assert_eq!(sent, [true; 9]);
        let kept = [
            is_sent(openai, "authorization", "Bearer sk-ant-x"),
            is_sent(openai, "x-api-key", "sk-ant-x"),
            is_sent("https://API.OpenAI.com", "authorization", "bearer sk-ant-x"),
            is_sent(openai, "authorization", "Bearer ya29.x"),
            is_sent(openai, "authorization", "AWS4-HMAC-SHA256 Credential=x"),
            is_sent(anthropic, "authorization", "Bearer sk-proj-x"),
            is_sent("https://x.openai.azure.com", "api-key", "sk-ant-x"),
        ];
        assert_eq!(kept, [false; 7]);
    }
}
