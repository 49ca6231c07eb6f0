//! Tools as they are offered, and arguments that fit them.

use crate::dice::Dice;
use serde_json::{Map, Value, json};

/// A function the model may call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tool {
    pub(crate) name: String,
    /// The JSON Schema of its arguments.
    pub(crate) schema: Value,
}

/// The function a definition describes, in any protocol's shape; none for tools of the provider's own.
pub(crate) fn parse(definition: &str) -> Option<Tool> {
    let whole: Value = serde_json::from_str(definition).ok()?;
    let inner = whole.get("function").unwrap_or(&whole);
    let schema = inner.get("input_schema").or_else(|| inner.get("parameters"))?.clone();
    Some(Tool { name: inner["name"].as_str()?.to_owned(), schema })
}

/// Schemas nest; what lies deeper than this is left empty.
const DEPTH_MAX: usize = 4;
/// A tool with more fields than this gets the first ones.
const FIELDS_MAX: usize = 12;

impl Tool {
    /// Arguments a model might give: an object that fits the schema as far as it is understood.
    pub(crate) fn arguments(&self, dice: &mut Dice) -> Value {
        object(&self.schema, dice, DEPTH_MAX)
    }
}

/// The required fields of an object, or all where none is required.
fn object(schema: &Value, dice: &mut Dice, depth: usize) -> Value {
    let Some(properties) = schema["properties"].as_object().filter(|_| depth > 0) else { return json!({}) };
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let wanted =
        properties.iter().filter(|(name, _)| required.is_empty() || required.contains(&name.as_str()));
    let fields =
        wanted.take(FIELDS_MAX).map(|(name, field)| (name.clone(), value(name, field, dice, depth - 1)));
    Value::Object(fields.collect::<Map<String, Value>>())
}

fn value(name: &str, schema: &Value, dice: &mut Dice, depth: usize) -> Value {
    if let Some(choices) = schema["enum"].as_array().filter(|choices| !choices.is_empty()) {
        return dice.pick(choices).clone();
    }
    match type_of(schema) {
        "integer" | "number" => json!(1 + dice.below(200)),
        "boolean" => json!(dice.below(2) == 1),
        "array" if depth > 0 => json!([value(name, &schema["items"], dice, depth - 1)]),
        "array" => json!([]),
        "object" => object(schema, dice, depth),
        "null" => Value::Null,
        _ => json!(text(name, dice)),
    }
}

/// The type of a field; the first where several are allowed.
fn type_of(schema: &Value) -> &str {
    let first = schema["type"].as_str().or_else(|| schema["type"][0].as_str());
    first.unwrap_or(if schema["properties"].is_object() { "object" } else { "string" })
}

const FILES: [&str; 6] =
    ["src/lib.rs", "src/parse.rs", "src/session.rs", "tests/replay.rs", "docs/guide.md", "src/index.ts"];
const COMMANDS: [&str; 5] =
    ["cargo test -q", "git diff --stat", "ls -la src", "grep -rn TODO src", "npm run build"];
const PATTERNS: [&str; 4] = ["fn main", "TODO", "parse_header", "impl Display"];

/// A text that suits a field of this name.
fn text(name: &str, dice: &mut Dice) -> String {
    let name = name.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    if has(&["path", "file"]) {
        (*dice.pick(&FILES)).to_owned()
    } else if has(&["command", "cmd", "script"]) {
        (*dice.pick(&COMMANDS)).to_owned()
    } else if has(&["pattern", "query", "search", "regex"]) {
        (*dice.pick(&PATTERNS)).to_owned()
    } else if has(&["url"]) {
        format!("https://example.com/page/{}", dice.below(100))
    } else if has(&["dir", "cwd", "folder"]) {
        "src".to_owned()
    } else {
        format!("step {} of the work", 1 + dice.below(40))
    }
}

#[cfg(test)]
mod tests {
    use super::parse;
    use crate::dice::Dice;
    use serde_json::json;

    #[test]
    fn arguments_fit_the_schema() {
        let line = json!({"type": "object", "properties": {"at": {"type": "integer"}}});
        let definition = json!({"name": "edit", "input_schema": {
            "type": "object",
            "required": ["path", "mode", "lines"],
            "properties": {
                "path": {"type": "string"},
                "mode": {"enum": ["fast"]},
                "note": {"type": "string"},
                "lines": {"type": "array", "items": line},
            },
        }});
        let tool = parse(&definition.to_string()).expect("a tool");
        let arguments = tool.arguments(&mut Dice::new(1, &blake3::hash(b"")));
        assert_eq!(arguments, json!({"path": "src/session.rs", "mode": "fast", "lines": [{"at": 45}]}));
    }

    #[test]
    fn each_protocol_offers_functions_its_own_way() {
        let shapes = [
            json!({"name": "f", "input_schema": {}}),
            json!({"type": "function", "function": {"name": "f", "parameters": {}}}),
            json!({"type": "function", "name": "f", "parameters": {}}),
            json!({"type": "web_search"}),
        ];
        let names = shapes.map(|shape| parse(&shape.to_string()).map(|tool| tool.name));
        assert_eq!(names, [Some("f".into()), Some("f".into()), Some("f".into()), None]);
    }
}
