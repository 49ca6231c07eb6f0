//! Each kind of path, and where it leads.

use super::{Treatment, find};
use crate::settings::Upstreams;
use axum::http::request::Parts;
use axum::http::{Method, Request};
use epitome_wire::Protocol;

fn parts(method: Method, target: &str, header: Option<(&str, &str)>) -> Parts {
    let mut request = Request::builder().method(method).uri(target);
    if let Some((name, value)) = header {
        request = request.header(name, value);
    }
    request.body(()).expect("a request").into_parts().0
}

/// Where a target leads: upstream, path there, and whether it is a conversation; or why not.
fn told(upstreams: &Upstreams, method: Method, target: &str, header: Option<(&str, &str)>) -> String {
    let parts = parts(method, target, header);
    match find(upstreams, &parts) {
        Ok(route) => {
            let treatment = match route.treatment {
                Treatment::Converse => "converse",
                Treatment::Count => "count",
                Treatment::Pass => "pass",
            };
            let mended = route.mended.map(|how| format!(" ({how})")).unwrap_or_default();
            format!("{treatment} {}{}{mended}", route.upstream, route.path)
        }
        Err(fault) => fault.to_string(),
    }
}

fn post(target: &str) -> String {
    told(&upstreams(&[]), Method::POST, target, None)
}

fn upstreams(routes: &[&str]) -> Upstreams {
    let base = |url: &str| url.parse().expect("a base URL");
    let routes = routes.iter().map(|route| route.parse().expect("a route")).collect();
    Upstreams { anthropic: base("http://ant"), openai: base("https://api.openai.com"), routes }
}

const OPENAI: &str = "https://api.openai.com";

#[test]
fn every_row_leads_to_its_owner() {
    assert_eq!(post("/v1/messages?beta=true"), "converse http://ant/v1/messages");
    assert_eq!(post("/v1/messages/count_tokens"), "count http://ant/v1/messages/count_tokens");
    assert_eq!(post("/anthropic/v1/messages"), "converse http://ant/v1/messages");
    assert_eq!(post("/v1/chat/completions"), format!("converse {OPENAI}/v1/chat/completions"));
    assert_eq!(post("/v1/responses"), format!("converse {OPENAI}/v1/responses"));
    assert_eq!(post("/v1/responses/input_tokens"), format!("count {OPENAI}/v1/responses/input_tokens"));
    assert_eq!(post("/v1/responses/compact"), format!("pass {OPENAI}/v1/responses/compact"));
    assert_eq!(post("/openai/v1/embeddings"), format!("pass {OPENAI}/v1/embeddings"));
    assert_eq!(post("/openai/v1/something/new"), format!("pass {OPENAI}/v1/something/new"));
    assert_eq!(post("/openai/v1/messages"), format!("pass {OPENAI}/v1/messages"));
    let get = |target, header| told(&upstreams(&[]), Method::GET, target, header);
    assert_eq!(get("/v1/models", None), format!("pass {OPENAI}/v1/models"));
    assert_eq!(get("/v1/models/x", Some(("x-api-key", "k"))), "pass http://ant/v1/models/x");
    assert_eq!(get("/v1/files", Some(("authorization", "Bearer sk-ant-x"))), "pass http://ant/v1/files");
    assert_eq!(get("/v1/chat/completions", None), format!("pass {OPENAI}/v1/chat/completions"));
}

#[test]
fn what_stands_in_no_row_is_served_by_nobody() {
    let no_row = |target: &str| post(target).contains("is no path that is served here");
    let targets = [
        "/v1/other",
        "/v1",
        "/v1beta/models/g:generateContent",
        "/api/chat",
        "/openaix/v1/models",
        "/openai/x",
        "/v1/messagesx",
    ];
    assert_eq!(targets.map(no_row), [true; 7]);
}

#[test]
fn a_base_url_without_its_v1_or_with_two_is_put_right() {
    assert_eq!(post("/messages"), "converse http://ant/v1/messages (lacks /v1)");
    assert_eq!(post("/anthropic/messages"), "converse http://ant/v1/messages (lacks /v1)");
    assert_eq!(post("/chat/completions"), format!("converse {OPENAI}/v1/chat/completions (lacks /v1)"));
    assert_eq!(
        post("/openai/chat/completions"),
        format!("converse {OPENAI}/v1/chat/completions (lacks /v1)")
    );
    assert_eq!(post("/v1/v1/messages"), "converse http://ant/v1/messages (has /v1 twice)");
    assert_eq!(
        post("/v1/v1/v1/chat/completions"),
        format!("converse {OPENAI}/v1/chat/completions (has /v1 twice)")
    );
    assert_eq!(post("/messages/count_tokens"), "count http://ant/v1/messages/count_tokens (lacks /v1)");
}

