//! Edits of single fields of a body that stand beside its messages: how long an answer it asks for, and what becomes of thinking that
//! is bound to other words. Everything else stays byte for byte.

use bytes::Bytes;
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::ops::Range;

/// The fields by which an answer's length is asked for.
const OUTPUT_LIMITS: [&str; 3] = ["max_tokens", "max_completion_tokens", "max_output_tokens"];

/// The feature of Anthropic's API that [`drop_unbound_thinking`] is part of.
pub(crate) const BINDING_BETA: &str = "thinking-binding-controls-2026-08-01";

const DROP_BLOCK: &str = r#""block_binding":{"prefix_mismatch_behavior":"drop_block"}"#;

/// A field of an object, and where its value stands.
struct FieldPlace {
    value: Range<usize>,
}

/// The body asking for an answer of at most so many tokens; none where it asks for no more, or says nothing of it.
pub(crate) fn lower_output(body: &Bytes, most: u64) -> Option<Bytes> {
    let fields = fields(body)?;
    let asked = OUTPUT_LIMITS.iter().filter_map(|name| fields.get(*name));
    let lowered: Vec<&FieldPlace> = asked
        .filter(|field| {
            let number = std::str::from_utf8(&body[field.value.clone()]).ok().and_then(|it| it.parse().ok());
            number.is_some_and(|asked: u64| asked > most)
        })
        .collect();
    if lowered.is_empty() {
        return None;
    }
    let mut edited = body.to_vec();
    let mut places: Vec<Range<usize>> = lowered.iter().map(|field| field.value.clone()).collect();
    places.sort_by_key(|place| std::cmp::Reverse(place.start));
    for place in places {
        edited.splice(place, most.to_string().into_bytes());
    }
    Some(edited.into())
}

/// Whether a body has the model think in every reply, so that one whose calls are being answered must begin with it.
pub(crate) fn must_think(body: &Bytes) -> bool {
    thinking(body).is_some_and(|thinking| {
        let mode = thinking.fields.get("type").map(|mode| &thinking.text[mode.value.clone()]);
        mode == Some("\"enabled\"")
    })
}

/// The body with its provider told to drop thinking that is bound to other words rather than refuse it; as it is where it says
/// already what becomes of it, or does not think.
pub(crate) fn drop_unbound_thinking(body: &Bytes) -> Bytes {
    let Some(thinking) = thinking(body).filter(|thinking| !thinking.fields.contains_key("block_binding"))
    else {
        return body.clone();
    };
    let comma = if thinking.fields.is_empty() { "" } else { "," };
    let mut edited = body.to_vec();
    let inside = thinking.at + 1;
    edited.splice(inside..inside, format!("{DROP_BLOCK}{comma}").into_bytes());
    edited.into()
}

/// The `thinking` of a body.
struct ThinkingField<'b> {
    text: &'b str,
    /// Where it stands in the body.
    at: usize,
    fields: HashMap<String, FieldPlace>,
}

fn thinking(body: &Bytes) -> Option<ThinkingField<'_>> {
    let place = fields(body)?.remove("thinking")?.value;
    let text = std::str::from_utf8(&body[place.clone()]).ok()?;
    Some(ThinkingField { text, at: place.start, fields: fields_of(text)? })
}

fn fields(body: &Bytes) -> Option<HashMap<String, FieldPlace>> {
    fields_of(std::str::from_utf8(body).ok()?)
}

/// The fields of an object; of one said twice the last, as it counts for providers.
fn fields_of(text: &str) -> Option<HashMap<String, FieldPlace>> {
    let raw: HashMap<String, &RawValue> = serde_json::from_str(text).ok()?;
    let place = |raw: &RawValue| {
        let start = raw.get().as_ptr() as usize - text.as_ptr() as usize;
        FieldPlace { value: start..start + raw.get().len() }
    };
    Some(raw.into_iter().map(|(name, raw)| (name, place(raw))).collect())
}

#[cfg(test)]
mod tests {
    use super::{drop_unbound_thinking, lower_output, must_think};
    use bytes::Bytes;

    #[test]
    fn one_number_is_another_and_the_rest_stays() {
        let body = Bytes::from(r#"{ "max_tokens" : 32000,"messages":[{"max_tokens":1}], "x":1.50}"#);
        let lowered = r#"{ "max_tokens" : 900,"messages":[{"max_tokens":1}], "x":1.50}"#;
        assert_eq!(lower_output(&body, 900), Some(lowered.into()));
        assert_eq!(lower_output(&body, 32_000), None, "it asks for no more");
        assert_eq!(lower_output(&Bytes::from(r#"{"messages":[]}"#), 900), None);
        let both = Bytes::from(r#"{"max_completion_tokens":7000,"max_tokens":8000}"#);
        assert_eq!(
            lower_output(&both, 900),
            Some(r#"{"max_completion_tokens":900,"max_tokens":900}"#.into())
        );
    }

    #[test]
    fn thinking_is_told_to_give_way_once() {
        let body = Bytes::from(r#"{"thinking":{ "type":"enabled","budget_tokens":1024},"messages":[]}"#);
        let told = drop_unbound_thinking(&body);
        assert_eq!(
            told,
            r#"{"thinking":{"block_binding":{"prefix_mismatch_behavior":"drop_block"}, "type":"enabled","budget_tokens":1024},"messages":[]}"#
        );
        assert_eq!(drop_unbound_thinking(&told), told);
        assert!(must_think(&told) && !must_think(&Bytes::from(r#"{"thinking":{"type":"adaptive"}}"#)));
        let silent = Bytes::from(r#"{"messages":[]}"#);
        assert_eq!((drop_unbound_thinking(&silent), must_think(&silent)), (silent.clone(), false));
    }
}
