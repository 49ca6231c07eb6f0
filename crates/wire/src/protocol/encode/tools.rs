//! Tool definitions, from any protocol's shape into another's.

use super::ids::Naming;
use super::{EncodeError, anthropic, openai_chat, openai_responses, raw};
use crate::protocol::Protocol;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, value::RawValue};
use std::sync::Arc;

/// A definition in any shape: the fields of all of them.
#[derive(Deserialize)]
struct ToolDefinition<'a> {
    #[serde(rename = "type", default)]
    kind: Option<String>,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    description: Option<String>,
    #[serde(borrow, default, alias = "inputSchema", alias = "parameters")]
    input_schema: Option<&'a RawValue>,
    #[serde(borrow, default)]
    function: Option<Function<'a>>,
}

#[derive(Deserialize)]
struct Function<'a> {
    name: String,
    #[serde(default)]
    description: Option<String>,
    #[serde(borrow, default)]
    parameters: Option<&'a RawValue>,
}

/// A function tool, whatever shape it came in.
struct Tool<'a> {
    name: String,
    description: Option<String>,
    schema: Option<&'a RawValue>,
}

/// The tools as `to` writes them. One that only its own provider can run is left out elsewhere.
pub(super) fn convert(to: Protocol, tools: &[Arc<str>]) -> Result<Vec<Box<RawValue>>, EncodeError> {
    let converted = tools
        .iter()
        .enumerate()
        .map(|(index, text)| convert_one(to, text).map_err(|source| EncodeError::Tool { index, source }));
    Ok(converted.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
}

fn convert_one(to: Protocol, text: &str) -> Result<Option<Box<RawValue>>, serde_json::Error> {
    let fields: Map<String, Value> = serde_json::from_str(text)?;
    if is_shape_of(to, &fields) {
        return verbatim(text, fields).map(Some);
    }
    let Some(tool) = Tool::of(serde_json::from_str(text)?) else { return Ok(None) };
    Ok(Some(tool.written(to)))
}

/// Whether `to` already writes tools like this.
fn is_shape_of(to: Protocol, fields: &Map<String, Value>) -> bool {
    let kind = fields.get("type").and_then(Value::as_str).unwrap_or_default();
    let is_dated = is_dated(kind);
    let is_named = fields.get("name").is_some_and(Value::is_string);
    match to {
        Protocol::Anthropic => is_named && (is_dated || fields.get("input_schema").is_some_and(is_schema)),
        Protocol::OpenaiChat => kind == "function" && fields.get("function").is_some_and(Value::is_object),
        Protocol::OpenaiResponses => match kind {
            "function" => is_named,
            "" => false,
            _ => !is_dated && !fields.contains_key("input_schema"),
        },
    }
}

/// Anthropic's own tools carry the date of their version: `web_search_20250305`.
fn is_dated(kind: &str) -> bool {
    let date = kind.rsplit_once('_').map_or("", |(_, date)| date);
    date.len() == 8 && date.bytes().all(|b| b.is_ascii_digit())
}

fn is_schema(schema: &Value) -> bool {
    schema["type"] == "object"
}

/// As it came, but for a cache mark: those are the sender's to place.
fn verbatim(text: &str, mut fields: Map<String, Value>) -> Result<Box<RawValue>, serde_json::Error> {
    match fields.shift_remove("cache_control") {
        Some(_) => Ok(raw(&fields)),
        None => RawValue::from_string(text.to_owned()),
    }
}

impl<'a> Tool<'a> {
    fn of(given: ToolDefinition<'a>) -> Option<Self> {
        if let Some(Function { name, description, parameters }) = given.function {
            return Some(Self { name, description, schema: parameters });
        }
        let is_function = given.kind.as_deref().is_none_or(|kind| matches!(kind, "function" | "custom"));
        let name = given.name.filter(|_| is_function)?;
        Some(Self { name, description: given.description, schema: given.input_schema })
    }

    fn written(&self, to: Protocol) -> Box<RawValue> {
        let description = self.description.as_deref();
        match to {
            Protocol::Anthropic => raw(&AnthropicTool {
                name: self.name(anthropic::NAMING),
                description,
                input_schema: self.schema(),
            }),
            Protocol::OpenaiChat => {
                let name = self.name(openai_chat::NAMING);
                let function = NamedFunction { name, description, parameters: self.schema() };
                raw(&ChatTool { function })
            }
            Protocol::OpenaiResponses => {
                let name = self.name(openai_responses::NAMING);
                let function = NamedFunction { name, description, parameters: self.schema() };
                raw(&ResponsesTool { function })
            }
        }
    }

    fn name(&self, naming: Naming) -> String {
        naming.name(&self.name)
    }

    /// The schema's own bytes, or one that takes anything where none is usable.
    fn schema(&self) -> Box<RawValue> {
        let given = self
            .schema
            .filter(|schema| serde_json::from_str(schema.get()).is_ok_and(|value: Value| is_schema(&value)));
        let anything = || raw(&serde_json::json!({"type": "object", "properties": {}}));
        given.map_or_else(anything, ToOwned::to_owned)
    }
}

#[derive(Serialize)]
struct AnthropicTool<'a> {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    input_schema: Box<RawValue>,
}

