//! Stored responses: a client of OpenAI Responses may send only what is new, and name what went before, or name single
//! items. What came of reasoning is not taken back without it.

use crate::complaint::Complaint;
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet, VecDeque};

/// More chains than a test run has; the oldest is forgotten first.
const STORED_MAX: usize = 256;

/// The items of each response and of all before it, by its id.
#[derive(Debug, Default)]
pub(crate) struct Chains {
    stored: HashMap<String, Vec<Value>>,
    oldest_first: VecDeque<String>,
    /// Items of stored responses, by their ids.
    items: HashMap<String, Value>,
    /// The reasoning that led to an item, by their ids.
    reasons: HashMap<String, String>,
}

/// More items than the responses of a test run have; beyond it all are forgotten.
const ITEMS_MAX: usize = 16_384;

impl Chains {
    /// Puts what went before in front of the body's input, where the body names it.
    pub(crate) fn extend(&self, body: &mut Value) -> Result<(), Complaint> {
        if let Some(id) = body["previous_response_id"].as_str() {
            let before = self.stored.get(id).ok_or_else(|| unknown(id))?;
            let items = before.iter().cloned().chain(items_of(&body["input"])).collect();
            body["input"] = Value::Array(items);
        }
        let Some(items) = body["input"].as_array_mut() else { return Ok(()) };
        for item in items.iter_mut().filter(|item| item["type"] == "item_reference") {
            let id = item["id"].as_str().unwrap_or_default();
            *item = self.items.get(id).cloned().ok_or_else(|| not_found(id))?;
        }
        self.check_reasons(items)
    }

    /// Refuses an item without the reasoning that led to it.
    fn check_reasons(&self, items: &[Value]) -> Result<(), Complaint> {
        let mut seen = HashSet::new();
        for (at, item) in items.iter().enumerate() {
            let Some(id) = item["id"].as_str() else { continue };
            if let Some(reason) = self.reasons.get(id).filter(|reason| !seen.contains(reason.as_str())) {
                return Err(unreasoned(at, item, reason));
            }
            seen.insert(id);
        }
        Ok(())
    }

    fn note_items(&mut self, output: &[Value], is_stored: bool) {
        if self.items.len() + self.reasons.len() + output.len() > ITEMS_MAX {
            self.items.clear();
            self.reasons.clear();
        }
        let mut reason = None;
        for item in output {
            let Some(id) = item["id"].as_str() else { continue };
            if is_stored {
                self.items.insert(id.to_owned(), item.clone());
            }
            if item["type"] == "reasoning" {
                reason = Some(id.to_owned());
            } else if let Some(reason) = reason.take() {
                self.reasons.insert(id.to_owned(), reason);
            }
        }
    }

    /// Stores a response: what it was asked, all of it, and what it said.
    pub(crate) fn store(&mut self, id: String, body: &Value, output: Vec<Value>) {
        let is_stored = body["store"] != false;
        self.note_items(&output, is_stored);
        if !is_stored {
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

fn not_found(id: &str) -> Complaint {
    let param = Some("input".into());
    Complaint { param, ..Complaint::invalid(format!("Item with id '{id}' not found.")) }
}

fn unreasoned(at: usize, item: &Value, reason: &str) -> Complaint {
    let (id, kind) = (item["id"].as_str().unwrap_or_default(), item["type"].as_str().unwrap_or_default());
    let message = format!(
        "Item '{id}' of type '{kind}' was provided without its required 'reasoning' item: '{reason}'."
    );
    Complaint { param: Some(format!("input[{at}]")), ..Complaint::invalid(message) }
}

fn unknown(id: &str) -> Complaint {
    Complaint {
        code: Some("previous_response_not_found"),
        param: Some("previous_response_id".into()),
        ..Complaint::invalid(format!("Previous response with id '{id}' not found."))
    }
}
