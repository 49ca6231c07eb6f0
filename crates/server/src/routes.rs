//! The table of routes: which path means what, in which protocol, and which upstream it goes to. What stands in no row is served by
//! nobody: a request whose place is guessed hands a credential to whoever is there.

use crate::credentials;
use crate::fault::Fault;
use crate::settings::{Upstream, Upstreams};
use crate::upstream_route::Cloud;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, Uri};
use epitome_wire::Protocol;
use std::borrow::Cow;

/// Where a request goes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Route<'r> {
    pub(crate) upstream: &'r Upstream,
    /// The protocol it speaks, in which errors of ours are told.
    pub(crate) protocol: Protocol,
    /// Its path there.
    pub(crate) path: Cow<'r, str>,
    pub(crate) treatment: Treatment,
    /// The model that its path names, for a body that names none.
    pub(crate) model: Option<&'r str>,
    /// Whether its path says where it goes, whatever its model is.
    is_named: bool,
    /// What is wrong with the base URL that the agent was given, where its path tells and was put right.
    pub(crate) mended: Option<&'static str>,
}

/// What is done with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Treatment {
    /// It is a conversation: made to fit.
    Converse,
    /// It asks how long a conversation is.
    Count,
    /// It is passed on as it came.
    Pass,
}

/// A row of the table: a path, and whether those below it are meant as well.
struct RouteRow {
    path: &'static str,
    has_tree: bool,
    owner: PathOwner,
    /// What is done with what is posted there, and its protocol, where that is a conversation.
    talk: Option<(Treatment, Protocol)>,
}

/// Whose path it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PathOwner {
    Anthropic,
    Openai,
    /// Both have it: the request's headers tell.
    Both,
}

const fn row(path: &'static str, owner: PathOwner) -> RouteRow {
    RouteRow { path, has_tree: true, owner, talk: None }
}

const fn talk(path: &'static str, owner: PathOwner, protocol: Protocol) -> RouteRow {
    RouteRow { path, has_tree: false, owner, talk: Some((Treatment::Converse, protocol)) }
}

const fn count(path: &'static str, owner: PathOwner, protocol: Protocol) -> RouteRow {
    RouteRow { path, has_tree: false, owner, talk: Some((Treatment::Count, protocol)) }
}

const ROWS: [RouteRow; 29] = [
    talk("/v1/messages", PathOwner::Anthropic, Protocol::Anthropic),
    count("/v1/messages/count_tokens", PathOwner::Anthropic, Protocol::Anthropic),
    row("/v1/messages", PathOwner::Anthropic),
    row("/v1/complete", PathOwner::Anthropic),
    row("/v1/skills", PathOwner::Anthropic),
    row("/v1/organizations", PathOwner::Anthropic),
    talk("/v1/chat/completions", PathOwner::Openai, Protocol::OpenaiChat),
    row("/v1/chat/completions", PathOwner::Openai),
    talk("/v1/responses", PathOwner::Openai, Protocol::OpenaiResponses),
    count("/v1/responses/input_tokens", PathOwner::Openai, Protocol::OpenaiResponses),
    row("/v1/responses", PathOwner::Openai),
    row("/v1/completions", PathOwner::Openai),
    row("/v1/embeddings", PathOwner::Openai),
    row("/v1/moderations", PathOwner::Openai),
    row("/v1/images", PathOwner::Openai),
    row("/v1/audio", PathOwner::Openai),
    row("/v1/videos", PathOwner::Openai),
    row("/v1/realtime", PathOwner::Openai),
    row("/v1/batches", PathOwner::Openai),
    row("/v1/uploads", PathOwner::Openai),
    row("/v1/fine_tuning", PathOwner::Openai),
    row("/v1/vector_stores", PathOwner::Openai),
    row("/v1/assistants", PathOwner::Openai),
    row("/v1/threads", PathOwner::Openai),
    row("/v1/conversations", PathOwner::Openai),
    row("/v1/containers", PathOwner::Openai),
    row("/v1/evals", PathOwner::Openai),
    row("/v1/models", PathOwner::Both),
    row("/v1/files", PathOwner::Both),
];

