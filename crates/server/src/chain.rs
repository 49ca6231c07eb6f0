//! Which conversation a request belongs to, by what it says and nothing else.
//!
//! Each message has a hash of itself and of every message before it, keyed with a secret of this process, or of the
//! store that outlives it. Two
//! requests with the same hash at some place have said the same up to there, in the same protocol; whose they are is
//! the tenant's to tell apart. Neither model nor policy is part of it.
//! Marks for the provider's cache move from turn to turn and are left out, and so are differences of
//! writing that mean nothing: white space, the order of keys, `null` fields, a text in a list of its own.

use crate::json_fields::{JsonFields, JsonString};
use blake3::Hasher;
use epitome_core::{Block, Message};
use epitome_engine::store::{ChainHash, TenantId};
use epitome_wire::Protocol;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher as _};

/// A secret of this process or its store: nobody can make hashes that lead to another's content.
pub(crate) struct ChainKey([u8; 32]);

impl ChainKey {
    /// A new secret. The standard library seeds its hash maps from the system's own source of chance.
    pub(crate) fn new() -> Self {
        let mut key = [0; 32];
        for part in key.chunks_exact_mut(8) {
            let chance = RandomState::new().build_hasher().finish();
            part.copy_from_slice(&chance.to_le_bytes());
        }
        Self(key)
    }

    /// The secret of a store: what it keys is found again by whoever opens that.
    pub(crate) fn of_store(key: [u8; 32]) -> Self {
        Self(key)
    }

    /// The same for a server that observes: what it takes up is found by no other, whose sessions are of contexts that it has written.
    pub(crate) fn observing(self) -> Self {
        Self(*Hasher::new_keyed(&self.0).update(b"observing").finalize().as_bytes())
    }

    /// Whose requests these are: a keyed hash of the credentials, in the order they came. They are never kept.
    pub(crate) fn tenant<'c>(&self, credentials: impl Iterator<Item = &'c [u8]>) -> TenantId {
        let mut hasher = Hasher::new_keyed(&self.0);
        hasher.update(b"tenant");
        for credential in credentials {
            hasher.update(&(credential.len() as u64).to_le_bytes());
            hasher.update(credential);
        }
        TenantId(*hasher.finalize().as_bytes())
    }

    /// What something is called that its provider calls `id`: the same for nobody else, and no way back to it.
    pub(crate) fn name(&self, tenant: TenantId, id: &str) -> String {
        let mut hasher = Hasher::new_keyed(&self.0);
        hasher.update(b"name").update(&tenant.0);
        feed_text(&mut hasher, id);
        hasher.finalize().to_hex().to_string()
    }

    /// What a conversation begins from, before anything is said. The system prompt and the tools are not part of
    /// it: agents change a date or a file list in them from turn to turn.
    pub(crate) fn seed(&self, protocol: Protocol) -> ChainHash {
        let mut hasher = Hasher::new_keyed(&self.0);
        feed_text(&mut hasher, protocol.name());
        ChainHash(*hasher.finalize().as_bytes())
    }

    /// What the bytes of a tenant's lists are hashed with: the same bytes of another's are others.
    pub(crate) fn list_seed(&self, tenant: TenantId, protocol: Protocol) -> [u8; 32] {
        let mut hasher = Hasher::new_keyed(&self.0);
        hasher.update(b"list").update(&tenant.0);
        feed_text(&mut hasher, protocol.name());
        *hasher.finalize().as_bytes()
    }

    /// The hash of these pieces of a request, byte for byte.
    pub(crate) fn bytes(&self, protocol: Protocol, pieces: &[&str]) -> [u8; 32] {
        let mut hasher = Hasher::new_keyed(&self.0);
        hasher.update(b"bytes");
        feed_text(&mut hasher, protocol.name());
        pieces.iter().for_each(|piece| feed_text(&mut hasher, piece));
        *hasher.finalize().as_bytes()
    }

    /// The hash of a message, JSON, that follows what `before` stands for.
    pub(crate) fn next(&self, before: ChainHash, message: &str) -> ChainHash {
        #[cfg(test)]
        crate::work_count::add_hashed(message.len());
        let mut hasher = Hasher::new_keyed(&self.0);
        hasher.update(&before.0);
        feed_message(&mut hasher, message);
        ChainHash(*hasher.finalize().as_bytes())
    }

    /// The hash of what a reply says that follows what `before` stands for, however its client writes it.
    pub(crate) fn said(&self, before: ChainHash, reply: &Message) -> ChainHash {
        let mut hasher = Hasher::new_keyed(&self.0);
        hasher.update(b"said").update(&before.0);
        for block in &reply.blocks {
            match block {
                // Arguments are JSON, and clients write that in their own way.
                Block::Call(call) => {
                    hasher.update(b"c");
                    feed_text(&mut hasher, &call.id.0);
                    feed_text(&mut hasher, &call.name);
                    feed_leaf(&mut hasher, &call.input);
                }
                block @ (Block::Text { .. }
                | Block::Thinking { .. }
                | Block::Image(_)
                | Block::Opaque(_)
                | Block::Result(_)) => {
                    feed_text(&mut hasher, &serde_json::to_string(block).unwrap_or_default())
                }
            }
        }
        ChainHash(*hasher.finalize().as_bytes())
    }
}

