//! The lines we append beside those the tools wrote themselves: the same keys, with values of the same types.

use super::{boundary, corpus, load, transcript};
use epitome_wire::{Format, append};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a tool writes and we do not.
type Exceptions = &'static [&'static str];

/// `promptId` is that of the prompt being answered, and a compaction of ours answers none. `slug` is taken
/// over where the last message has one; this session was named only in a note behind it.
const CLAUDE_CODE: Exceptions = &["/promptId", "/slug"];

/// The newest Codex counts its context windows. Earlier ones write none of these, or `window_id` as a
/// number, so whoever resumes a session does without.
const CODEX: Exceptions = &[
    "/payload/first_window_id",
    "/payload/previous_window_id",
    "/payload/window_id",
    "/payload/window_number",
];

/// The type at each path of a line; of a list, that of its elements.
fn shape(line: &Value) -> BTreeMap<String, &'static str> {
    let mut shape = BTreeMap::new();
    let mut open = vec![(String::new(), line)];
    while let Some((path, value)) = open.pop() {
        match value {
            Value::Object(fields) => {
                open.extend(fields.iter().map(|(key, value)| (format!("{path}/{key}"), value)));
            }
            Value::Array(elements) => {
                shape.extend(elements.iter().map(|element| (format!("{path}/*"), type_of(element))));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
        shape.insert(path, type_of(value));
    }
    shape
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// What we append to a session at the place where its tool wrote its first compaction has that one's shape.
fn assert_same_shape(file: &str, format: Format, opens: &str, lines: usize, exceptions: Exceptions) {
    let whole = load(&corpus().join(file));
    let text = std::str::from_utf8(&whole).expect("it is text");
    let opening = text.find(opens).expect("the tool compacted this session");
    let (before, behind) = text.split_at(text[..opening].rfind('\n').map_or(0, |end| end + 1));
    let source = Arc::new(before.as_bytes().to_vec());
    let session = transcript(format, &source);
    let ours = append(&session, 0, &*source, &boundary(&session)).expect("it can be appended to");
    let ours: Vec<&str> = std::str::from_utf8(&ours).expect("it is text").lines().collect();
    assert_eq!(ours.len(), lines, "{file}");
    for (ours, theirs) in ours.into_iter().zip(behind.lines()) {
        let [mut ours, theirs] =
            [ours, theirs].map(|line| serde_json::from_str::<Value>(line).expect("it is JSON"));
        let mark = ours.as_object_mut().and_then(|fields| fields.remove("epitome"));
        assert!(mark.is_some(), "{file}: a line of ours says that it is");
        let mut expected = shape(&theirs);
        expected.retain(|path, _| !exceptions.contains(&path.as_str()));
        assert_eq!(shape(&ours), expected, "{file}");
    }
}

#[test]
fn claude_code_finds_every_field_it_would_have_written() {
    let file = "claude-code/oh-my-posh-d3cfdf-mcp.jsonl.zst";
    assert_same_shape(file, Format::ClaudeCode, r#""subtype":"compact_boundary""#, 2, CLAUDE_CODE);
}

#[test]
fn codex_finds_every_field_it_would_have_written() {
    for name in ["agentv-796ead", "agentv-f4771e", "entire-skills-d5c56b", "session-bridge-64b5e5"] {
        let file = format!("codex/{name}.jsonl.zst");
        assert_same_shape(&file, Format::Codex, r#""type":"compacted""#, 1, CODEX);
    }
}