/// What agents ask for behind a base URL that lacks its `/v1`, and nobody has without it.
const BARE: [&str; 6] =
    ["/messages", "/chat/completions", "/responses", "/completions", "/embeddings", "/models"];

/// What the last part of a path of Bedrock may be.
const BEDROCK_ACTS: [&str; 5] =
    ["invoke", "invoke-with-response-stream", "converse", "converse-stream", "count-tokens"];

/// Where a request goes, by its path and headers.
pub(crate) fn find<'r>(upstreams: &'r Upstreams, parts: &'r Parts) -> Result<Route<'r>, Fault> {
    let path = parts.uri.path();
    if has_dots(path) {
        return Err(Fault::DotsInPath);
    }
    if let Some((upstream, rest)) = upstreams.of_path(path) {
        return Ok(below(upstream, rest, parts));
    }
    if let Some(found) = in_cloud(upstreams, parts) {
        return found;
    }
    let (named, rest) = split(path);
    let (rest, mended) = mend(rest);
    let found = row_of(&parts.method, &rest);
    let owner = match (named, found) {
        (Some(named), found) if found.is_some() || rest.starts_with("/v1/") => named,
        (None, Some(found)) => found.owner,
        (Some(_) | None, _) => return Err(Fault::no_such_path(&parts.method, path)),
    };
    let (protocol, treatment) = owner.treatment(found, &parts.headers);
    let upstream = upstreams.of(protocol);
    Ok(Route { upstream, protocol, path: rest, treatment, model: None, is_named: false, mended })
}

impl<'r> Route<'r> {
    /// Where it goes as a request of this model.
    pub(crate) fn upstream_for(&self, upstreams: &'r Upstreams, model: &str) -> &'r Upstream {
        let routed = upstreams.route_of_model(model).filter(|_| !self.is_named);
        routed.unwrap_or(self.upstream)
    }
}

impl PathOwner {
    fn protocol(self, headers: &HeaderMap) -> Protocol {
        let is_anthropic = || {
            headers.contains_key("anthropic-version")
                || headers.contains_key("x-api-key")
                || credentials::has_anthropic_key(headers)
        };
        match self {
            Self::Anthropic => Protocol::Anthropic,
            Self::Openai => Protocol::OpenaiChat,
            Self::Both if is_anthropic() => Protocol::Anthropic,
            Self::Both => Protocol::OpenaiChat,
        }
    }

    /// What is done with a request to this owner. What is a conversation at another's is passed on here.
    fn treatment(self, row: Option<&RouteRow>, headers: &HeaderMap) -> (Protocol, Treatment) {
        let own = row.filter(|row| row.owner == self).and_then(|row| row.talk);
        match own {
            Some((treatment, protocol)) => (protocol, treatment),
            None => (self.protocol(headers), Treatment::Pass),
        }
    }
}

/// What is done with a request whose path is below an upstream of its own: there any path may be.
fn below<'r>(upstream: &'r Upstream, path: &'r str, parts: &Parts) -> Route<'r> {
    let found = row_of(&parts.method, path);
    let owner = found.map_or(PathOwner::Both, |row| row.owner);
    let (protocol, treatment) = owner.treatment(found, &parts.headers);
    Route { upstream, protocol, path: path.into(), treatment, model: None, is_named: true, mended: None }
}

fn row_of(method: &Method, path: &str) -> Option<&'static RouteRow> {
    let is_meant = |row: &&RouteRow| {
        let rest = path.strip_prefix(row.path);
        let is_posted = row.talk.is_none() || method == Method::POST;
        is_posted && rest.is_some_and(|rest| rest.is_empty() || (row.has_tree && rest.starts_with('/')))
    };
    ROWS.iter().find(is_meant)
}

/// The provider a path names, and the path there.
fn split(path: &str) -> (Option<PathOwner>, &str) {
    for (name, owner) in [("/anthropic", PathOwner::Anthropic), ("/openai", PathOwner::Openai)] {
        if let Some(rest) = path.strip_prefix(name).filter(|rest| rest.starts_with('/')) {
            return (Some(owner), rest);
        }
    }
    (None, path)
}

