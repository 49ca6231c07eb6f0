//! Blocks of three providers, as they travel.

use super::{OpaqueContents, Payload};
use crate::{Image, Opaque};

fn contents(kind: &str, json: &str) -> OpaqueContents {
    Opaque { kind: kind.into(), json: json.into() }.contents()
}

fn file(media_type: &str, data: &str) -> Payload {
    Payload::File { media_type: media_type.into(), data: data.into() }
}

/// A block with so many payloads and no pictures, and its prose.
fn holding(prose: &str, payloads: Vec<Payload>) -> OpaqueContents {
    OpaqueContents { prose: prose.into(), images: Vec::new(), payloads }
}

#[test]
fn a_document_is_a_file_wherever_a_provider_puts_it() {
    let anthropic = contents(
        "document",
        r#"{"type":"document","title":"a contract","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0="}}"#,
    );
    let prose = r#"{"type":"document","title":"a contract","source":{"type":"base64","media_type":"application/pdf","data":""}}"#;
    assert_eq!(anthropic, holding(prose, vec![file("application/pdf", "JVBERi0=")]));
    let chat = contents(
        "file",
        r#"{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,JVBERi0="}}"#,
    );
    assert_eq!(chat.payloads, [file("application/pdf", "JVBERi0=")]);
    let responses =
        contents("input_file", r#"{"type":"input_file","filename":"a.PDF","file_data":"JVBERi0="}"#);
    assert_eq!(responses.payloads, [file("application/pdf", "JVBERi0=")]);
}

#[test]
fn a_document_of_plain_text_is_prose() {
    let json = r#"{"source":{"data":"It was a dark night.","media_type":"text/plain","type":"text"},"type":"document"}"#;
    assert_eq!(contents("document", json), holding(json, vec![]));
    let nested =
        r#"{"source":{"content":[{"text":"so it was","type":"text"}],"type":"content"},"type":"document"}"#;
    assert_eq!(contents("document", nested), holding(nested, vec![]));
}

#[test]
fn a_recording_is_a_file_of_its_format() {
    let json = r#"{"type":"input_audio","input_audio":{"data":"UklGRg==","format":"wav"}}"#;
    assert_eq!(contents("input_audio", json).payloads, [file("audio/wav", "UklGRg==")]);
}

#[test]
fn a_file_by_its_id_stands_elsewhere_where_it_is_shown() {
    for (kind, json) in [
        ("document", r#"{"type":"document","source":{"type":"file","file_id":"file_1"}}"#),
        ("document", r#"{"type":"document","source":{"type":"url","url":"https://a.b/c.pdf"}}"#),
        ("file", r#"{"type":"file","file":{"file_id":"file_1"}}"#),
        ("input_file", r#"{"type":"input_file","file_url":"https://a.b/c.pdf"}"#),
    ] {
        assert_eq!(contents(kind, json).payloads, [Payload::FileElsewhere], "{json}");
    }
    // It goes to a container and not to the model; what a tool wrote is only named.
    for json in [
        r#"{"type":"container_upload","file_id":"file_1"}"#,
        r#"{"type":"code_execution_output","file_id":"file_1"}"#,
        r#"{"type":"web_search_result","url":"https://a.b"}"#,
    ] {
        assert_eq!(contents("", json).payloads, [], "{json}");
    }
}

#[test]
fn pictures_are_pictures_by_their_id_in_a_url_or_made_by_the_provider() {
    let image = |media_type: &str, data: &str, is_url| Image {
        media_type: media_type.into(),
        data: data.into(),
        is_url,
    };
    let by_id = contents("image", r#"{"type":"image","source":{"type":"file","file_id":"file_1"}}"#);
    assert_eq!(by_id.images, [image("", "file_1", true)]);
    let made = contents("image_generation_call", r#"{"type":"image_generation_call","result":"iVBORw0="}"#);
    assert_eq!(made.images, [image("", "iVBORw0=", false)]);
    let shot = contents("", r#"{"type":"screenshot","data":"data:image/png;base64,iVBORw0="}"#);
    assert_eq!(shot.images, [image("image/png", "iVBORw0=", false)]);
}

#[test]
fn what_only_its_provider_can_read_is_sealed() {
    let reasoning = contents(
        "reasoning",
        r#"{"type":"reasoning","summary":[{"text":"so"}],"encrypted_content":"gAAAA"}"#,
    );
    let prose = r#"{"type":"reasoning","summary":[{"text":"so"}],"encrypted_content":""}"#;
    assert_eq!(reasoning, holding(prose, vec![Payload::Sealed { chars: 5 }]));
    let found = contents(
        "web_search_tool_result",
        r#"{"content":[{"title":"a page","encrypted_content":"EqQB"},{"title":"another","encrypted_content":"Eq"}]}"#,
    );
    assert_eq!(found.payloads, [Payload::Sealed { chars: 4 }, Payload::Sealed { chars: 2 }]);
    assert!(found.prose.contains("another"), "{}", found.prose);
}

#[test]
fn long_runs_of_base64_are_data_in_any_field_and_words_are_not() {
    let run = "aB3+".repeat(256);
    let unknown = contents("novelty", &format!(r#"{{"core":["{run}"],"note":"a word"}}"#));
    assert_eq!(unknown, holding(r#"{"core":[""],"note":"a word"}"#, vec![Payload::Sealed { chars: 1_024 }]));
    let short = format!(r#"{{"core":"{}"}}"#, &run[..1_000]);
    assert_eq!(contents("novelty", &short), holding(&short, vec![]));
    let long = format!(r#"{{"result":"{}"}}"#, "words of a result ".repeat(100));
    assert_eq!(contents("mcp_tool_result", &long), holding(&long, vec![]));
}

#[test]
fn a_block_that_is_no_json_is_data() {
    assert_eq!(contents("broken", "{oh").payloads, [Payload::Sealed { chars: 3 }]);
}
