//! Walking through an error body: gateways wrap bodies in strings, strings in arrays, and all of it in
//! events. Only the fields errors are told in are looked at; what a provider repeats of the request is not.

use crate::sse::Events;
use serde_json::Value;

/// Beyond this a body is no error text but repeats the request; its status alone is looked at.
const BODY_BYTES_MAX: usize = 256 * 1024;
/// Gateways wrap gateways: bodies in strings in bodies. Six layers are more than were ever seen; inside a
/// layer the parser itself limits nesting.
const DEPTH_MAX: u32 = 6;
/// Elements of a list looked at; validators list one element for each field they complain of.
const ELEMENTS_MAX: usize = 16;
/// Places in a text at which a wrapped body is looked for.
const WRAPPED_PLACES_MAX: usize = 4;

/// Fields that hold an error's words, or another layer of it.
const TOLD_IN: [&str; 12] = [
    "message",
    "error",
    "errors",
    "detail",
    "details",
    "msg",
    "raw",
    "cause",
    "response",
    "error_message",
    "errormessage",
    "error_description",
];
/// Fields that hold the name of an error.
const NAMED_IN: [&str; 7] = ["code", "type", "status", "error_code", "errorcode", "__type", "reason"];

/// What an error says, in small letters.
#[derive(Debug, Default)]
pub(super) struct ErrorText {
    /// Its words, outermost first.
    pub(super) texts: Vec<String>,
    /// The names it goes by.
    pub(super) codes: Vec<String>,
    /// The first status named inside, for errors that come without one of their own.
    pub(super) status: Option<u16>,
    /// What llama.cpp counted, in fields of their own.
    pub(super) prompt_tokens: Option<u64>,
    /// And its window.
    pub(super) window_tokens: Option<u64>,
    /// Whether there was no body at all.
    pub(super) is_empty: bool,
}

impl ErrorText {
    /// What a body says.
    pub(super) fn of(body: &[u8]) -> Self {
        let mut told = Self { is_empty: body.trim_ascii().is_empty(), ..Self::default() };
        if body.len() <= BODY_BYTES_MAX {
            // Small letters throughout: fragments are told apart without regard to case, and so are keys.
            told.hear(&String::from_utf8_lossy(body).to_ascii_lowercase(), 0);
        }
        told
    }

    /// Whether one of its texts, or of its names with blanks for underscores, satisfies `is_it`.
    pub(super) fn any(&self, is_it: impl Fn(&str) -> bool) -> bool {
        self.texts.iter().any(|text| is_it(text))
            || self.codes.iter().any(|code| is_it(&code.replace(['_', '-'], " ")))
    }

    fn hear(&mut self, text: &str, depth: u32) {
        let text = text.trim();
        if text.is_empty() || depth > DEPTH_MAX {
            return;
        }
        if text.starts_with("event:") || text.starts_with("data:") {
            return self.hear_events(text, depth);
        }
        let braces = text.match_indices('{').map(|(at, _)| at).filter(|&at| at > 0);
        let wrapped =
            std::iter::once(0).chain(braces.take(WRAPPED_PLACES_MAX)).find_map(|at| layer(text, at));
        match wrapped {
            Some((value, start, end)) => {
                self.say(&text[..start]);
                self.walk(&value, depth);
                self.say(&text[end..]);
            }
            None => self.say(text),
        }
    }

    fn hear_events(&mut self, text: &str, depth: u32) {
        let mut events = Events::default();
        let mut all = events.push(text.as_bytes());
        all.extend(events.finish());
        for event in all.iter().take(ELEMENTS_MAX) {
            self.hear(&event.data, depth + 1);
        }
    }

    fn say(&mut self, text: &str) {
        let text = text.trim();
        if !text.is_empty() {
            self.texts.push(text.replace('\u{2019}', "'"));
        }
    }

    fn walk(&mut self, value: &Value, depth: u32) {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
            Value::String(text) => self.hear(text, depth + 1),
            Value::Array(all) => all.iter().take(ELEMENTS_MAX).for_each(|element| self.walk(element, depth)),
            Value::Object(fields) => fields.iter().for_each(|(key, inner)| self.field(key, inner, depth)),
        }
    }

    fn field(&mut self, key: &str, value: &Value, depth: u32) {
        match (key, value) {
            ("n_prompt_tokens", Value::Number(number)) => self.prompt_tokens = number.as_u64(),
            ("n_ctx", Value::Number(number)) => self.window_tokens = number.as_u64(),
            // What a router heard from upstream. The rest of it may be the caller's own.
            ("metadata", Value::Object(inner)) => {
                inner.get("raw").into_iter().for_each(|raw| self.walk(raw, depth));
            }
            (_, Value::String(name)) if NAMED_IN.contains(&key) => self.name(name),
            (_, Value::Number(number)) if NAMED_IN.contains(&key) => self.name(&number.to_string()),
            _ if TOLD_IN.contains(&key) => self.walk(value, depth),
            _ => {}
        }
    }

    fn name(&mut self, name: &str) {
        let status = name.parse().ok().filter(|status| (400..600).contains(status));
        self.status = self.status.or(status);
        self.codes.push(name.to_owned());
    }
}

/// The body that begins at this place of a text, with its place and its end. A list or a string is one only
/// where nothing stands before it.
fn layer(text: &str, at: usize) -> Option<(Value, usize, usize)> {
    let mut values = serde_json::Deserializer::from_str(&text[at..]).into_iter::<Value>();
    let value = values.next()?.ok()?;
    let is_layer = value.is_object() || at == 0 && (value.is_array() || value.is_string());
    is_layer.then(|| (value, at, at + values.byte_offset()))
}