/// A path with one `/v1` in front, where it is plain that its base URL lacks it or has it twice; and which of these.
fn mend(path: &str) -> (Cow<'_, str>, Option<&'static str>) {
    let mut once = path;
    while let Some(rest) = once.strip_prefix("/v1").filter(|rest| rest.starts_with("/v1/")) {
        once = rest;
    }
    if once.len() < path.len() {
        return (once.into(), Some("has /v1 twice"));
    }
    let is_bare =
        |known: &&str| path.strip_prefix(*known).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    if BARE.iter().any(is_bare) {
        return (format!("/v1{path}").into(), Some("lacks /v1"));
    }
    (path.into(), None)
}

/// Where a request with a cloud's path goes: to the upstream that the operator named for it, whole. None where it has no such path.
fn in_cloud<'r>(upstreams: &'r Upstreams, parts: &'r Parts) -> Option<Result<Route<'r>, Fault>> {
    let (cloud, path) = cloud_path(upstreams, &parts.uri)?;
    let own = upstreams.of_cloud(cloud);
    let upstream = match cloud {
        // One that is not OpenAI's own may be Azure's, or a gateway to it.
        Cloud::Azure => own.or_else(|| Some(&upstreams.openai).filter(|to| !credentials::is_openai(to))),
        Cloud::Bedrock | Cloud::Vertex => own,
    };
    let Some(upstream) = upstream else { return Some(Err(Fault::NotRouted { cloud })) };
    let talk = match cloud {
        Cloud::Azure => azure_talk(&path),
        Cloud::Bedrock | Cloud::Vertex => None,
    };
    let (treatment, protocol) = match (talk, cloud) {
        (Some(protocol), _) if parts.method == Method::POST => (Treatment::Converse, protocol),
        (_, Cloud::Azure) => (Treatment::Pass, Protocol::OpenaiChat),
        (_, Cloud::Bedrock | Cloud::Vertex) => (Treatment::Pass, Protocol::Anthropic),
    };
    let named = parts.uri.path().strip_prefix("/openai/deployments/").and_then(|rest| rest.split('/').next());
    Some(Ok(Route { upstream, protocol, path, treatment, model: named, is_named: true, mended: None }))
}

/// The protocol of a conversation that is posted to a path of Azure's.
fn azure_talk(path: &str) -> Option<Protocol> {
    let rest = path.strip_prefix("/openai/")?;
    let act = match rest.strip_prefix("deployments/") {
        Some(deployment) => deployment.split_once('/')?.1,
        None => rest.strip_prefix("v1/").unwrap_or(rest),
    };
    match act {
        "chat/completions" => Some(Protocol::OpenaiChat),
        "responses" => Some(Protocol::OpenaiResponses),
        _ => None,
    }
}

/// The cloud whose path this is, and the path there.
fn cloud_path<'r>(upstreams: &Upstreams, uri: &'r Uri) -> Option<(Cloud, Cow<'r, str>)> {
    let path = uri.path();
    if let Some(rest) = path.strip_prefix("/openai/") {
        let has_version = uri.query().is_some_and(|query| query.contains("api-version="));
        let is_azures = rest.starts_with("deployments/")
            || has_version
            || (rest.starts_with("v1/") && credentials::is_azure(&upstreams.openai));
        return is_azures.then_some((Cloud::Azure, path.into()));
    }
    let act = path.strip_prefix("/model/").and_then(|rest| rest.rsplit_once('/'));
    if act.is_some_and(|(_, act)| BEDROCK_ACTS.contains(&act)) {
        return Some((Cloud::Bedrock, path.into()));
    }
    let is_vertex = ["/v1/projects/", "/v1beta1/projects/"].iter().any(|opening| path.starts_with(opening));
    if is_vertex {
        return Some((Cloud::Vertex, path.into()));
    }
    path.starts_with("/projects/").then(|| (Cloud::Vertex, format!("/v1{path}").into()))
}

/// Whether a part of a path is `.` or `..`, however that is written: it would lead out of the base URL's own path.
fn has_dots(path: &str) -> bool {
    // Nearly every path is plain, and needs none of the copies below.
    if !path.contains(['.', '%']) {
        return false;
    }
    let plain = path.to_ascii_lowercase().replace("%2e", ".").replace("%2f", "/").replace("%5c", "/");
    plain.split(['/', '\\']).any(|part| matches!(part, "." | ".."))
}

#[cfg(test)]
mod tests;
