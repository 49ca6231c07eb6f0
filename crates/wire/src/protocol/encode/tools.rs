//! Tool definitions, from any protocol's shape into another's.

use super::ids::Naming;
use super::{EncodeError, anthropic, openai_chat, openai_responses, raw};
use crate::protocol::Protocol;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json, value::RawValue};
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
    #[serde(default)]
    format: Option<Value>,
    #[serde(borrow, default)]
    function: Option<Function<'a>>,
    #[serde(default)]
    custom: Option<CustomTool>,
}

#[derive(Deserialize)]
struct Function<'a> {
    name: String,
    #[serde(default)]
    description: Option<String>,
    #[serde(borrow, default)]
    parameters: Option<&'a RawValue>,
}

/// A tool that takes free text.
#[derive(Deserialize)]
struct CustomTool {
    name: String,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    format: Option<Value>,
}

/// A tool, whatever shape it came in.
struct Tool<'a> {
    name: String,
    description: Option<String>,
    input: ToolInput<'a>,
}

/// What a tool takes.
enum ToolInput<'a> {
    /// An object of this schema.
    Object(Option<&'a RawValue>),
    /// Free text, of a grammar where one is given.
    Text(Option<Value>),
}

/// The tools as `to` writes them. One that only its own provider can run is left out elsewhere.
pub(super) fn convert(to: Protocol, tools: &[Arc<str>]) -> Result<Vec<Box<RawValue>>, EncodeError> {
    let converted = each(tools, |text| convert_one(to, text))?;
    Ok(converted.into_iter().flatten().collect())
}

/// The names of those that are left out, or what they are where they have none.
pub(super) fn foreign(to: Protocol, tools: &[Arc<str>]) -> Result<Vec<String>, EncodeError> {
    let named = each(tools, |text| {
        let fields: Map<String, Value> = serde_json::from_str(text)?;
        let name = ["name", "type"].into_iter().find_map(|key| fields.get(key)?.as_str());
        let name = name.unwrap_or("without a name").to_owned();
        Ok(convert_one(to, text)?.is_none().then_some(name))
    })?;
    Ok(named.into_iter().flatten().collect())
}

/// What a model calls a tool by, in any protocol's shape; one that only its provider can run may have its kind alone. None
/// where there is neither, or no JSON object at all.
pub fn tool_name(definition: &str) -> Option<String> {
    let ToolDefinition { kind, name, function, custom, .. } = serde_json::from_str(definition).ok()?;
    let inner = function.map(|function| function.name).or(custom.map(|custom| custom.name));
    let hosted = kind.filter(|kind| kind != "function" && kind != "custom");
    name.or(inner).or(hosted).filter(|name| !name.is_empty())
}

fn each<T>(
    tools: &[Arc<str>],
    work: impl Fn(&str) -> Result<T, serde_json::Error>,
) -> Result<Vec<T>, EncodeError> {
    let worked = tools
        .iter()
        .enumerate()
        .map(|(index, text)| work(text).map_err(|source| EncodeError::Tool { index, source }));
    worked.collect()
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
        Protocol::OpenaiChat => {
            matches!(kind, "function" | "custom") && fields.get(kind).is_some_and(Value::is_object)
        }
        Protocol::OpenaiResponses => match kind {
            "function" => is_named,
            "" => false,
            _ => !is_dated && !fields.contains_key("input_schema") && !fields.contains_key("custom"),
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
            return Some(Self { name, description, input: ToolInput::Object(parameters) });
        }
        if let Some(CustomTool { name, description, format }) = given.custom {
            return Some(Self { name, description, input: ToolInput::Text(format) });
        }
        let kind = given.kind.as_deref().unwrap_or("function");
        let input = match (kind, given.input_schema) {
            ("custom", None) => ToolInput::Text(given.format),
            ("function" | "custom", schema) => ToolInput::Object(schema),
            (_, _) => return None,
        };
        Some(Self { name: given.name?, description: given.description, input })
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
                match &self.input {
                    ToolInput::Text(format) => {
                        raw(&ResponsesCustomTool { name, description, format: format.as_ref().map(flat) })
                    }
                    ToolInput::Object(_) => {
                        let function = NamedFunction { name, description, parameters: self.schema() };
                        raw(&ResponsesTool { function })
                    }
                }
            }
        }
    }

    fn name(&self, naming: Naming) -> String {
        naming.name(&self.name)
    }

    /// The schema's own bytes, or one that takes anything where none is usable. Free text is given as an argument of
    /// its own, as calls with it are written.
    fn schema(&self) -> Box<RawValue> {
        let given = match &self.input {
            ToolInput::Object(schema) => *schema,
            ToolInput::Text(_) => {
                let properties = json!({"input": {"type": "string"}});
                return raw(&json!({"type": "object", "properties": properties, "required": ["input"]}));
            }
        };
        let given = given
            .filter(|schema| serde_json::from_str(schema.get()).is_ok_and(|value: Value| is_schema(&value)));
        let anything = || raw(&json!({"type": "object", "properties": {}}));
        given.map_or_else(anything, ToOwned::to_owned)
    }
}

/// A grammar as Responses writes it: Chat Completions puts what it consists of one level deeper.
fn flat(format: &Value) -> Value {
    let mut fields = format.as_object().cloned().unwrap_or_default();
    if let Some(Value::Object(grammar)) = fields.shift_remove("grammar") {
        fields.extend(grammar);
    }
    Value::Object(fields)
}

#[derive(Serialize)]
#[serde(tag = "type", rename = "custom")]
struct ResponsesCustomTool<'a> {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<Value>,
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
