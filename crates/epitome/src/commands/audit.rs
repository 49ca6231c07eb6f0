//! `epitome audit`: what happened to stored sessions, with times; sessions that were deleted among it.

use super::entries::time_text;
use super::print_json;
use crate::cli::AuditArgs;
use crate::draw::{self, Paint};
use crate::output::Page;
use crate::store_place::OpenStore;
use crate::table::{Cell, Table};
use anyhow::Result;
use epitome_engine::store::EventPosition;
use epitome_store::EXPIRED_MEMOS;
use serde_json::{Map, Value, json};

/// Prints the events that were asked for.
pub fn run(args: &AuditArgs) -> Result<()> {
    let open = args.store.open()?;
    let mut events = events(&open)?;
    events.retain(|event| is_wanted(event, args));
    if args.json {
        return print_json(&json!({ "events": events }));
    }
    page(&events).print()
}

/// All events in order, and the sessions that were deleted.
fn events(open: &OpenStore) -> Result<Vec<Value>> {
    let stored = open.wait(open.store.events(EventPosition::default()))?;
    let mut events = stored.iter().map(serde_json::to_value).collect::<Result<Vec<_>, _>>()?;
    for memo in open.wait(open.store.memos(EXPIRED_MEMOS))? {
        events.push(serde_json::from_slice(&memo.value)?);
    }
    events.sort_by_key(|event| event["time_ms"].as_u64().unwrap_or_default());
    Ok(events)
}

fn is_wanted(event: &Value, args: &AuditArgs) -> bool {
    let kind = event["event"].as_str().unwrap_or_default();
    let is_kind = |wanted: &String| kind == wanted || kind.rsplit('.').next() == Some(wanted);
    args.kind.as_ref().is_none_or(is_kind)
        && args.session.is_none_or(|session| event["session"] == json!(session))
        && args.since.is_none_or(|since| event["time_ms"].as_u64().is_some_and(|time| time >= since))
}

fn page(events: &[Value]) -> Page {
    let mut page = Page::default();
    if events.is_empty() {
        writeln!(page, "nothing of this kind happened");
        return page;
    }
    let mut table =
        Table::new(&[Cell::left("when"), Cell::left("session"), Cell::left("event"), Cell::rest("what")]);
    for event in events {
        let text = |key: &str| event[key].as_str().unwrap_or("–").to_owned();
        let what = event.as_object().map(what).unwrap_or_default();
        table.add([time_text(event["time_ms"].as_u64()), text("session"), text("event"), what], false);
    }
    table.write(&mut page, Paint::stdout());
    writeln!(page, "\n{}, times in UTC", draw::counted(events.len(), "event"));
    page
}

/// The fields of an event that fit a line.
fn what(event: &Map<String, Value>) -> String {
    let known = ["event", "session", "position", "time_ms"];
    let field = |(key, value): (&String, &Value)| match value {
        Value::Null | Value::Array(_) => None,
        Value::Object(record) if key == "record" => Some(record_text(record)),
        Value::Object(_) => None,
        Value::String(text) => Some(format!("{key} {text}")),
        Value::Number(number) => Some(format!("{key} {number}")),
        Value::Bool(is) => Some(format!("{key} {is}")),
    };
    let fields = event.iter().filter(|(key, _)| !known.contains(&key.as_str())).filter_map(field);
    fields.collect::<Vec<_>>().join(", ")
}

fn record_text(record: &Map<String, Value>) -> String {
    let tokens = |key: &str| record.get(key).and_then(Value::as_u64).map_or("–".to_owned(), draw::grouped);
    let outcome = record.get("outcome").and_then(Value::as_str).unwrap_or("–");
    format!("{outcome}, {} → {} tokens", tokens("tokens_before"), tokens("tokens_after"))
}