#[derive(Serialize)]
struct NamedFunction<'a> {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    parameters: Box<RawValue>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename = "function")]
struct ChatTool<'a> {
    function: NamedFunction<'a>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename = "function")]
struct ResponsesTool<'a> {
    #[serde(flatten)]
    function: NamedFunction<'a>,
}

#[cfg(test)]
mod tests {
    use super::{Protocol, convert};
    use std::sync::Arc;

    fn converted(to: Protocol, tool: &str) -> Vec<String> {
        let tools = convert(to, &[Arc::from(tool)]).expect("it is an object");
        tools.iter().map(|tool| tool.get().to_owned()).collect()
    }

    const ANTHROPIC: &str = r#"{"name":"run","description":"runs","input_schema":{"type":"object","properties":{"n":{"minimum":1.0}}}}"#;
    const CHAT: &str = r#"{"type":"function","function":{"name":"run","description":"runs","parameters":{"type":"object","properties":{"n":{"minimum":1.0}}}}}"#;
    const RESPONSES: &str = r#"{"type":"function","name":"run","description":"runs","parameters":{"type":"object","properties":{"n":{"minimum":1.0}}}}"#;

    #[test]
    fn each_shape_becomes_each_other() {
        for tool in [ANTHROPIC, CHAT, RESPONSES] {
            assert_eq!(converted(Protocol::Anthropic, tool), [ANTHROPIC]);
            assert_eq!(converted(Protocol::OpenaiChat, tool), [CHAT]);
            assert_eq!(converted(Protocol::OpenaiResponses, tool), [RESPONSES]);
        }
    }

    #[test]
    fn a_tool_only_its_provider_can_run_stays_there() {
        let search = r#"{"type":"web_search_20250305","name":"web_search"}"#;
        assert_eq!(converted(Protocol::Anthropic, search), [search]);
        assert_eq!(converted(Protocol::OpenaiChat, search), [""; 0]);
        let hosted = r#"{"type":"web_search"}"#;
        assert_eq!(converted(Protocol::OpenaiResponses, hosted), [hosted]);
        assert_eq!(converted(Protocol::Anthropic, hosted), [""; 0]);
    }

    #[test]
    fn cache_marks_and_unusable_schemas_are_left_behind() {
        let marked = r#"{"name":"a","cache_control":{"type":"ephemeral"},"input_schema":{"type":"object"}}"#;
        assert_eq!(
            converted(Protocol::Anthropic, marked),
            [r#"{"name":"a","input_schema":{"type":"object"}}"#]
        );
        let bare = r#"{"name":"a","parameters":null}"#;
        let schema = r#"{"name":"a","input_schema":{"type":"object","properties":{}}}"#;
        assert_eq!(converted(Protocol::Anthropic, bare), [schema]);
    }

    #[test]
    fn what_is_no_object_is_refused() {
        assert!(convert(Protocol::Anthropic, &[Arc::from("[]")]).is_err());
    }
}
