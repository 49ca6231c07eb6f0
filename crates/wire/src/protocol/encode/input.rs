//! The arguments of a call: the original bytes where they are what the protocol wants, wrapped where not.

use super::raw;
use crate::validate::is_blank;
use epitome_core::Call;
use serde::Serialize;
use serde_json::{Value, value::RawValue};

/// Free text, given as an argument of its own.
#[derive(Serialize)]
struct TextArgument<'a> {
    input: &'a str,
}

/// As a JSON object.
pub(in super::super) fn object(call: &Call) -> Box<RawValue> {
    let given = json(&call.input).filter(|(value, _)| value.is_object() && !call.freeform);
    given.map_or_else(|| substitute(call), |(_, raw)| raw)
}

/// As a string of JSON; the original string wherever it is one.
pub(super) fn string(call: &Call) -> String {
    let is_json = !call.freeform && json(&call.input).is_some();
    if is_json { call.input.to_string() } else { substitute(call).get().to_owned() }
}

fn substitute(call: &Call) -> Box<RawValue> {
    if is_blank(&call.input) && !call.freeform {
        return raw(&serde_json::Map::new());
    }
    raw(&TextArgument { input: &call.input })
}

/// How deep JSON may nest so that a parser with the usual limit of 128 still reads the body around it.
const DEPTH_MAX: usize = 100;

/// JSON that any parser reads back, with its own bytes.
pub(in super::super) fn json(text: &str) -> Option<(Value, Box<RawValue>)> {
    let value: Value = serde_json::from_str(text).ok()?;
    let raw = RawValue::from_string(text.to_owned()).ok()?;
    (depth(&value) <= DEPTH_MAX).then_some((value, raw))
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(values) => 1 + values.iter().map(depth).max().unwrap_or(0),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::{object, string};
    use epitome_core::Call;

    fn written(input: &str, freeform: bool) -> (String, String) {
        let call = Call { id: "1".into(), name: "run".into(), input: input.into(), freeform };
        (object(&call).get().to_owned(), string(&call))
    }

    fn both(text: &str) -> (String, String) {
        (text.to_owned(), text.to_owned())
    }

    #[test]
    fn an_object_keeps_its_bytes() {
        let odd = r#"{"b": 1.0e2,"a":[ ]}"#;
        assert_eq!(written(odd, false), both(odd));
    }

    #[test]
    fn what_is_no_object_becomes_one() {
        assert_eq!(written("[1]", false), (r#"{"input":"[1]"}"#.into(), "[1]".into()));
        assert_eq!(written("{oops", false), both(r#"{"input":"{oops"}"#));
        assert_eq!(written("{}", true), both(r#"{"input":"{}"}"#));
        assert_eq!(written(" ", false), both("{}"));
    }

    #[test]
    fn json_other_parsers_would_refuse_is_carried_as_text() {
        let surrogate = r#"{"a":"\ud800"}"#;
        assert_eq!(written(surrogate, false), both(r#"{"input":"{\"a\":\"\\ud800\"}"}"#));
        let deep = format!("{}{}", "[".repeat(101), "]".repeat(101));
        assert_eq!(written(&deep, false), both(&format!(r#"{{"input":"{deep}"}}"#)));
    }
}
