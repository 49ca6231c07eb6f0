//! What a server is told at its start.

use crate::api_token::ApiToken;
use crate::notice::OperatorNotice;
use crate::rules::Rules;
use crate::upstream_route::UpstreamRoute;
use epitome_core::{KeptBodies, Tokens};
use epitome_engine::Clock;
use epitome_engine::store::Store;
use epitome_tokens::Catalog;
use epitome_wire::Protocol;
use std::collections::HashSet;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use url::Url;

/// Everything a server works by.
#[derive(Clone)]
pub struct ServerSettings {
    /// Where requests go.
    pub upstreams: Upstreams,
    /// How to compact.
    pub rules: Arc<dyn Rules>,
    /// The window of every model, where the operator says so; each model's own otherwise.
    pub window: Option<Tokens>,
    /// What is known of models.
    pub catalog: Arc<Catalog>,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// Who is told what happens.
    pub tell: Arc<dyn Fn(&OperatorNotice) + Send + Sync>,
    /// Where sessions are kept; in memory, for as long as the server runs, where nobody says.
    pub store: Option<ServerStore>,
    /// Whether requests go out as they came, and what would be done to them is told alone.
    pub is_observing: bool,
    /// How long a provider may say nothing before it is held to have gone away.
    pub silence_max: Duration,
    /// What whoever uses the API must know; nobody is asked where there is none.
    pub api_token: Option<ApiToken>,
}

/// Providers send pings while a model thinks; one that says nothing for so long has gone away.
pub const SILENCE_TIME_MAX: Duration = Duration::from_secs(600);

/// A store that outlives the server.
#[derive(Clone)]
pub struct ServerStore {
    /// The store.
    pub store: Arc<dyn Store>,
    /// The key of the hashes that lead to what is in it.
    pub key: [u8; 32],
    /// How much of what clients say it keeps.
    pub keep: KeptBodies,
}

/// The base URL of each provider: what stands in front of `/v1/…`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upstreams {
    /// For Anthropic Messages, and what goes with it.
    pub anthropic: Upstream,
    /// For everything of OpenAI's.
    pub openai: Upstream,
    /// For some of the requests, in front of these two; of several that fit, the one that says most.
    pub routes: Vec<UpstreamRoute>,
}

/// A base URL that requests can be sent to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Upstream(Url);

/// Settings that cannot be worked by.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ServerSettingsError {
    /// No address of a server.
    #[error("`{given}` is no base URL; write {example}")]
    Upstream {
        /// What was written.
        given: String,
        /// What may have been meant, or one that is right.
        example: String,
    },
    /// No rule of where requests go.
    #[error("`{given}` is no route; write azure=URL, bedrock=URL, vertex=URL, model:PREFIX=URL or /PATH=URL")]
    Route {
        /// What was written.
        given: String,
    },
    /// A name or password inside an address, where every line that names the address would show it.
    #[error("the base URL of {host} holds a name or password; take it out, and have the client send it")]
    Credentials {
        /// The host it is for.
        host: String,
    },
    /// An address others can reach.
    #[error(
        "{address} can be reached from other machines, and there are no access tokens yet; listen on 127.0.0.1 or [::1]"
    )]
    NotLoopback {
        /// The address asked for.
        address: SocketAddr,
    },
}

impl Default for Upstreams {
    /// The providers' public addresses.
    fn default() -> Self {
        let public = |url: &str| url.parse().expect("the public addresses are base URLs");
        let (anthropic, openai) = (public("https://api.anthropic.com"), public("https://api.openai.com"));
        Self { anthropic, openai, routes: Vec::new() }
    }
}

impl Upstreams {
    /// Each address once.
    pub(crate) fn all(&self) -> Vec<Upstream> {
        let mut all = vec![self.anthropic.clone(), self.openai.clone()];
        all.extend(self.routes.iter().map(|route| route.upstream.clone()));
        let mut seen = HashSet::new();
        all.retain(|upstream| seen.insert(upstream.to_string()));
        all
    }

    /// Where requests of a protocol go.
    pub(crate) fn of(&self, protocol: Protocol) -> &Upstream {
        match protocol {
            Protocol::Anthropic => &self.anthropic,
            Protocol::OpenaiChat | Protocol::OpenaiResponses => &self.openai,
        }
    }

    /// Where requests of a model go: where a route says so, else where its protocol's do.
    pub(crate) fn of_model(&self, protocol: Protocol, model: &str) -> &Upstream {
        self.route_of_model(model).unwrap_or_else(|| self.of(protocol))
    }
}

impl std::str::FromStr for Upstream {
    type Err = ServerSettingsError;
    fn from_str(text: &str) -> Result<Self, ServerSettingsError> {
        let refused = || ServerSettingsError::Upstream { given: text.to_owned(), example: example(text) };
        let url: Url = text.parse().map_err(|_| refused())?;
        let is_base =
            matches!(url.scheme(), "http" | "https") && url.query().is_none() && url.fragment().is_none();
        if !url.username().is_empty() || url.password().is_some() {
            return Err(ServerSettingsError::Credentials {
                host: url.host_str().unwrap_or_default().to_owned(),
            });
        }
        is_base.then_some(Self(url)).ok_or_else(refused)
    }
}

