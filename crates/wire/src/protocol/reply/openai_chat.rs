//! Replies of OpenAI Chat Completions. Of several choices the first is read.

use super::{ModelReply, ReplyUsage, StopReason, said};
use crate::document::{ObjectView, View};
use crate::protocol::read::chat_usage;
use crate::protocol::read::openai_chat::reply_blocks;
use crate::protocol::read::{block_of, parts_of};

pub(super) fn answer(body: &ObjectView<'_>) -> ModelReply {
    let choice = body.list("choices").into_iter().next().and_then(View::object).unwrap_or_default();
    let message = choice.get("message").and_then(View::object).unwrap_or_default();
    let words = parts_of(message.get("content")).into_iter().map(block_of).collect();
    let stop = choice.text("finish_reason").map(|word| StopReason::of(&word));
    ModelReply {
        id: body.text("id").map(Into::into),
        model: body.text("model").map(Into::into),
        message: said(reply_blocks(&message, words)),
        is_whole: stop.is_some(),
        stop,
        usage: body.get("usage").and_then(taken),
        error: None,
        items: Vec::new(),
        stranger: None,
    }
}

fn taken(usage: View<'_>) -> Option<ReplyUsage> {
    let reasoning = usage.at(&["completion_tokens_details", "reasoning_tokens"]).and_then(View::number);
    Some(ReplyUsage { usage: chat_usage(usage)?, reasoning: reasoning.unwrap_or(0), ..ReplyUsage::default() })
}
