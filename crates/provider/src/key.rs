//! Credentials: keys read from the environment, or headers of somebody's own request; sent to the provider, shown to
//! nobody.

use epitome_wire::Protocol;
use reqwest::RequestBuilder;
use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};
use std::fmt;

/// What a provider knows a caller by. Neither `Debug` nor any error shows it.
#[derive(Clone, Debug)]
pub enum Credential {
    /// Nothing: a server of one's own may want none.
    Absent,
    /// A key, in the header that its protocol has for it.
    Key(ApiKey),
    /// The headers that a request came with, as they came.
    Headers(Vec<(HeaderName, ApiKey)>),
}

impl Credential {
    /// The headers of somebody's own request, by name and value; absent where none could be sent.
    pub fn of_request(headers: &[(String, String)]) -> Self {
        let sendable = |(name, value): &(String, String)| {
            Some((HeaderName::from_bytes(name.as_bytes()).ok()?, ApiKey::new(value)?))
        };
        let sendable: Vec<(HeaderName, ApiKey)> = headers.iter().filter_map(sendable).collect();
        if sendable.is_empty() { Self::Absent } else { Self::Headers(sendable) }
    }

    /// The request with it.
    pub(crate) fn sign(&self, request: RequestBuilder, protocol: Protocol) -> RequestBuilder {
        match (self, protocol) {
            (Self::Absent, _) => request,
            (Self::Key(key), Protocol::Anthropic) => request.header("x-api-key", key.header("")),
            (Self::Key(key), Protocol::OpenaiChat | Protocol::OpenaiResponses) => {
                request.header(AUTHORIZATION, key.header("Bearer "))
            }
            (Self::Headers(headers), _) => {
                let signed = |request: RequestBuilder, (name, key): &(HeaderName, ApiKey)| {
                    request.header(name, key.header(""))
                };
                headers.iter().fold(request, signed)
            }
        }
    }

    /// A text without it: providers have been seen to repeat it in errors.
    pub(crate) fn hide_in(&self, text: &str) -> String {
        match self {
            Self::Absent => text.to_owned(),
            Self::Key(key) => key.hide_in(text),
            Self::Headers(headers) => {
                headers.iter().fold(text.to_owned(), |text, (_, key)| key.hide_in(&text))
            }
        }
    }
}

/// A secret that can stand in a header. Neither `Debug` nor any error shows it.
#[derive(Clone)]
pub struct ApiKey(String);

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(…)")
    }
}

/// Shorter ones are placeholders such as `x`, and taking them out of a text would only garble it.
const HIDDEN_BYTES_MIN: usize = 6;

impl ApiKey {
    /// A key; none where the text is blank or could not stand in a header.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        let is_sendable = !text.is_empty() && HeaderValue::from_str(text).is_ok();
        is_sendable.then(|| Self(text.to_owned()))
    }

    /// The key as a header's value, behind `scheme`, marked so that nothing prints it.
    pub(crate) fn header(&self, scheme: &str) -> HeaderValue {
        let mut value = HeaderValue::from_str(&format!("{scheme}{}", self.0))
            .expect("it was tried when the key was made, and schemes are plain words");
        value.set_sensitive(true);
        value
    }

    /// A text without the key, which in a header of somebody's own stands behind its scheme.
    fn hide_in(&self, text: &str) -> String {
        let secret = self.0.rsplit(' ').next().unwrap_or(&self.0);
        if secret.len() < HIDDEN_BYTES_MIN { text.to_owned() } else { text.replace(secret, "[key]") }
    }
}

#[cfg(test)]
mod tests {
    use super::{ApiKey, Credential};

    #[test]
    fn a_key_is_never_shown() {
        let key = ApiKey::new(" sk-secret-1 ").expect("it is a key");
        assert_eq!(format!("{key:?} {:?}", key.header("Bearer ")), "ApiKey(…) Sensitive");
        assert_eq!(key.hide_in("bad key sk-secret-1, sorry"), "bad key [key], sorry");
        assert!(ApiKey::new(" ").is_none() && ApiKey::new("two\nlines").is_none());
    }

    #[test]
    fn the_headers_of_a_request_are_never_shown_either() {
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let own = Credential::of_request(&[
            header("authorization", "Bearer sk-secret-1"),
            header("x-api-key", "two\nlines"),
        ]);
        assert_eq!(format!("{own:?}"), "Headers([(\"authorization\", ApiKey(…))])");
        assert_eq!(own.hide_in("no key sk-secret-1 here"), "no key [key] here");
        let none = Credential::of_request(&[header("authorization", " ")]);
        assert!(matches!(none, Credential::Absent), "{none:?}");
    }
}
