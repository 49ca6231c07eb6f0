//! What a message of a request says of itself, read from its JSON.

use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::HashMap;

/// The role of a message; empty where it has none. Of a role said twice the last counts, as it does for providers.
pub(crate) fn role(message: &str) -> String {
    text(message, "role").unwrap_or_default()
}

/// The type of an item of OpenAI Responses; empty where it has none.
pub(crate) fn kind(item: &str) -> String {
    text(item, "type").unwrap_or_default()
}

/// The id of the call that an item makes or answers.
pub(crate) fn call_id(item: &str) -> Option<String> {
    let key = match &*kind(item) {
        "mcp_approval_request" => "id",
        "mcp_approval_response" => "approval_request_id",
        _ => "call_id",
    };
    text(item, key)
}

/// Whether an item answers a call.
pub(crate) fn is_answer(item: &str) -> bool {
    let kind = kind(item);
    kind == "mcp_approval_response" || kind.ends_with("_output")
}

/// The id that its provider gave an item.
pub(crate) fn id(item: &str) -> Option<String> {
    text(item, "id")
}

/// Whether an item is what the model said or did, or names that.
pub(crate) fn is_models(item: &str) -> bool {
    match &*kind(item) {
        "" | "message" => role(item) == "assistant" || reference(item).is_some(),
        _ => !is_answer(item),
    }
}

/// Whether an item is a summary that the provider of OpenAI Responses made and sealed.
pub(crate) fn is_sealed(item: &str) -> bool {
    // Most items are not, and most bytes of a list need no second look for it.
    item.contains(r#""compaction""#) && kind(item) == "compaction"
}

/// Whether a message of Anthropic's has a block of this type.
pub(crate) fn has_block(message: &str, wanted: &str) -> bool {
    #[derive(Deserialize)]
    struct MessageBlocks<'m> {
        #[serde(borrow)]
        content: Vec<Typed<'m>>,
    }
    #[derive(Deserialize)]
    struct Typed<'b> {
        #[serde(borrow, rename = "type")]
        kind: Cow<'b, str>,
    }
    // Most messages have none, and need no parser to tell.
    message.contains(wanted)
        && serde_json::from_str(message)
            .is_ok_and(|MessageBlocks { content }| content.iter().any(|block| block.kind == wanted))
}

/// An id and what stands around it take no more; longer items are more than a name.
const REFERENCE_BYTES_MAX: usize = 512;

/// The id of the item that one only names; an id alone is enough to name it.
pub(crate) fn reference(item: &str) -> Option<String> {
    if item.len() > REFERENCE_BYTES_MAX {
        return None;
    }
    let is_more = [r#""type""#, r#""role""#].iter().any(|key| item.contains(key));
    if is_more && !item.contains("item_reference") {
        return None;
    }
    let fields: HashMap<String, &RawValue> = serde_json::from_str(item).ok()?;
    let is_bare = fields.len() == 1;
    let is_named = fields.get("type").is_some_and(|kind| kind.get() == r#""item_reference""#);
    let id = fields.get("id").filter(|_| is_bare || is_named)?;
    String::deserialize(*id).ok()
}

fn text(message: &str, key: &str) -> Option<String> {
    let fields: HashMap<String, &RawValue> = serde_json::from_str(message).ok()?;
    fields.get(key).and_then(|value| String::deserialize(*value).ok())
}

#[cfg(test)]
mod tests {
    use super::{call_id, is_answer, is_models, reference, role};

    #[test]
    fn a_role_is_read_wherever_it_stands() {
        let messages = [
            r#"{"content":null,"role":"tool"}"#,
            r#"{"role":"user","content":"a\ud83d","content":1e999}"#,
            r#"{"role":"user","role":"system"}"#,
            "7",
        ];
        assert_eq!(messages.map(role), ["tool", "user", "system", ""]);
    }

    #[test]
    fn an_item_that_only_names_another_has_an_id_and_no_more_to_say() {
        let items = [
            r#"{"type":"item_reference","id":"rs_1"}"#,
            r#"{"id":"rs_2"}"#,
            r#"{"type":"reasoning","id":"rs_3","summary":[]}"#,
            r#"{"role":"user"}"#,
        ];
        assert_eq!(items.map(reference), [Some("rs_1".to_owned()), Some("rs_2".to_owned()), None, None]);
        assert_eq!(items.map(is_models), [true, true, true, false]);
    }

    #[test]
    fn a_call_and_its_answer_have_one_id() {
        let pairs = [
            [
                r#"{"type":"shell_call","id":"x","call_id":"c"}"#,
                r#"{"type":"shell_call_output","call_id":"c"}"#,
            ],
            [
                r#"{"type":"mcp_approval_request","id":"c"}"#,
                r#"{"type":"mcp_approval_response","id":"x","approval_request_id":"c"}"#,
            ],
        ];
        for pair in pairs {
            assert_eq!(
                pair.map(|item| (is_answer(item), call_id(item))),
                [false, true].map(|it| (it, Some("c".to_owned())))
            );
        }
    }
}
