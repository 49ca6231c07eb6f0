//! Calls and their results: client tools across two messages, server and MCP tools inside one.

use super::super::{Findings, text_of, type_of};
use super::blocks::{is_server_result, of};
use super::instructions::{ends_in_server_call, is_setting};
use serde_json::Value;
use std::collections::HashSet;

pub(super) fn check(messages: &[Value], found: &mut Findings) {
    let mut used = HashSet::new();
    let said = |message: &&Value| !is_setting(message);
    for (at, message) in messages.iter().enumerate() {
        let before = messages[..at].iter().rev().find(said);
        check_calls(at, message, messages[at + 1..].iter().find(said), found);
        check_results(at, message, before, found);
        check_inside(messages, at, found);
        check_ids(at, message, &mut used, found);
    }
}

fn ids<'v>(message: Option<&'v Value>, kind: &str, field: &str) -> HashSet<&'v str> {
    let blocks = message.map_or(&[][..], of).iter().filter(|block| type_of(block) == kind);
    blocks.filter_map(|block| text_of(block, field)).collect()
}

fn check_calls(at: usize, message: &Value, next: Option<&Value>, found: &mut Findings) {
    let answered = ids(next, "tool_result", "tool_use_id");
    for (place, block) in of(message).iter().enumerate().filter(|(_, block)| type_of(block) == "tool_use") {
        let is_answered = text_of(block, "id").is_some_and(|id| answered.contains(id));
        let path = format!("messages[{at}].content[{place}]");
        found.demand(is_answered, &path, "a tool_use has its tool_result in the next message");
    }
}

fn check_results(at: usize, message: &Value, before: Option<&Value>, found: &mut Findings) {
    let made = ids(before, "tool_use", "id");
    let mut answered = HashSet::new();
    let mut is_past_results = false;
    for (place, block) in of(message).iter().enumerate() {
        if type_of(block) != "tool_result" {
            is_past_results = true;
            continue;
        }
        let path = format!("messages[{at}].content[{place}]");
        let id = text_of(block, "tool_use_id").unwrap_or_default();
        found.demand(made.contains(id), &path, "a tool_result has its tool_use in the previous message");
        found.demand(answered.insert(id), &path, "a call has one result");
        found.demand(!is_past_results, &path, "results stand before text");
    }
}

/// Server and MCP tools are called and answered inside the reply, the use first. A reply that waits for a server tool is sent
/// back as it is, and goes on behind the instructions that stand between.
fn check_inside(messages: &[Value], at: usize, found: &mut Findings) {
    let blocks = of(&messages[at]);
    let is_system = |message: &Value| text_of(message, "role") == Some("system");
    let is_paused =
        ends_in_server_call(&messages[at]) && messages.get(at + 1).is_none_or(is_system);
    let before = messages[..at].iter().rposition(|message| !is_system(message));
    let paused = before.filter(|before| before + 1 < at).map(|before| &messages[before]);
    let waiting = paused.filter(|paused| ends_in_server_call(paused)).and_then(|paused| of(paused).last());
    for (place, block) in blocks.iter().enumerate() {
        let path = format!("messages[{at}].content[{place}]");
        match type_of(block) {
            "server_tool_use" => {
                let is_answered =
                    has(&blocks[place..], is_server_result, "tool_use_id", text_of(block, "id"));
                let is_waiting = is_paused && place + 1 == blocks.len();
                found.demand(
                    is_answered || is_waiting,
                    &path,
                    "a server_tool_use has its result in the same message",
                );
            }
            "mcp_tool_use" => {
                let is_result = |kind: &str| kind == "mcp_tool_result";
                let is_answered = has(&blocks[place..], is_result, "tool_use_id", text_of(block, "id"));
                found.demand(is_answered, &path, "an mcp_tool_use has its result in the same message");
            }
            "mcp_tool_result" => {
                let is_use = |kind: &str| kind == "mcp_tool_use";
                let is_made = has(&blocks[..place], is_use, "id", text_of(block, "tool_use_id"));
                found.demand(is_made, &path, "an mcp_tool_result has its use before it in the same message");
            }
            kind if is_server_result(kind) => {
                let is_use = |kind: &str| kind == "server_tool_use";
                let is_made = has(&blocks[..place], is_use, "id", text_of(block, "tool_use_id"))
                    || waiting.is_some_and(|call| text_of(call, "id") == text_of(block, "tool_use_id"));
                found.demand(
                    is_made,
                    &path,
                    "a server tool's result has its use before it in the same message",
                );
            }
            _ => {}
        }
    }
}

/// Whether one of `blocks` is of such a kind and names `id`.
fn has(blocks: &[Value], is_kind: impl Fn(&str) -> bool, field: &str, id: Option<&str>) -> bool {
    id.is_some() && blocks.iter().any(|block| is_kind(type_of(block)) && text_of(block, field) == id)
}

/// Ids are unique in the request, and a programmatic call stands after the code that made it.
fn check_ids<'v>(at: usize, message: &'v Value, used: &mut HashSet<&'v str>, found: &mut Findings) {
    for (place, block) in of(message).iter().enumerate() {
        let path = format!("messages[{at}].content[{place}]");
        if let Some(caller) = block.get("caller").and_then(|caller| text_of(caller, "tool_id")) {
            found.demand(
                used.contains(caller),
                &path,
                "a programmatic call stands after the use that made it",
            );
        }
        if matches!(type_of(block), "tool_use" | "server_tool_use" | "mcp_tool_use") {
            let is_new = text_of(block, "id").is_none_or(|id| used.insert(id));
            found.demand(is_new, &path, "a call's id is unique in the request");
        }
    }
}
