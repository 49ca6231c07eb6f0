//! Every kind of part that each protocol's reference has, and some that none has, in and out of all three: `parts/`
//! holds them, each with its kind and a mark that stands nowhere else.

use super::{BodyFile, elements, epitome, list_field, strings};
use epitome_wire::Protocol;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// One part, with the messages it stands in; none where it stands in those of the part before.
#[derive(Deserialize)]
struct OddPart {
    kind: String,
    mark: String,
    elements: Vec<Box<RawValue>>,
}

fn odd_parts(protocol: Protocol) -> Vec<OddPart> {
    let json = match protocol {
        Protocol::Anthropic => include_str!("parts/anthropic.json"),
        Protocol::OpenaiChat => include_str!("parts/openai-chat.json"),
        Protocol::OpenaiResponses => include_str!("parts/openai-responses.json"),
    };
    serde_json::from_str(json).expect("parts")
}

/// Tools that only their own provider runs, or that take free text, and one that everybody knows.
fn tools(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Anthropic => {
            r#"[{"type":"web_search_20250305","name":"web_search"}, {"name":"read","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"}}]"#
        }
        Protocol::OpenaiChat => {
            r#"[{"type":"custom","custom":{"name":"apply_patch","format":{"type":"grammar","grammar":{"syntax":"lark","definition":"start: x"}}}}, {"type":"function","function":{"name":"read","strict":true}}]"#
        }
        Protocol::OpenaiResponses => {
            r#"[{"type":"custom","name":"apply_patch"}, {"type":"web_search"}, {"type":"function","name":"read","strict":true,"parameters":{"type":"object"}}]"#
        }
    }
}

/// A body with all of them, written as nobody of ours writes.
fn body(protocol: Protocol) -> String {
    let parts = odd_parts(protocol);
    let elements: Vec<&str> =
        parts.iter().flat_map(|part| &part.elements).map(|element| element.get()).collect();
    let (list, tools) = (list_field(protocol), tools(protocol));
    let limit = if protocol == Protocol::OpenaiResponses { "max_output_tokens" } else { "max_tokens" };
    format!(
        "{{ \"model\": \"m\",\n  \"{list}\" : [ {} ],\n \"tools\":{tools}, \"{limit}\":64, \"temperature\": 1.50 }}",
        elements.join(" ,\n ")
    )
}

/// The body that `context` prints, and what it lists: nothing is told where there is nothing.
fn context(file: &BodyFile, from: Protocol, to: Protocol) -> (String, Vec<Value>) {
    let args = ["context", &file.path(), "--from", from.name(), "--to", to.name(), "--json"];
    let (body, told) = epitome(&args);
    let told: Value =
        told.lines().next().map_or(Value::Null, |line| serde_json::from_str(line).expect("a list"));
    let listed = told["substitutes"].as_array().cloned().unwrap_or_default();
    let body = String::from_utf8(body).expect("UTF-8");
    (body.trim_end().to_owned(), listed)
}

#[test]
fn in_its_own_protocol_a_body_is_the_bytes_it_was() {
    for protocol in Protocol::ALL {
        let body = body(protocol);
        assert_eq!(context(&BodyFile::of(&body), protocol, protocol), (body, Vec::new()), "{protocol}");
    }
}

#[test]
fn messages_that_stand_by_themselves_are_the_bytes_they_were() {
    for protocol in Protocol::ALL {
        let own = elements(protocol, &body(protocol));
        for list in [format!("[ {} ]", own.join(" ,")), own.join("\n")] {
            let (written, told) = context(&BodyFile::of(&list), protocol, protocol);
            assert_eq!((elements(protocol, &written), told), (own.clone(), Vec::new()), "{protocol}");
        }
    }
}

#[test]
fn in_another_protocol_each_part_is_there_or_is_said_and_listed() {
    for from in Protocol::ALL {
        let file = BodyFile::of(&body(from));
        for to in Protocol::ALL.into_iter().filter(|to| *to != from) {
            let (written, listed) = context(&file, from, to);
            let value: Value = serde_json::from_str(&written).expect("JSON");
            let mut said = String::new();
            strings(&value, &mut said);
            for entry in &listed {
                let words = entry["words"].as_str();
                assert!(
                    words.is_none_or(|words| said.contains(words)),
                    "{from} to {to}: {entry} is not said"
                );
            }
            let last = elements(to, &written).pop().expect("something is said");
            assert!(
                last.contains("The answer is"),
                "{from} to {to}: a reply that is begun stays last: {last}"
            );
            for OddPart { kind, mark, .. } in odd_parts(from) {
                let is_listed = listed.iter().any(|entry| entry["kind"] == *kind);
                let is_there = said.contains(&mark) || written.contains(&mark);
                assert!(
                    is_there || is_listed,
                    "{from} to {to}: {kind} ({mark}) is lost\n{written}\n{listed:?}"
                );
            }
        }
    }
}

#[test]
fn a_marker_names_the_kind_and_leads_back_to_the_original() {
    let file = BodyFile::of(&body(Protocol::Anthropic));
    let (_, listed) = context(&file, Protocol::Anthropic, Protocol::OpenaiChat);
    let of = |kind: &str| listed.iter().find(|entry| entry["kind"] == kind).expect("it is listed").clone();
    let image = of("image");
    assert_eq!(
        image,
        serde_json::json!({"message": "m0000", "kind": "image", "words": "[image file_image_1; recall m0000]"})
    );
    let (recalled, _) = epitome(&["recall", &file.path(), "m0000", "--from", "anthropic"]);
    assert!(String::from_utf8_lossy(&recalled).contains("file_image_1"));
    let words = |kind: &str| of(kind)["words"].as_str().map(str::to_owned);
    assert_eq!(words("tool web_search"), None);
    assert_eq!(words("field temperature"), None);
    assert!(words("compaction").is_some_and(|words| words.ends_with("]\nwhat came before, in short")));
}

#[test]
fn a_person_is_told_what_has_no_place() {
    let file = BodyFile::of(
        r#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[{"type":"container_upload","file_id":"f"}]}]}"#,
    );
    let (_, told) = epitome(&["context", &file.path(), "--to", "openai-responses", "--from", "anthropic"]);
    assert_eq!(told, "note: said in words, having no place in openai-responses: container_upload (1)\n");
}
