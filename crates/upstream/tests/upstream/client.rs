//! A client that knows HTTP and event streams, and nothing of providers.

use epitome_upstream::{Handle, Script, Upstream};
use serde_json::{Value, json};

/// An upstream and a client of it.
pub(crate) struct Client {
    pub(crate) upstream: Handle,
    http: reqwest::Client,
}

/// A whole answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Got {
    pub(crate) status: u16,
    pub(crate) retry_after: Option<String>,
    pub(crate) body: Value,
}

/// One event of a stream: its name, where it has one, and its data.
pub(crate) type StreamEvent = (Option<String>, Value);

impl Client {
    pub(crate) async fn of(script: Script) -> Self {
        let upstream = Upstream::start(script).await.expect("a free port");
        let http = reqwest::Client::builder().no_proxy().build().expect("a client");
        Self { upstream, http }
    }

    pub(crate) async fn usual() -> Self {
        Self::of(Script::default()).await
    }

    /// The raw answer, with an order in the header where one is given.
    pub(crate) async fn send(
        &self,
        path: &str,
        body: &Value,
        order: Option<&str>,
    ) -> reqwest::Result<reqwest::Response> {
        self.sending(path, body, order).await
    }

    /// The same, to be awaited elsewhere.
    pub(crate) fn sending(
        &self,
        path: &str,
        body: &Value,
        order: Option<&str>,
    ) -> impl Future<Output = reqwest::Result<reqwest::Response>> + use<> {
        let request = self.http.post(format!("{}{path}", self.upstream.base_url)).json(body);
        let request = match order {
            Some(order) => request.header("x-scripted", order),
            None => request,
        };
        request.send()
    }

    pub(crate) async fn ordered(&self, path: &str, body: &Value, order: &str) -> Got {
        got(self.send(path, body, Some(order)).await.expect("an answer")).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Got {
        got(self.send(path, body, None).await.expect("an answer")).await
    }

    pub(crate) async fn get(&self, path: &str) -> Got {
        let answer = self.http.get(format!("{}{path}", self.upstream.base_url)).send().await;
        got(answer.expect("an answer")).await
    }

    /// The events of a stream that ends well.
    pub(crate) async fn stream(&self, path: &str, body: &Value) -> Vec<StreamEvent> {
        let answer = self.send(path, &streamed(body), None).await.expect("an answer");
        events(&answer.text().await.expect("a whole stream"))
    }

    /// Posts a text, such as a plan.
    pub(crate) async fn tell(&self, path: &str, text: &'static str) -> u16 {
        let answer = self.http.post(format!("{}{path}", self.upstream.base_url)).body(text).send().await;
        answer.expect("an answer").status().as_u16()
    }
}

async fn got(answer: reqwest::Response) -> Got {
    let status = answer.status().as_u16();
    let retry_after =
        answer.headers().get("retry-after").map(|value| value.to_str().expect("text").to_owned());
    let text = answer.text().await.expect("a body");
    Got { status, retry_after, body: serde_json::from_str(&text).unwrap_or(Value::String(text)) }
}

/// The same request, asking for events.
pub(crate) fn streamed(body: &Value) -> Value {
    let mut body = body.clone();
    body["stream"] = json!(true);
    body
}

/// The events in a text.
pub(crate) fn events(text: &str) -> Vec<StreamEvent> {
    let frames = text.split("\n\n").filter(|frame| !frame.is_empty());
    frames
        .map(|frame| {
            let field =
                |name: &str| frame.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
            let data = field("data: ").expect("an event has data");
            (field("event: "), serde_json::from_str(&data).unwrap_or(Value::String(data)))
        })
        .collect()
}

pub(crate) const MESSAGES: &str = "/v1/messages";
pub(crate) const CHAT: &str = "/v1/chat/completions";
pub(crate) const RESPONSES: &str = "/v1/responses";

/// A question to each provider, by path.
pub(crate) fn questions(text: &str) -> [(&'static str, Value); 3] {
    [(MESSAGES, anthropic(text)), (CHAT, chat(text)), (RESPONSES, responses(text))]
}

pub(crate) fn anthropic(text: &str) -> Value {
    json!({"model": "claude-sonnet-4-5", "max_tokens": 1000, "messages": [{"role": "user", "content": text}]})
}

pub(crate) fn chat(text: &str) -> Value {
    json!({"model": "gpt-5", "messages": [{"role": "user", "content": text}]})
}

pub(crate) fn responses(text: &str) -> Value {
    json!({"model": "gpt-5", "input": [{"role": "user", "content": text}]})
}

/// The words of a reply, in any provider's shape.
pub(crate) fn text_of(body: &Value) -> String {
    let blocks = body["content"].as_array().into_iter().flatten();
    let items = body["output"].as_array().into_iter().flatten();
    let parts = items.flat_map(|item| item["content"].as_array().into_iter().flatten());
    let words = blocks.chain(parts).filter_map(|block| block["text"].as_str());
    let said: String = words.collect();
    if said.is_empty() {
        body["choices"][0]["message"]["content"].as_str().unwrap_or_default().into()
    } else {
        said
    }
}
