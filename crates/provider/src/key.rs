//! Keys: read from the environment, sent to the provider, shown to nobody.

use reqwest::header::HeaderValue;
use std::fmt;

/// What a provider knows us by. Neither `Debug` nor any error shows it.
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

    /// A text without the key: providers have been seen to repeat it in errors.
    pub(crate) fn hide_in(&self, text: &str) -> String {
        if self.0.len() < HIDDEN_BYTES_MIN { text.to_owned() } else { text.replace(&self.0, "[key]") }
    }
}

#[cfg(test)]
mod tests {
    use super::ApiKey;

    #[test]
    fn a_key_is_never_shown() {
        let key = ApiKey::new(" sk-secret-1 ").expect("it is a key");
        assert_eq!(format!("{key:?} {:?}", key.header("Bearer ")), "ApiKey(…) Sensitive");
        assert_eq!(key.hide_in("bad key sk-secret-1, sorry"), "bad key [key], sorry");
        assert!(ApiKey::new(" ").is_none() && ApiKey::new("two\nlines").is_none());
    }
}