#[test]
fn azures_paths_are_kept_whole() {
    let deployment = "/openai/deployments/gpt-5/chat/completions?api-version=2024-10-21";
    let at = |routes: &[&str], target| told(&upstreams(routes), Method::POST, target, None);
    let azure = ["azure=https://x.openai.azure.com"];
    let there = "https://x.openai.azure.com/openai";
    assert_eq!(at(&azure, deployment), format!("converse {there}/deployments/gpt-5/chat/completions"));
    assert_eq!(
        at(&azure, "/openai/deployments/e/embeddings?api-version=1"),
        format!("pass {there}/deployments/e/embeddings")
    );
    assert_eq!(at(&azure, "/openai/responses?api-version=1"), format!("converse {there}/responses"));
    assert_eq!(at(&azure, "/openai/v1/embeddings"), format!("pass {OPENAI}/v1/embeddings"), "OpenAI's own");
    let expected = "epitome: this is a path of Azure OpenAI, and nobody said where that is; start the server with --route azure=URL";
    assert_eq!(at(&[], deployment), expected);
    let own =
        Upstreams { openai: "https://x.openai.azure.com/openai".parse().expect("a base"), ..upstreams(&[]) };
    assert_eq!(
        [deployment, "/openai/v1/chat/completions"].map(|target| told(&own, Method::POST, target, None)),
        [
            "converse https://x.openai.azure.com/openai/openai/deployments/gpt-5/chat/completions",
            "converse https://x.openai.azure.com/openai/openai/v1/chat/completions"
        ],
        "what both share is written once when they are joined"
    );
    let parts = parts(Method::POST, deployment, None);
    let all = upstreams(&azure);
    let route = find(&all, &parts).expect("a route");
    assert_eq!((route.model, route.protocol), (Some("gpt-5"), Protocol::OpenaiChat));
}

#[test]
fn the_paths_of_bedrock_and_vertex_go_where_they_are_said_to_or_nowhere() {
    let invoke = "/model/anthropic.claude-sonnet-4-5-v1%3A0/invoke-with-response-stream";
    let predict = "/v1/projects/p/locations/l/publishers/anthropic/models/m:streamRawPredict";
    let at = |routes: &[&str], target| told(&upstreams(routes), Method::POST, target, None);
    assert_eq!(at(&["bedrock=https://b"], invoke), format!("pass https://b{invoke}"));
    assert_eq!(at(&["vertex=https://v"], predict), format!("pass https://v{predict}"));
    assert_eq!(at(&["vertex=https://v"], &predict[3..]), format!("pass https://v{predict}"));
    let refused = |cloud: &str, name: &str| {
        format!(
            "epitome: this is a path of {cloud}, and nobody said where that is; start the server with --route {name}=URL"
        )
    };
    assert_eq!(at(&[], invoke), refused("Amazon Bedrock", "bedrock"));
    assert_eq!(at(&[], predict), refused("Vertex AI", "vertex"));
}

#[test]
fn a_path_of_an_upstream_of_its_own_may_be_any() {
    let at = |target| told(&upstreams(&["/team=http://gw/base"]), Method::POST, target, None);
    assert_eq!(at("/team/v1/messages"), "converse http://gw/base/v1/messages");
    assert_eq!(at("/team/v1/rerank"), "pass http://gw/base/v1/rerank");
    assert_eq!(at("/team/v1/chat/completions"), "converse http://gw/base/v1/chat/completions");
}

#[test]
fn a_model_has_an_upstream_of_its_own_unless_the_path_says_where() {
    let all = upstreams(&["model:gpt-oss=http://local", "/team=http://gw"]);
    let leads = |target: &str, model: &str| {
        let parts = parts(Method::POST, target, None);
        find(&all, &parts).expect("a route").upstream_for(&all, model).to_string()
    };
    assert_eq!(leads("/v1/chat/completions", "gpt-oss-20b"), "http://local");
    assert_eq!(leads("/v1/chat/completions", "gpt-5"), OPENAI);
    assert_eq!(leads("/team/v1/chat/completions", "gpt-oss-20b"), "http://gw");
}

#[test]
fn no_path_leads_out_of_the_base() {
    let dots = "epitome: a part of the path is `.` or `..`, which would lead out of the provider's base URL; send the path it stands for";
    for target in [
        "/v1/../../evil",
        "/v1/messages/..",
        "/v1/messages/%2e%2E/x",
        "/openai/v1/files/..%2f..%2fx",
        "/openai/v1/./x",
        "/openai/v1/files/..%5cx",
    ] {
        assert_eq!(post(target), dots, "{target}");
    }
    assert_eq!(post("/v1/files/a..b/.hidden"), format!("pass {OPENAI}/v1/files/a..b/.hidden"));
}
