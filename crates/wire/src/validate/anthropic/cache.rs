//! Cache breakpoints: how many, where, and in which order.

use super::super::{Findings, list_of, text_of, type_of};
use super::blocks::{is_thinking, of};
use serde_json::Value;

/// The API's own limit.
const BREAKPOINTS_MAX: usize = 4;

pub(super) fn check(body: &Value, found: &mut Findings) {
    let marked = marked(body);
    if let Some((path, _)) = marked.get(BREAKPOINTS_MAX) {
        found.add(path.as_str(), "a request has at most 4 cache breakpoints");
    }
    let mut has_short = false;
    for (path, block) in &marked {
        found.demand(!is_thinking(type_of(block)), path, "a thinking block carries no cache breakpoint");
        let is_long = text_of(&block["cache_control"], "ttl") == Some("1h");
        found.demand(!(is_long && has_short), path, "longer cache lifetimes come before shorter ones");
        has_short |= !is_long;
    }
}

/// Every marked place, in the order of the prompt: tools, system, messages, the request itself.
fn marked(body: &Value) -> Vec<(String, &Value)> {
    let mut all = Vec::new();
    for field in ["tools", "system"] {
        let blocks = list_of(body, field).iter().enumerate();
        all.extend(blocks.map(|(at, block)| (format!("{field}[{at}]"), block)));
    }
    for (at, message) in list_of(body, "messages").iter().enumerate() {
        for (place, block) in of(message).iter().enumerate() {
            let path = format!("messages[{at}].content[{place}]");
            let parts = list_of(block, "content").iter().enumerate();
            all.extend(parts.map(|(part, value)| (format!("{path}.content[{part}]"), value)));
            all.push((path, block));
        }
    }
    all.push(("cache_control".into(), body));
    all.retain(|(_, block)| block.get("cache_control").is_some_and(|mark| !mark.is_null()));
    all
}
