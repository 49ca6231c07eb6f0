//! What a protocol has no place for: said in words where it stood, and listed.

use crate::document::{ObjectView, View};
use epitome_core::{EntryId, Opaque};
use serde::Serialize;

/// Something that a body says in words, or not at all, because its protocol has no place for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Substitute {
    /// The message it belongs to; none for what stands before the history.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<EntryId>,
    /// What it is: the `type` of a block or item, or the field, tool or reasoning that is left out.
    pub kind: String,
    /// The words in its place; none where there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
}

/// The substitutes of one body so far.
#[derive(Default)]
pub(super) struct SubstituteList(Vec<Substitute>);

impl SubstituteList {
    /// The words for a block that cannot be written; it is listed.
    pub(super) fn say(&mut self, message: Option<EntryId>, opaque: &Opaque) -> String {
        let words = words_for(message, opaque);
        self.add(message, kind_of(opaque), Some(words.clone()));
        words
    }

    /// The words for a picture that nobody could read; it is listed.
    pub(super) fn say_unreadable(&mut self, message: Option<EntryId>) -> String {
        let words = match message {
            Some(id) => format!("[image not readable; recall {id}]"),
            None => super::picture::UNREADABLE.to_owned(),
        };
        self.add(message, "image", Some(words.clone()));
        words
    }

    /// Lists what is left out without a word.
    pub(super) fn leave_out(&mut self, message: Option<EntryId>, kind: &str) {
        self.add(message, kind, None);
    }

    fn add(&mut self, message: Option<EntryId>, kind: &str, words: Option<String>) {
        self.0.push(Substitute { message, kind: kind.to_owned(), words });
    }

    pub(super) fn into_list(self) -> Vec<Substitute> {
        self.0
    }
}

/// Whether something carried is a model's reasoning. Words for it would be taken for the model's own, and learned.
pub(super) fn is_reasoning(kind: &str) -> bool {
    matches!(kind, "reasoning" | "reasoning_details")
}

/// The type of a block, or what one without is called.
fn kind_of(opaque: &Opaque) -> &str {
    if opaque.kind.is_empty() { "part" } else { &opaque.kind }
}

/// A marker with the kind, whatever name it has, and where the original is; behind it what can be read of it.
fn words_for(message: Option<EntryId>, opaque: &Opaque) -> String {
    let object = View::parse(&opaque.json).ok().and_then(View::object).unwrap_or_default();
    let kind = kind_of(opaque);
    let name = name_of(&object).map(|name| format!(" {name}")).unwrap_or_default();
    let recall = message.map(|id| format!("; recall {id}")).unwrap_or_default();
    let marker = format!("[{kind}{name}{recall}]");
    match readable(&object) {
        Some(text) => format!("{marker}\n{text}"),
        None => marker,
    }
}

/// The longest name a marker gives; a URL or a title may be any length.
const NAME_CHARS_MAX: usize = 120;

/// What a block is called by whoever made it: in itself, or in what it is a frame for.
fn name_of(object: &ObjectView<'_>) -> Option<String> {
    let inner =
        ["source", "file", "input_audio", "action"].into_iter().filter_map(|key| object.get(key)?.object());
    let mut all = std::iter::once(object.clone()).chain(inner);
    let keys = ["title", "filename", "name", "tool_name", "file_id", "url", "file_url", "format", "id"];
    all.find_map(|object| keys.iter().find_map(|key| object.text(key).filter(|name| !name.trim().is_empty())))
        .map(|name| name.chars().take(NAME_CHARS_MAX).collect())
}

/// The words in a block, where it has some: a text, a document that is text, what a shell printed, a list of texts.
fn readable(object: &ObjectView<'_>) -> Option<String> {
    let is_text = |source: &ObjectView<'_>| source.text("type").as_deref() == Some("text");
    let source = object.get("source").and_then(View::object).filter(is_text);
    let own = ["text", "content", "stdout", "stderr"].into_iter().filter_map(|key| object.text(key));
    let listed = object.list("content").into_iter().filter_map(|part| part.at(&["text"])?.text());
    let texts = own.chain(source.and_then(|source| source.text("data"))).chain(listed);
    let texts: Vec<_> = texts.filter(|text| !crate::validate::is_blank(text)).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::words_for;
    use epitome_core::{EntryId, Opaque};

    fn words(kind: &str, json: &str) -> String {
        words_for(Some(EntryId(7)), &Opaque { kind: kind.into(), json: json.into() })
    }

    #[test]
    fn a_marker_names_what_it_stands_for() {
        let cases = [
            (
                "image",
                r#"{"type":"image","source":{"type":"file","file_id":"file_1"}}"#,
                "[image file_1; recall m0007]",
            ),
            (
                "container_upload",
                r#"{"type":"container_upload","file_id":"f"}"#,
                "[container_upload f; recall m0007]",
            ),
            (
                "input_audio",
                r#"{"input_audio":{"data":"UklG","format":"wav"}}"#,
                "[input_audio wav; recall m0007]",
            ),
            ("file", r#"{"file":{"filename":"a.pdf","file_data":"data:"}}"#, "[file a.pdf; recall m0007]"),
            ("", "[7]", "[part; recall m0007]"),
        ];
        for (kind, json, expected) in cases {
            assert_eq!(words(kind, json), expected);
        }
    }

    #[test]
    fn what_can_be_read_is_said_in_full() {
        let document = r#"{"title":"notes","source":{"type":"text","data":"all of it"}}"#;
        assert_eq!(words("document", document), "[document notes; recall m0007]\nall of it");
        let result = r#"{"title":"t","source":"https://a","content":[{"type":"text","text":"found"}]}"#;
        assert_eq!(words("search_result", result), "[search_result t; recall m0007]\nfound");
        assert_eq!(words("compaction", r#"{"content":"so far"}"#), "[compaction; recall m0007]\nso far");
    }
}
