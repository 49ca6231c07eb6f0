//! What the operator's `epitome.toml` tells a server, `[upstream]` and `[serve]`, below what the command line says. It is read when the
//! server starts; no project's file may have it.

use super::Places;
use anyhow::{Context as _, Result, anyhow};
use epitome_server::{Upstream, UpstreamRoute, Upstreams};
use epitome_settings::ServerTables;
use serde::{Deserialize, Serialize};
use std::fmt::Display;
use std::str::FromStr;

/// `[upstream]` as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct UpstreamTable {
    url: Option<String>,
    anthropic: Option<String>,
    openai: Option<String>,
    #[serde(default)]
    routes: Vec<String>,
}

/// `[serve]` as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ServeTable {
    observe: Option<bool>,
}

/// Where requests go and whether they are only observed, as far as somebody said.
#[derive(Clone, Debug, Default)]
pub struct ServerChoice {
    /// All of them, where nothing below says otherwise.
    pub url: Option<Upstream>,
    /// Anthropic's.
    pub anthropic: Option<Upstream>,
    /// OpenAI's.
    pub openai: Option<Upstream>,
    /// Some of them.
    pub routes: Vec<UpstreamRoute>,
    /// Whether nothing is changed.
    pub observe: Option<bool>,
}

impl ServerChoice {
    /// What a file says.
    pub fn of_file(tables: &ServerTables, places: &Places) -> Result<Self> {
        let file = places.operator_name();
        let table = |name: &str| format!("[{name}] of {file} cannot be used; see docs/reference/settings.md");
        let upstream: UpstreamTable =
            tables.upstream.clone().try_into().with_context(|| table("upstream"))?;
        let serve: ServeTable = tables.serve.clone().try_into().with_context(|| table("serve"))?;
        let parsed = |key: &str, text: Option<String>| -> Result<Option<Upstream>> {
            text.map(|text| parse(&file, key, &text)).transpose()
        };
        let routes = upstream.routes.iter().map(|route| parse(&file, "routes", route));
        Ok(Self {
            url: parsed("url", upstream.url)?,
            anthropic: parsed("anthropic", upstream.anthropic)?,
            openai: parsed("openai", upstream.openai)?,
            routes: routes.collect::<Result<_>>()?,
            observe: serve.observe,
        })
    }

    /// The same below what the command line says. An address for all of them there goes before a file's for some.
    #[must_use]
    pub fn under(self, said: Self) -> Self {
        let of_file = |own: Option<Upstream>| own.filter(|_| said.url.is_none());
        let routes = if said.routes.is_empty() { self.routes } else { said.routes };
        Self {
            anthropic: said.anthropic.or_else(|| of_file(self.anthropic)),
            openai: said.openai.or_else(|| of_file(self.openai)),
            url: said.url.or(self.url),
            routes,
            observe: said.observe.or(self.observe),
        }
    }

    /// Where requests go; the providers' public addresses where nobody says.
    pub fn upstreams(&self) -> Upstreams {
        let public = Upstreams::default();
        let or_all =
            |own: &Option<Upstream>, public| own.clone().or_else(|| self.url.clone()).unwrap_or(public);
        Upstreams {
            anthropic: or_all(&self.anthropic, public.anthropic),
            openai: or_all(&self.openai, public.openai),
            routes: self.routes.clone(),
        }
    }

    /// The same as people are shown it.
    pub fn shown(&self) -> ShownServer {
        let Upstreams { anthropic, openai, routes } = self.upstreams();
        ShownServer {
            anthropic: anthropic.to_string(),
            openai: openai.to_string(),
            routes: routes.iter().map(ToString::to_string).collect(),
            observe: self.observe.unwrap_or_default(),
        }
    }
}

/// Where a server sends requests and whether it only observes, by its settings.
#[derive(Clone, Debug, Serialize)]
pub struct ShownServer {
    /// Anthropic's requests.
    pub anthropic: String,
    /// OpenAI's.
    pub openai: String,
    /// Some of them, as `MATCH=URL`.
    pub routes: Vec<String>,
    /// Whether nothing is changed.
    pub observe: bool,
}

fn parse<T: FromStr<Err: Display>>(file: &str, key: &str, text: &str) -> Result<T> {
    text.parse().map_err(|error| anyhow!("{file}: `upstream.{key}`: {error}"))
}

#[cfg(test)]
mod tests {
    use super::{Places, ServerChoice, ServerTables};

    fn of(upstream: &str) -> Result<ServerChoice, String> {
        let places = Places { config: None, operator: Some("own.toml".into()), project: None };
        let tables = ServerTables { upstream: upstream.parse().expect("TOML"), ..ServerTables::default() };
        ServerChoice::of_file(&tables, &places).map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn what_the_command_line_says_goes_before_a_file() {
        let file =
            || of("url = 'http://a'\nopenai = 'http://b'\nroutes = ['azure=http://c']").expect("it is right");
        let shown = |said: ServerChoice| {
            let shown = file().under(said).shown();
            (shown.anthropic, shown.openai, shown.routes)
        };
        let azure = vec!["azure=http://c".to_owned()];
        assert_eq!(shown(ServerChoice::default()), ("http://a".into(), "http://b".into(), azure.clone()));
        let all = ServerChoice { url: "http://d".parse().ok(), ..ServerChoice::default() };
        assert_eq!(shown(all), ("http://d".into(), "http://d".into(), azure));
    }

    #[test]
    fn what_cannot_be_used_is_told_with_its_place() {
        let told = |text| of(text).map(|_| ()).expect_err("it is wrong");
        assert_eq!(
            told("anthropic = 'api.x'"),
            "own.toml: `upstream.anthropic`: `api.x` is no base URL; write https://api.x"
        );
        let unknown = told("gemini = 'https://x'");
        assert!(unknown.starts_with("[upstream] of own.toml cannot be used"), "{unknown}");
        assert!(unknown.contains("unknown field `gemini`"), "{unknown}");
    }
}