/// What whoever wrote this may have meant: a host needs its scheme. One on this machine has no certificate.
fn example(text: &str) -> String {
    let is_local = ["localhost", "127.", "[::1]"].iter().any(|host| text.starts_with(host));
    let meant = format!("{}://{text}", if is_local { "http" } else { "https" });
    let is_meant = !text.contains("://") && !text.contains('@') && meant.parse::<Upstream>().is_ok();
    if is_meant { meant } else { "one such as https://api.anthropic.com".to_owned() }
}

impl Upstream {
    /// Where clients of a protocol would say that it is.
    pub fn base_url(&self, protocol: Protocol) -> String {
        match protocol {
            Protocol::Anthropic => self.to_string(),
            Protocol::OpenaiChat | Protocol::OpenaiResponses => {
                self.join("/v1/", None).as_str().trim_end_matches('/').to_owned()
            }
        }
    }

    /// The name of its host.
    pub(crate) fn host(&self) -> &str {
        self.0.host_str().unwrap_or_default()
    }

    /// The URL of a path and query below it. A base that ends in `/v1` and a path that begins with it
    /// mean the same `/v1`.
    pub(crate) fn join(&self, path: &str, query: Option<&str>) -> Url {
        let mut url = self.0.clone();
        let mut base = url.path().trim_end_matches('/');
        // Azure's paths begin with `/openai`, and so do the base URLs that its pages show.
        for shared in ["/openai/v1", "/openai", "/v1"] {
            let is_shared = path.strip_prefix(shared).is_some_and(|rest| rest.starts_with('/'));
            base = base.strip_suffix(shared).filter(|_| is_shared).unwrap_or(base);
        }
        let whole = format!("{base}{path}");
        url.set_path(&whole);
        url.set_query(query);
        url
    }
}

impl std::fmt::Display for Upstream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.as_str().trim_end_matches('/'))
    }
}

/// Refuses an address that other machines can reach.
pub(crate) fn check_loopback(address: SocketAddr) -> Result<(), ServerSettingsError> {
    let is_loopback = match address.ip() {
        IpAddr::V4(ip) => ip.is_loopback(),
        IpAddr::V6(ip) => ip.is_loopback(),
    };
    is_loopback.then_some(()).ok_or(ServerSettingsError::NotLoopback { address })
}

#[cfg(test)]
mod tests {
    use super::{Upstream, check_loopback};
    use epitome_wire::Protocol;

    #[test]
    fn a_path_is_put_below_the_base_once() {
        for base in ["https://host/x", "https://host/x/", "https://host/x/v1/"] {
            let base: Upstream = base.parse().expect("a base URL");
            assert_eq!(base.join("/v1/models", Some("a=b")).as_str(), "https://host/x/v1/models?a=b");
        }
    }

    #[test]
    fn a_base_and_a_path_of_azure_share_what_both_begin_with() {
        for base in ["https://host", "https://host/openai", "https://host/openai/v1/"] {
            let base: Upstream = base.parse().expect("a base URL");
            assert_eq!(base.join("/openai/v1/models", None).as_str(), "https://host/openai/v1/models");
        }
        let base: Upstream = "https://host/openai".parse().expect("a base URL");
        let joined = base.join("/openai/deployments/d/chat/completions", Some("api-version=1"));
        assert_eq!(joined.as_str(), "https://host/openai/deployments/d/chat/completions?api-version=1");
    }

    #[test]
    fn each_protocol_has_its_own_idea_of_a_base() {
        for base in ["https://host/x", "https://host/x/v1/"] {
            let base: Upstream = base.parse().expect("a base URL");
            assert_eq!(base.base_url(Protocol::OpenaiChat), "https://host/x/v1");
        }
        let base: Upstream = "https://host/".parse().expect("a base URL");
        assert_eq!(base.base_url(Protocol::Anthropic), "https://host");
    }

    #[test]
    fn what_is_no_base_url_is_refused() {
        for given in ["", "api.openai.com", "ftp://host", "https://host?key=1"] {
            assert!(given.parse::<Upstream>().is_err(), "{given}");
        }
        let told = ["localhost:8000", "127.0.0.1:8000/x", "api.openai.com", "ftp://host"]
            .map(|given| given.parse::<Upstream>().expect_err("it has no scheme").to_string());
        let expected = [
            "`localhost:8000` is no base URL; write http://localhost:8000",
            "`127.0.0.1:8000/x` is no base URL; write http://127.0.0.1:8000/x",
            "`api.openai.com` is no base URL; write https://api.openai.com",
            "`ftp://host` is no base URL; write one such as https://api.anthropic.com",
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn a_password_in_a_base_url_is_refused_and_not_repeated() {
        let told = ["https://me:secret@host/x", "https://secret@host", "ftp://me:secret@host"]
            .map(|given| given.parse::<Upstream>().expect_err("it holds a password").to_string());
        let expected =
            "the base URL of host holds a name or password; take it out, and have the client send it";
        assert_eq!(told, [expected; 3]);
    }

    #[test]
    fn only_this_machine_is_listened_to() {
        let is_taken = |address: &str| check_loopback(address.parse().expect("an address")).is_ok();
        assert_eq!(
            ["127.0.0.1:1", "[::1]:1", "0.0.0.0:1", "192.168.0.7:1"].map(is_taken),
            [true, true, false, false]
        );
    }
}
