//! Rules by which some requests go to an upstream of their own: by the path they come to, by the shape of a cloud's paths, or by
//! how their model's name begins. Which path means what is `routes`'.

use crate::settings::{ServerSettingsError, Upstream, Upstreams};
use std::fmt;
use std::str::FromStr;

/// An upstream for some of the requests, written as `MATCH=URL`.
///
/// ```
/// use epitome_server::{RouteMatch, UpstreamRoute};
///
/// let route: UpstreamRoute = "model:gpt-oss=http://127.0.0.1:8000".parse()?;
/// assert_eq!(route.matches, RouteMatch::Model("gpt-oss".to_owned()));
/// # Ok::<(), epitome_server::ServerSettingsError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpstreamRoute {
    /// Which requests.
    pub matches: RouteMatch,
    /// Where they go.
    pub upstream: Upstream,
}

/// Which requests a route is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RouteMatch {
    /// Those of a model whose name begins so.
    Model(String),
    /// Those below this path, which is not part of their path there.
    Path(String),
    /// Those with the paths of a cloud.
    Cloud(Cloud),
}

/// A cloud that serves other companies' models at paths of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cloud {
    /// Azure OpenAI: `/openai/deployments/…`.
    Azure,
    /// Amazon Bedrock: `/model/…/invoke`.
    Bedrock,
    /// Vertex AI: `/v1/projects/…`.
    Vertex,
}

impl Cloud {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Azure, Self::Bedrock, Self::Vertex];

    /// What people call it.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Azure => "Azure OpenAI",
            Self::Bedrock => "Amazon Bedrock",
            Self::Vertex => "Vertex AI",
        }
    }

    /// How a route names it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Azure => "azure",
            Self::Bedrock => "bedrock",
            Self::Vertex => "vertex",
        }
    }
}

impl FromStr for UpstreamRoute {
    type Err = ServerSettingsError;
    fn from_str(text: &str) -> Result<Self, ServerSettingsError> {
        let refused = || ServerSettingsError::Route { given: text.to_owned() };
        let (matches, url) = text.split_once('=').ok_or_else(refused)?;
        let matches = RouteMatch::of(matches.trim()).ok_or_else(refused)?;
        Ok(Self { matches, upstream: url.trim().parse()? })
    }
}

impl fmt::Display for UpstreamRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.matches {
            RouteMatch::Model(prefix) => write!(f, "model:{prefix}={}", self.upstream),
            RouteMatch::Path(path) => write!(f, "{path}={}", self.upstream),
            RouteMatch::Cloud(cloud) => write!(f, "{}={}", cloud.name(), self.upstream),
        }
    }
}

impl RouteMatch {
    fn of(text: &str) -> Option<Self> {
        if let Some(prefix) = text.strip_prefix("model:") {
            return (!prefix.is_empty()).then(|| Self::Model(prefix.to_owned()));
        }
        if text.starts_with('/') {
            let path = text.trim_end_matches('/');
            return (!path.is_empty()).then(|| Self::Path(path.to_owned()));
        }
        Cloud::ALL.into_iter().find(|cloud| cloud.name() == text).map(Self::Cloud)
    }
}

impl Upstreams {
    /// Where a cloud's requests go, where the operator said.
    pub(crate) fn of_cloud(&self, cloud: Cloud) -> Option<&Upstream> {
        let mut routes = self.routes.iter();
        routes.find(|route| route.matches == RouteMatch::Cloud(cloud)).map(|route| &route.upstream)
    }

    /// Where a path goes that a route names, and the path there; the longest that fits.
    pub(crate) fn of_path<'p>(&self, path: &'p str) -> Option<(&Upstream, &'p str)> {
        let below = |route: &'_ UpstreamRoute| match &route.matches {
            RouteMatch::Path(own) => path.strip_prefix(own.as_str()).filter(|rest| rest.starts_with('/')),
            RouteMatch::Model(_) | RouteMatch::Cloud(_) => None,
        };
        let fitting = self.routes.iter().filter_map(|route| Some((&route.upstream, below(route)?)));
        fitting.min_by_key(|(_, rest)| rest.len())
    }

    /// Where requests of a model go by a route; the one with the longest beginning of its name.
    pub(crate) fn route_of_model(&self, model: &str) -> Option<&Upstream> {
        let fitting = self.routes.iter().filter_map(|route| match &route.matches {
            RouteMatch::Model(prefix) if model.starts_with(prefix.as_str()) => {
                Some((prefix.len(), &route.upstream))
            }
            RouteMatch::Model(_) | RouteMatch::Path(_) | RouteMatch::Cloud(_) => None,
        });
        fitting.max_by_key(|(length, _)| *length).map(|(_, upstream)| upstream)
    }

    /// Whether a route looks at models.
    pub(crate) fn has_model_routes(&self) -> bool {
        self.routes.iter().any(|route| matches!(route.matches, RouteMatch::Model(_)))
    }
}

#[cfg(test)]
mod tests {
    use super::{Cloud, UpstreamRoute};
    use crate::settings::Upstreams;

    fn upstreams(routes: &[&str]) -> Upstreams {
        let routes = routes.iter().map(|route| route.parse().expect("a route")).collect();
        Upstreams { routes, ..Upstreams::default() }
    }

    #[test]
    fn of_routes_that_fit_the_one_that_says_most_counts() {
        let all = upstreams(&[
            "model:gpt-=http://a",
            "model:gpt-oss=http://b",
            "/team=http://c",
            "/team/x/=http://d/base",
            "bedrock=http://e",
        ]);
        let model = |name| all.route_of_model(name).map(ToString::to_string);
        assert_eq!(
            [model("gpt-5"), model("gpt-oss-20b"), model("o3")],
            [Some("http://a".into()), Some("http://b".into()), None]
        );
        let path = |path| all.of_path(path).map(|(upstream, rest)| (upstream.to_string(), rest));
        assert_eq!(
            [path("/team/v1/messages"), path("/team/x/v1/messages"), path("/teams/v1"), path("/team")],
            [
                Some(("http://c".into(), "/v1/messages")),
                Some(("http://d/base".into(), "/v1/messages")),
                None,
                None
            ]
        );
        let cloud = |cloud| all.of_cloud(cloud).map(ToString::to_string);
        assert_eq!([cloud(Cloud::Bedrock), cloud(Cloud::Vertex)], [Some("http://e".into()), None]);
    }

    #[test]
    fn what_is_no_route_is_refused_with_what_would_be_one() {
        let told = ["azure", "mars=http://a", "model:=http://a", "/=http://a", "azure=host"]
            .map(|text| text.parse::<UpstreamRoute>().expect_err("it is none").to_string());
        assert_eq!(
            told[1],
            "`mars=http://a` is no route; write azure=URL, bedrock=URL, vertex=URL, model:PREFIX=URL or /PATH=URL"
        );
        assert!(told[..4].iter().all(|why| why.contains("is no route")), "{told:?}");
        assert_eq!(told[4], "`host` is no base URL; write https://host");
    }
}
