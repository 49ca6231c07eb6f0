//! Replies of OpenAI Responses, and of its compaction endpoint.

use super::{ModelReply, ReplyUsage, StopReason, said};
use crate::document::{ObjectView, View};
use crate::protocol::read::openai_responses::reply_blocks;
use crate::protocol::read::responses_usage;
use epitome_core::Block;

pub(super) fn answer(body: &ObjectView<'_>) -> ModelReply {
    // A compacted output repeats the user's messages; those are not the model's words.
    let output = body.list("output");
    let items = output.iter().copied().filter(|&item| !is_users(item));
    let blocks: Vec<Block> = items.flat_map(reply_blocks).collect();
    let stop = stop(body, &blocks);
    // The error alone: the rest of a failed response repeats the request's own words.
    let error = body.get("error").map(|error| format!(r#"{{"error":{}}}"#, error.json()).into());
    ModelReply {
        id: body.text("id").map(Into::into),
        model: body.text("model").map(Into::into),
        is_whole: stop.is_some() && error.is_none(),
        stop,
        message: said(blocks),
        usage: taken(body),
        error,
        items: output.into_iter().map(|item| item.json().into()).collect(),
        stranger: None,
    }
}

fn is_users(item: View<'_>) -> bool {
    item.at(&["role"]).and_then(View::text).is_some_and(|role| role != "assistant")
}

fn stop(body: &ObjectView<'_>, blocks: &[Block]) -> Option<StopReason> {
    if body.text("object").as_deref() == Some("response.compaction") {
        return Some(StopReason::Compaction);
    }
    let has_call = blocks.iter().any(|block| matches!(block, Block::Call(_)));
    match body.text("status").as_deref() {
        Some("completed") if has_call => Some(StopReason::Call),
        Some("completed") => Some(StopReason::End),
        Some("incomplete") => {
            let reason = body.get("incomplete_details").and_then(|details| details.at(&["reason"])?.text());
            Some(StopReason::of(reason.as_deref().unwrap_or("incomplete")))
        }
        Some(_) | None => None,
    }
}

fn taken(body: &ObjectView<'_>) -> Option<ReplyUsage> {
    let usage = responses_usage(body)?;
    let details = body.get("usage")?.at(&["output_tokens_details", "reasoning_tokens"]);
    Some(ReplyUsage {
        usage,
        reasoning: details.and_then(View::number).unwrap_or(0),
        ..ReplyUsage::default()
    })
}
