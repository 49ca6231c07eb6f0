//! What calls took, in the words of each provider, put on one basis.

use crate::ReportedUsage;
use crate::document::{ObjectView, View};

/// Chat Completions: the prompt includes what was cached; some vendors count the hits elsewhere.
pub(crate) fn chat_usage(usage: View<'_>) -> Option<ReportedUsage> {
    let usage = usage.object()?;
    let details = usage.get("prompt_tokens_details").and_then(View::object).unwrap_or_default();
    let cached = details.number("cached_tokens").or_else(|| usage.number("prompt_cache_hit_tokens"));
    Some(ReportedUsage {
        prompt: usage.number("prompt_tokens")?,
        output: usage.number("completion_tokens").unwrap_or(0),
        cache_read: cached.unwrap_or(0),
        cache_write: details.number("cache_write_tokens").unwrap_or(0),
    })
}

/// Anthropic Messages: the input is what came after the cached part only.
pub(crate) fn anthropic_usage(usage: View<'_>) -> Option<ReportedUsage> {
    let usage = usage.object()?;
    let count = |key| usage.number(key).unwrap_or(0);
    let (cache_read, cache_write) = (count("cache_read_input_tokens"), count("cache_creation_input_tokens"));
    let fresh = usage.number("input_tokens")?;
    let prompt = fresh.saturating_add(cache_read).saturating_add(cache_write);
    Some(ReportedUsage { prompt, output: count("output_tokens"), cache_read, cache_write })
}

/// Responses: the input includes what was cached.
pub(crate) fn responses_usage(body: &ObjectView<'_>) -> Option<ReportedUsage> {
    let usage = body.get("usage")?.object()?;
    let details = usage.get("input_tokens_details").and_then(View::object).unwrap_or_default();
    Some(ReportedUsage {
        prompt: usage.number("input_tokens")?,
        output: usage.number("output_tokens").unwrap_or(0),
        cache_read: details.number("cached_tokens").unwrap_or(0),
        cache_write: details.number("cache_write_tokens").unwrap_or(0),
    })
}
