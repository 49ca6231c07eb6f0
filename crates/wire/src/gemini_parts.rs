//! The parts of Gemini's `Content`, which Gemini CLI and qwen-code keep: texts, thoughts, calls, results, media.
//!
//! What a part's record is, who said it and in which order is for the reader of each tool.

use crate::document::{ObjectView, View};
use epitome_core::{Block, Call, CallId, Image, Opaque, ResultPart, ToolResult};
use std::sync::Arc;

/// How a summary shows itself in the histories both tools write after compressing.
pub(crate) const SNAPSHOT: &str = "<state_snapshot>";

/// A content field's parts: a string and a lone part are one.
pub(crate) fn parts_of(content: Option<View<'_>>) -> Vec<View<'_>> {
    content.map_or_else(Vec::new, |content| content.list().unwrap_or_else(|| vec![content]))
}

/// Whether a part is the result of a call.
pub(crate) fn is_response(part: View<'_>) -> bool {
    part.at(&["functionResponse"]).is_some()
}

/// Whether a part makes a call.
pub(crate) fn is_call(part: View<'_>) -> bool {
    part.at(&["functionCall"]).is_some()
}

/// Whether a part is the model's thinking.
pub(crate) fn is_thought(part: View<'_>) -> bool {
    part.at(&["thought"]).is_some_and(View::is_true)
}

/// The block of a part; none for one that says nothing. Seals of thoughts are of use to Gemini alone and stay in
/// the file.
pub(crate) fn block(part: View<'_>) -> Option<Block> {
    let Some(fields) = part.object() else { return bare(part).map(as_block) };
    if let Some(call) = fields.get("functionCall").and_then(View::object) {
        return Some(Block::Call(call_of(&call)));
    }
    match fields.text("text").filter(|_| fields.is_true("thought")) {
        Some(text) => Some(Block::Thinking { text: text.into(), signature: None, redacted: false }),
        None => piece(part).map(as_block),
    }
}

/// The text, picture or other piece a part is; none for one that says nothing.
pub(crate) fn piece(part: View<'_>) -> Option<ResultPart> {
    let Some(fields) = part.object() else { return bare(part) };
    if let Some(text) = fields.text("text") {
        return said(text.into());
    }
    if let Some(image) = fields.get("inlineData").and_then(View::object).and_then(|data| picture(&data)) {
        return Some(ResultPart::Image(image));
    }
    match fields.first_key() {
        None | Some("thoughtSignature") => None,
        Some(kind) => Some(carried(kind, part)),
    }
}

fn bare(part: View<'_>) -> Option<ResultPart> {
    part.text().map_or_else(|| Some(carried("part", part)), |text| said(text.into()))
}

fn said(text: Arc<str>) -> Option<ResultPart> {
    (!text.is_empty()).then_some(ResultPart::Text { text })
}

fn carried(kind: &str, part: View<'_>) -> ResultPart {
    ResultPart::Opaque(Opaque { kind: kind.into(), json: part.json().into() })
}

fn as_block(part: ResultPart) -> Block {
    match part {
        ResultPart::Text { text } => Block::Text { text },
        ResultPart::Image(image) => Block::Image(image),
        ResultPart::Opaque(opaque) => Block::Opaque(opaque),
    }
}

fn picture(data: &ObjectView<'_>) -> Option<Image> {
    let media_type = data.text("mimeType").filter(|kind| kind.starts_with("image/"))?;
    Some(Image { media_type: media_type.into(), data: data.text("data")?.into(), is_url: false })
}

fn call_of(call: &ObjectView<'_>) -> Call {
    let input = call.get("args").map_or("{}", View::json).into();
    Call { id: id_of(call), name: call.shared("name"), input, freeform: false }
}

/// The id of a call or a response. Gemini's own API gives none, and the tool's name stands in.
fn id_of(call: &ObjectView<'_>) -> CallId {
    CallId(call.text("id").or_else(|| call.text("name")).unwrap_or_default().into())
}

/// The result that a `functionResponse` part is.
pub(crate) fn result_of(part: View<'_>) -> Option<ToolResult> {
    let response = part.at(&["functionResponse"])?.object()?;
    let is_error = response.get("response").and_then(View::object).is_some_and(|said| is_refusal(&said));
    Some(ToolResult { call: id_of(&response), parts: answers(&response), is_error })
}

fn is_refusal(response: &ObjectView<'_>) -> bool {
    response.has("error") && !response.has("output")
}

/// What a `functionResponse` says, with the media beside it.
pub(crate) fn answers(response: &ObjectView<'_>) -> Vec<ResultPart> {
    let said = response.get("response").and_then(answer_text);
    let media = response.list("parts").into_iter().filter_map(piece);
    said.into_iter().chain(media).collect()
}

/// The text of a response; all of it where it has neither output nor error.
fn answer_text(response: View<'_>) -> Option<ResultPart> {
    let fields = response.object().unwrap_or_default();
    let text = fields.text("output").or_else(|| fields.text("error"));
    said(text.unwrap_or_else(|| response.json().into()).into())
}

/// The text of a summary the tool has put in the place of its history; none where these parts are none.
pub(crate) fn snapshot(parts: &[View<'_>]) -> Option<String> {
    let texts: Vec<_> = parts.iter().filter_map(|part| part.at(&["text"]).unwrap_or(*part).text()).collect();
    texts.iter().any(|text| text.contains(SNAPSHOT)).then(|| texts.join("\n"))
}
