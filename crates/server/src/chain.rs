//! Which conversation a request belongs to, by what it says and nothing else.
//!
//! Each message has a link: a hash of itself and of every message before it. Two requests with the
//! same link at some place have said the same up to there, for the same credential, protocol and model.
//! Marks for the provider's cache move from turn to turn and are left out, and so are differences of
//! writing that mean nothing: white space, the order of keys, `null` fields, a text in a list of its own.

use blake3::Hasher;
use epitome_wire::Protocol;
use serde_json::{Map, Value};

/// A place in a conversation: everything said up to it, as one hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Link([u8; 32]);

/// Sets our hashes apart from anyone else's of the same content.
const CONTEXT: &str = "epitome 2026-11 conversation chain";

impl Link {
    /// What a conversation begins from, before anything is said. The system prompt and the tools are not part of
    /// it: agents change a date or a file list in them from turn to turn. The model is: counts, caches
    /// and signed thinking are its own.
    pub(crate) fn seed(tenant: &Tenant, protocol: Protocol, model: &str) -> Self {
        let mut hasher = Hasher::new_derive_key(CONTEXT);
        hasher.update(&tenant.0);
        feed_text(&mut hasher, protocol.name());
        feed_text(&mut hasher, model);
        Self(*hasher.finalize().as_bytes())
    }

    /// The link of a message that follows this one; none where it is no JSON.
    pub(crate) fn next(self, message: &str) -> Option<Self> {
        let mut value: Value = serde_json::from_str(message).ok()?;
        if let Value::Object(fields) = &mut value {
            fields.retain(|_, field| !field.is_null());
        }
        tidy(&mut value, CONTENT_DEPTH);
        let mut hasher = Hasher::new_derive_key(CONTEXT);
        hasher.update(&self.0);
        feed(&mut hasher, &value);
        Some(Self(*hasher.finalize().as_bytes()))
    }
}

/// Whose requests these are: a hash of the credential, which itself is never kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tenant([u8; 32]);

impl Tenant {
    /// The tenant of these credentials, in the order they came.
    pub(crate) fn of<'c>(credentials: impl Iterator<Item = &'c [u8]>) -> Self {
        let mut hasher = Hasher::new_derive_key("epitome 2026-11 tenant");
        for credential in credentials {
            hasher.update(&(credential.len() as u64).to_le_bytes());
            hasher.update(credential);
        }
        Self(*hasher.finalize().as_bytes())
    }
}

/// A message holds blocks, and a result among them parts: marks stand nowhere deeper.
const CONTENT_DEPTH: usize = 2;

/// Takes cache marks out, and writes a content of one text as a list.
fn tidy(value: &mut Value, depth: usize) {
    let Value::Object(fields) = value else { return };
    fields.shift_remove("cache_control");
    let Some(content) = fields.get_mut("content").filter(|_| depth > 0) else { return };
    if let Value::String(text) = content {
        let block = [("type".to_owned(), "text".into()), ("text".to_owned(), std::mem::take(text).into())];
        *content = Value::Array(vec![Value::Object(Map::from_iter(block))]);
    }
    if let Value::Array(blocks) = content {
        blocks.iter_mut().for_each(|block| tidy(block, depth - 1));
    }
}

/// Hashes a value so that no two different ones hash the same bytes.
fn feed(hasher: &mut Hasher, value: &Value) {
    match value {
        Value::Null => drop(hasher.update(b"n")),
        Value::Bool(false) => drop(hasher.update(b"f")),
        Value::Bool(true) => drop(hasher.update(b"t")),
        Value::Number(number) => {
            hasher.update(b"#");
            feed_text(hasher, &number.to_string());
        }
        Value::String(text) => {
            hasher.update(b"s");
            feed_text(hasher, text);
        }
        Value::Array(values) => {
            hasher.update(b"[").update(&(values.len() as u64).to_le_bytes());
            values.iter().for_each(|value| feed(hasher, value));
        }
        Value::Object(fields) => {
            hasher.update(b"{").update(&(fields.len() as u64).to_le_bytes());
            let mut sorted: Vec<(&String, &Value)> = fields.iter().collect();
            sorted.sort_unstable_by_key(|(key, _)| *key);
            for (key, value) in sorted {
                feed_text(hasher, key);
                feed(hasher, value);
            }
        }
    }
}

fn feed_text(hasher: &mut Hasher, text: &str) {
    hasher.update(&(text.len() as u64).to_le_bytes());
    hasher.update(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::{Link, Tenant};
    use epitome_wire::Protocol;

    fn seed(credential: &str, model: &str) -> Link {
        Link::seed(&Tenant::of([credential.as_bytes()].into_iter()), Protocol::Anthropic, model)
    }

    fn link(message: &str) -> Option<Link> {
        seed("key", "m").next(message)
    }

    #[test]
    fn marks_and_ways_of_writing_make_no_difference() {
        let plain = link(r#"{"role":"user","content":"hi"}"#);
        let marked = r#"{ "content": [{"text":"hi","type":"text","cache_control":{"type":"ephemeral"}}], "role":"user", "name":null }"#;
        assert!(plain.is_some());
        assert_eq!(link(marked), plain);
    }

    #[test]
    fn a_mark_inside_a_calls_arguments_is_an_argument() {
        let call = |input: &str| {
            link(&format!(
                r#"{{"role":"assistant","content":[{{"type":"tool_use","id":"a","name":"b","input":{input}}}]}}"#
            ))
        };
        assert_ne!(call(r#"{"cache_control":1}"#), call("{}"));
    }

    #[test]
    fn other_words_tenants_models_and_earlier_messages_make_all_the_difference() {
        let message = r#"{"role":"user","content":"hi"}"#;
        let all = [
            link(message),
            link(r#"{"role":"user","content":"ho"}"#),
            seed("other key", "m").next(message),
            seed("key", "n").next(message),
            link(message).and_then(|first| first.next(message)),
        ];
        let distinct: std::collections::HashSet<_> = all.iter().collect();
        assert_eq!((distinct.len(), all.contains(&None)), (all.len(), false));
    }
}
