//! Replies of Anthropic Messages.

use super::{ModelReply, ReplyUsage, StopReason, add, said};
use crate::ReportedUsage;
use crate::document::{ObjectView, View};
use crate::protocol::read::anthropic::block;
use crate::protocol::read::anthropic_usage;

pub(super) fn answer(body: &ObjectView<'_>) -> ModelReply {
    let stop = body.text("stop_reason").map(|word| StopReason::of(&word));
    ModelReply {
        id: body.text("id").map(Into::into),
        model: body.text("model").map(Into::into),
        message: said(body.list("content").into_iter().filter_map(block).collect()),
        is_whole: stop.is_some(),
        stop,
        usage: body.get("usage").and_then(taken),
        error: None,
        items: Vec::new(),
        stranger: None,
    }
}

fn taken(view: View<'_>) -> Option<ReplyUsage> {
    let usage = anthropic_usage(view)?;
    let passes = view.object()?.list("iterations").into_iter();
    let compactions =
        passes.filter(|pass| pass.at(&["type"]).and_then(View::text).as_deref() == Some("compaction"));
    let compaction = compactions.filter_map(anthropic_usage).fold(ReportedUsage::default(), add);
    Some(ReplyUsage { usage, reasoning: 0, compaction })
}
