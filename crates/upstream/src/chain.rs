//! Stored responses: a client of OpenAI Responses may send only what is new, and name what went before.

use crate::complaint::Complaint;
use serde_json::{Value, json};
use std::collections::{HashMap, VecDeque};

/// More chains than a test run has; the oldest is forgotten first.
const STORED_MAX: usize = 256;

/// The items of each response and of all before it, by its id.
#[derive(Debug, Default)]
pub(crate) struct Chains {
    stored: HashMap<String, Vec<Value>>,
    oldest_first: VecDeque<String>,
}

impl Chains {
    /// Puts what went before in front of the body's input, where the body names it.
    pub(crate) fn extend(&self, body: &mut Value) -> Result<(), Complaint> {
        let Some(id) = body["previous_response_id"].as_str() else { return Ok(()) };
        let before = self.stored.get(id).ok_or_else(|| unknown(id))?;
        let items = before.iter().cloned().chain(items_of(&body["input"])).collect();
        body["input"] = Value::Array(items);
        Ok(())
    }

    /// Stores a response: what it was asked, all of it, and what it said.
    pub(crate) fn store(&mut self, id: String, body: &Value, output: Vec<Value>) {
        if body["store"] == false {
            return;
        }
        if self.oldest_first.len() >= STORED_MAX {
            let oldest = self.oldest_first.pop_front();
            oldest.and_then(|oldest| self.stored.remove(&oldest));
        }
        let items = items_of(&body["input"]).into_iter().chain(output).collect();
        self.stored.insert(id.clone(), items);
        self.oldest_first.push_back(id);
    }
}

/// The items of an input; a bare text is one message.
pub(crate) fn items_of(input: &Value) -> Vec<Value> {
    match input {
        Value::String(text) => vec![json!({"type": "message", "role": "user", "content": text})],
        Value::Array(items) => items.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    }
}

fn unknown(id: &str) -> Complaint {
    Complaint {
        code: Some("previous_response_not_found"),
        param: Some("previous_response_id".into()),
        ..Complaint::invalid(format!("Previous response with id '{id}' not found."))
    }
}