/// A message holds blocks, and a result among them parts: marks stand nowhere deeper.
const CONTENT_DEPTH: usize = 2;

/// How OpenAI Responses names a text by who says it, which its message says too.
const TEXT_TYPES: [&str; 2] = [r#""input_text""#, r#""output_text""#];

fn feed_message(hasher: &mut Hasher, message: &str) {
    // A text in the place of the whole list of OpenAI Responses is the user's message.
    if message.starts_with('"') {
        let said = format!(r#"{{"role":"user","content":{message}}}"#);
        return feed_message(hasher, &said);
    }
    let Ok(mut fields) = serde_json::from_str(message).map(JsonFields::sorted) else {
        return feed_leaf(hasher, message);
    };
    fields.0.retain(|(_, field)| field.get() != "null");
    // OpenAI Responses may say of what has a role that it is a message, and need not.
    if fields.get("role").is_some() && fields.get("type").is_some_and(|kind| kind.get() == r#""message""#) {
        fields.remove("type");
    }
    feed_fields(hasher, fields, CONTENT_DEPTH);
}

/// Hashes an object without its cache mark; a content in it, `depth` levels down, by what is said in it.
fn feed_fields(hasher: &mut Hasher, mut fields: JsonFields<'_>, depth: usize) {
    fields.remove("cache_control");
    hasher.update(b"{").update(&(fields.0.len() as u64).to_le_bytes());
    for (key, value) in fields.0 {
        feed_text(hasher, &key);
        match depth.checked_sub(1).filter(|_| key == "content") {
            Some(depth) => feed_content(hasher, value.get(), depth),
            None if key == "type" && TEXT_TYPES.contains(&value.get()) => feed_leaf(hasher, r#""text""#),
            None => feed_leaf(hasher, value.get()),
        }
    }
}

/// A text is a list of one block.
fn feed_content(hasher: &mut Hasher, content: &str, depth: usize) {
    if content.starts_with('"') {
        hasher.update(b"[").update(&1_u64.to_le_bytes()).update(b"{").update(&2_u64.to_le_bytes());
        feed_text(hasher, "text");
        feed_leaf(hasher, content);
        feed_text(hasher, "type");
        return feed_leaf(hasher, r#""text""#);
    }
    let Ok(blocks) = serde_json::from_str::<Vec<&RawValue>>(content) else {
        return feed_leaf(hasher, content);
    };
    hasher.update(b"[").update(&(blocks.len() as u64).to_le_bytes());
    for block in blocks {
        match serde_json::from_str(block.get()) {
            Ok(fields) => feed_fields(hasher, JsonFields::sorted(fields), depth),
            Err(_) => feed_leaf(hasher, block.get()),
        }
    }
}

/// Hashes a value by what it means. Half a surrogate pair, a number beyond any float and what is nested too deep mean
/// nothing to a parser: they go by their bytes.
fn feed_leaf(hasher: &mut Hasher, json: &str) {
    // Nearly all that is said stands in texts without an escape, which need no copy.
    if let Some(JsonString(text)) = json.starts_with('"').then(|| serde_json::from_str(json).ok()).flatten() {
        return feed_string(hasher, &text);
    }
    match serde_json::from_str(json) {
        Ok(value) => feed(hasher, &value),
        Err(_) => {
            hasher.update(b"r");
            feed_text(hasher, json);
        }
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
        Value::String(text) => feed_string(hasher, text),
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

fn feed_string(hasher: &mut Hasher, text: &str) {
    hasher.update(b"s");
    feed_text(hasher, text);
}

fn feed_text(hasher: &mut Hasher, text: &str) {
    hasher.update(&(text.len() as u64).to_le_bytes());
    hasher.update(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::ChainKey;
    use epitome_engine::store::ChainHash;
    use epitome_wire::Protocol;

    const KEY: ChainKey = ChainKey([7; 32]);

    fn hash(message: &str) -> ChainHash {
        KEY.next(KEY.seed(Protocol::Anthropic), message)
    }

    #[test]
    fn marks_and_ways_of_writing_make_no_difference() {
        let plain = hash(r#"{"role":"user","content":"hi"}"#);
        let marked = r#"{ "content": [{"text":"hi","type":"text","cache_control":{"type":"ephemeral"}}], "role":"user", "name":null }"#;
        assert_eq!(hash(marked), plain);
    }

    #[test]
    fn a_text_for_a_list_is_the_message_it_stands_for() {
        let all = [
            r#""hi""#,
            r#"{"role":"user","content":"hi"}"#,
            r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}"#,
        ];
        assert_eq!(all.map(hash), [hash(all[0]); 3]);
        assert_ne!(hash(r#"{"type":"reasoning","content":"hi"}"#), hash(r#"{"content":"hi"}"#));
    }

    #[test]
    fn a_mark_inside_a_calls_arguments_is_an_argument() {
        let call = |input: &str| {
            hash(&format!(
                r#"{{"role":"assistant","content":[{{"type":"tool_use","id":"a","name":"b","input":{input}}}]}}"#
            ))
        };
        assert_ne!(call(r#"{"cache_control":1}"#), call("{}"));
    }

    #[test]
    fn other_words_protocols_secrets_and_earlier_messages_make_all_the_difference() {
        let message = r#"{"role":"user","content":"hi"}"#;
        let other = ChainKey([8; 32]);
        let all = [
            hash(message),
            hash(r#"{"role":"user","content":"ho"}"#),
            KEY.next(KEY.seed(Protocol::OpenaiChat), message),
            other.next(other.seed(Protocol::Anthropic), message),
            KEY.next(hash(message), message),
        ];
        let distinct: std::collections::HashSet<_> = all.iter().collect();
        assert_eq!(distinct.len(), all.len());
    }

    #[test]
    fn what_no_parser_reads_is_told_apart_by_its_bytes_and_marks_still_make_no_difference() {
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        let odd = ["\"a\\ud83d\"", "\"a\\ud83e\"", "1e999", "2e999", &deep];
        let block = |value: &str, mark: &str| {
            hash(&format!(r#"{{"role":"user","content":[{{"type":"x","value":{value}{mark}}}]}}"#))
        };
        let distinct: std::collections::HashSet<_> = odd.iter().map(|value| block(value, "")).collect();
        assert_eq!(distinct.len(), odd.len());
        for value in odd {
            assert_eq!(block(value, r#","cache_control":{"type":"ephemeral"}"#), block(value, ""));
        }
    }

    #[test]
    fn hashes_that_stores_hold_are_made_for_ever() {
        let all = [
            r#"{"role":"user","content":"hi"}"#,
            r#"{"role":"user","role":"assistant","content":[{"type":"text","text":"a\n\u00e9","text":"b"}],"name":null}"#,
            r#"{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"n","input":{"b":[1,2.5,true,null],"a":"x"}}]}"#,
            r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"cut \ud83d"}]}"#,
        ];
        let made = all.map(|message| blake3::Hash::from(hash(message).0).to_hex()[..16].to_owned());
        assert_eq!(made, ["c8e3c1a2e675f0eb", "e969ac29c7715f37", "b5f31c11d5f5b47a", "249ec7fe6d05aaea"]);
    }

    #[test]
    fn each_credential_is_a_tenant_and_each_secret_another() {
        let tenant = |key: &ChainKey, credential: &str| key.tenant([credential.as_bytes()].into_iter());
        assert_eq!(tenant(&KEY, "a"), tenant(&KEY, "a"));
        assert_ne!(tenant(&KEY, "a"), tenant(&KEY, "b"));
        assert_ne!(tenant(&KEY, "a"), tenant(&ChainKey::new(), "a"));
    }
}
