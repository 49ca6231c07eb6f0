//! Blocks that only Anthropic knows: server and MCP tools, which stay in pairs inside a reply, and
//! documents.

use super::super::arrange::ReplyPiece;
use super::super::ids::Ids;
use super::super::sealed::SealedBlock;
use crate::validate::{is_base64, is_plain_id};
use serde_json::value::RawValue;
use std::collections::HashMap;

/// Whether the user's side may hold this block as it is.
pub(super) fn is_asked(sealed: &SealedBlock) -> bool {
    sealed.kind() == "container_upload" || is_document(sealed)
}

/// Whether a result may.
pub(super) fn is_answered(sealed: &SealedBlock) -> bool {
    sealed.kind() == "tool_reference" || is_document(sealed)
}

fn is_document(sealed: &SealedBlock) -> bool {
    match sealed.kind() {
        "search_result" => true,
        // Pictures that we can read are none of ours to carry.
        "image" => sealed.value["source"]["type"] == "file",
        "document" => {
            let source = &sealed.value["source"];
            source["type"] != "base64" || source["data"].as_str().is_some_and(is_base64)
        }
        _ => false,
    }
}

/// The opaque blocks of a reply that can stay, by their place in it.
pub(super) fn kept(reply: &[ReplyPiece<'_>], ids: &mut Ids) -> HashMap<usize, Box<RawValue>> {
    let sealed: Vec<(usize, SealedBlock)> = reply.iter().enumerate().filter_map(sealed_at).collect();
    let mut answers: HashMap<&str, Vec<&(usize, SealedBlock)>> = HashMap::new();
    for answer in &sealed {
        answers.entry(answer.1.text("tool_use_id").unwrap_or_default()).or_default().push(answer);
    }
    let mut kept = HashMap::new();
    for (at, one) in &sealed {
        if one.kind() == "compaction" && one.text("content").is_some_and(|text| !text.is_empty()) {
            kept.insert(*at, one.raw.clone());
        }
        let answers = one.text("id").and_then(|id| answers.get(id)).map_or(&[][..], Vec::as_slice);
        let answer = answers.iter().find(|(other_at, other)| other_at > at && is_pair(one, other));
        if let Some((answer_at, answer)) = answer
            && one.text("id").is_some_and(|id| ids.claim(id))
        {
            kept.insert(*at, one.raw.clone());
            kept.insert(*answer_at, answer.raw.clone());
        }
    }
    kept
}

fn sealed_at<'a>((at, spoken): (usize, &ReplyPiece<'a>)) -> Option<(usize, SealedBlock)> {
    match spoken {
        ReplyPiece::Opaque(opaque) => SealedBlock::of(opaque).map(|sealed| (at, sealed)),
        ReplyPiece::Text(_) | ReplyPiece::Thinking { .. } | ReplyPiece::Call(_) => None,
    }
}

/// Whether `result` answers `call`, and both are whole.
fn is_pair(call: &SealedBlock, result: &SealedBlock) -> bool {
    let is_kind = match call.kind() {
        "server_tool_use" => result.kind().ends_with("_tool_result") && result.kind() != "mcp_tool_result",
        "mcp_tool_use" => result.kind() == "mcp_tool_result",
        _ => false,
    };
    let id = call.text("id").filter(|id| is_plain_id(id));
    let is_whole = call.value["input"].is_object() && call.text("name").is_some_and(|name| !name.is_empty());
    is_kind && is_whole && id.is_some() && result.text("tool_use_id") == id
}
