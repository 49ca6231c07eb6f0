//! A client of OpenAI Responses that answers whatever calls it is sent.

use crate::stage::Stage;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::HashMap;

/// How a client says what went before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// It sends all of it again, and nobody stores it.
    Whole,
    /// It names the response it goes on from.
    ById,
    /// It sends its own items, and names those of the model.
    Named,
}

/// One client at work.
pub(crate) struct Agent {
    url: String,
    way: Way,
    is_streamed: bool,
    /// Everything, as it would be sent again.
    items: Vec<Value>,
    /// What was not sent yet.
    new: Vec<Value>,
    /// What the model said, whole.
    said: Vec<Value>,
    previous: Option<Value>,
    /// The reply that was not answered yet.
    last: Option<Value>,
    /// What else its requests say.
    pub(crate) more: Value,
    /// The bodies it sent.
    pub(crate) bodies: Vec<String>,
}

/// A message of one text.
pub(crate) fn text_item(role: &str, text: &str) -> Value {
    let kind = if role == "assistant" { "output_text" } else { "input_text" };
    json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]})
}

/// The task, as it is sent.
pub(crate) fn question() -> String {
    text_item("user", "Read all of it and tell me what is wrong.").to_string()
}

/// The items of a body, each as it stands there.
pub(crate) fn items_of(body: &str) -> Vec<String> {
    let fields: HashMap<String, Box<RawValue>> = serde_json::from_str(body).expect("JSON");
    let items: Vec<Box<RawValue>> = serde_json::from_str(fields["input"].get()).expect("a list");
    items.iter().map(|item| item.get().to_owned()).collect()
}

impl Agent {
    pub(crate) fn new(stage: &Stage, way: Way, is_streamed: bool) -> Self {
        let task = vec![serde_json::from_str(&question()).expect("JSON")];
        let url = stage.url.clone();
        let (items, new) = (task.clone(), task);
        let (said, bodies) = (Vec::new(), Vec::new());
        let (previous, last, more) = (None, None, json!({}));
        Self { url, way, is_streamed, items, new, said, previous, last, more, bodies }
    }

    /// Goes on with another server.
    pub(crate) fn turn_to(&mut self, url: &str) {
        self.url = url.to_owned();
    }

    /// The next request.
    pub(crate) fn body(&self) -> String {
        let tool = json!({"type": "function", "name": "read", "parameters": {"type": "object", "properties": {"path": {"type": "string"}}}});
        let mut body = json!({"model": "gpt-5", "instructions": "You read files.", "stream": self.is_streamed, "tools": [tool], "reasoning": {"effort": "low"}});
        let fields = body.as_object_mut().expect("an object");
        match self.way {
            Way::Whole => {
                fields.insert("store".to_owned(), json!(false));
                fields.insert("include".to_owned(), json!(["reasoning.encrypted_content"]));
                fields.insert("input".to_owned(), json!(self.items));
            }
            Way::ById => {
                fields.insert("previous_response_id".to_owned(), json!(self.previous));
                fields.insert("input".to_owned(), json!(self.new));
            }
            Way::Named => drop(fields.insert("input".to_owned(), json!(self.items))),
        }
        fields.extend(self.more.as_object().cloned().unwrap_or_default());
        body.to_string()
    }

    /// The items of the next request.
    pub(crate) fn sent(&self) -> Vec<String> {
        self.items.iter().map(Value::to_string).collect()
    }

    /// Every item it has sent or was sent.
    pub(crate) fn written(&self) -> Vec<String> {
        self.items.iter().chain(&self.said).map(Value::to_string).collect()
    }

    /// Sends so many requests, and answers what each reply calls but the last's.
    pub(crate) async fn work(&mut self, requests: usize) {
        for _ in 0..requests {
            self.answer_last();
            let body = self.body();
            self.bodies.push(body.clone());
            self.last = Some(self.send(body).await);
        }
    }

    /// Answers what the last reply calls.
    pub(crate) fn answer_last(&mut self) {
        if let Some(reply) = self.last.take() {
            self.take_up(&reply);
        }
    }

    async fn send(&self, body: String) -> Value {
        let request = reqwest::Client::new().post(format!("{}/v1/responses", self.url));
        let response = request.bearer_auth("a key").body(body).send().await.expect("the server answers");
        let (status, text) = (response.status(), response.text().await.expect("the answer is whole"));
        assert!(status.is_success(), "request {} of {:?}: {text}", self.bodies.len(), self.way);
        if !self.is_streamed {
            return serde_json::from_str(&text).expect("a response");
        }
        let last = text.lines().rev().find_map(|line| line.strip_prefix("data: ")).expect("an event");
        let mut last: Value = serde_json::from_str(last).expect("JSON");
        let is_over = ["response.completed", "response.incomplete"]
            .contains(&last["type"].as_str().unwrap_or_default());
        assert!(is_over, "{last}");
        last["response"].take()
    }

    fn take_up(&mut self, reply: &Value) {
        let output = reply["output"].as_array().expect("items").clone();
        let named = |item: &Value| json!({"type": "item_reference", "id": item["id"]});
        match self.way {
            Way::Whole | Way::ById => self.items.extend(output.clone()),
            Way::Named => self.items.extend(output.iter().map(named)),
        }
        let found = |path: &str| format!("line of {path}: all is well here\n").repeat(30);
        let answer = |call: &Value| {
            let path = call["arguments"].as_str().unwrap_or_default().replace('"', "");
            json!({"type": "function_call_output", "call_id": call["call_id"], "output": found(&path)})
        };
        let calls = output.iter().filter(|item| item["type"] == "function_call");
        self.new = calls.map(answer).collect();
        if self.new.is_empty() {
            self.new.push(text_item("user", "Go on."));
        }
        self.items.extend(self.new.clone());
        self.said.extend(output);
        self.previous = Some(reply["id"].clone());
    }
}
