//! The token that the API and the metrics ask for, where the operator has set one: every user of a machine reaches its ports, and through
//! the API conversations of all clients can be read, compacted and undone. Conversations themselves bring their providers' keys and no token.

use crate::server_state::ServerState;
use axum::Json;
use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde_json::json;
use std::sync::Arc;

/// A shorter one could be tried out, by a program that does nothing else.
const CHARS_MIN: usize = 16;

/// What whoever asks must know. The token itself is not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApiToken(blake3::Hash);

/// A text that is no token.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApiTokenError {
    /// It would be found out.
    #[error(
        "a token of {0} characters is too short; take {CHARS_MIN} or more, such as what `openssl rand -hex 24` prints"
    )]
    Short(usize),
    /// No header can hold it.
    #[error("a token is of letters, digits and signs alone, without spaces")]
    Unprintable,
}

impl ApiToken {
    /// The token that is this text.
    pub fn new(text: &str) -> Result<Self, ApiTokenError> {
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(ApiTokenError::Unprintable);
        }
        match text.len() {
            short if short < CHARS_MIN => Err(ApiTokenError::Short(short)),
            _ => Ok(Self(blake3::hash(text.as_bytes()))),
        }
    }

    /// Whether these headers bring it.
    fn is_in(self, headers: &HeaderMap) -> bool {
        let given = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()?.split_once(' '));
        let given = given.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        // Hashes are compared in a time that tells nothing of where they differ.
        given.is_some_and(|(_, token)| blake3::hash(token.trim().as_bytes()) == self.0)
    }
}

/// Lets requests through that bring the token, and all of them where there is none.
pub(crate) async fn check(State(state): State<Arc<ServerState>>, request: Request, next: Next) -> Response {
    if state.settings.api_token.is_none_or(|token| token.is_in(request.headers())) {
        return next.run(request).await;
    }
    let why = "this server's API asks for a token: send `Authorization: Bearer TOKEN` with the one its operator has set (EPITOME_API_TOKEN)";
    let mut response = (StatusCode::UNAUTHORIZED, Json(json!({"error": why}))).into_response();
    response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    response
}

#[cfg(test)]
mod tests {
    use super::{ApiToken, ApiTokenError};
    use axum::http::header::AUTHORIZATION;
    use axum::http::{HeaderMap, HeaderValue};

    #[test]
    fn a_token_is_known_again_and_nothing_else_is_it() {
        let token = ApiToken::new("0123456789abcdef").expect("it is long enough");
        let is_known = |header: &'static str| {
            token.is_in(&HeaderMap::from_iter([(AUTHORIZATION, HeaderValue::from_static(header))]))
        };
        let headers = [
            "Bearer 0123456789abcdef",
            "bearer  0123456789abcdef",
            "Bearer 0123456789abcdeF",
            "Bearer ",
            "Basic 0123456789abcdef",
            "0123456789abcdef",
        ];
        assert_eq!(headers.map(is_known), [true, true, false, false, false, false]);
        assert!(!token.is_in(&HeaderMap::new()));
    }

    #[test]
    fn what_could_be_guessed_or_not_sent_is_no_token() {
        assert_eq!(ApiToken::new("secret"), Err(ApiTokenError::Short(6)));
        assert_eq!(ApiToken::new("0123456789 abcdef"), Err(ApiTokenError::Unprintable));
        assert_eq!(ApiToken::new("0123456789abcdéf"), Err(ApiTokenError::Unprintable));
    }
}
