//! `epitome show`: entries of a stored session whole, messages as they were said and marks as they are kept.

use super::entries::{self, time_text};
use super::print_json;
use crate::cli::{PointerRange, ShowArgs};
use crate::draw;
use crate::output::Page;
use crate::stored_session::LoadedSession;
use anyhow::{Context as _, Result, bail};
use epitome_core::{Entry, EntryId, Mark, Message, Record, TextDetail};
use epitome_engine::store::SessionId;
use epitome_store::{ListedSession, StoredEntry};
use epitome_wire::native::WrittenMark;
use serde::Serialize;
use std::sync::Arc;

/// An entry, whole.
#[derive(Serialize)]
struct ShownEntry {
    id: EntryId,
    parent: Option<EntryId>,
    kind: &'static str,
    time_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<Arc<Message>>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    mark: Option<WrittenMark>,
    /// A note's text.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<Arc<str>>,
    /// The summary that the session's own tool left.
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<Arc<str>>,
}

/// Prints the entries that are named, or what is known of the session.
pub fn run(args: &ShowArgs) -> Result<()> {
    let open = args.store.open()?;
    if args.entries.is_empty() {
        let listed = open.listed(args.session)?;
        return if args.json { print_json(&listed) } else { about_page(&listed, &open.flag).print() };
    }
    let stored = LoadedSession::outline(&open, args.session)?;
    let mut shown = Vec::new();
    for range in &args.entries {
        for entry in named(*range, &stored)? {
            let message = match &entry.entry {
                Entry::Message(_) => {
                    let found = open.wait(open.store.originals(args.session, &[entry.id]))?;
                    Some(found.into_iter().next().context("the store gave nothing back")?)
                }
                Entry::Recorded(_) | Entry::Note { .. } | Entry::Mark(_) => None,
            };
            shown.push(ShownEntry::new(entry, message));
        }
    }
    if args.json { super::print_json_each(&shown) } else { page(&shown).print() }
}

/// The entries of a range; it is an error where there is none.
fn named(range: PointerRange, stored: &LoadedSession) -> Result<&[StoredEntry]> {
    let count = stored.entries.len();
    let (first, last) = (range.first.index(), range.last.index().saturating_add(1).min(count));
    if first >= last {
        bail!(
            "{} has no entry {}; it has {}, from m0000 on",
            stored.listed.session,
            range.first,
            draw::entries(count)
        );
    }
    Ok(&stored.entries[first..last])
}

impl ShownEntry {
    fn new(one: &StoredEntry, message: Option<Arc<Message>>) -> Self {
        let (mark, note, summary) = match &one.entry {
            Entry::Message(_) => (None, None, None),
            Entry::Mark(mark) => (Some(mark.clone().into()), None, None),
            Entry::Note { kind } => (None, Some(kind.clone()), None),
            Entry::Recorded(compaction) => (None, None, compaction.summary.clone()),
        };
        let (id, parent, time_ms) = (one.id, one.parent, one.time_ms);
        Self { id, parent, kind: entries::kind(&one.entry), time_ms, message, mark, note, summary }
    }
}

fn page(shown: &[ShownEntry]) -> Page {
    let mut page = Page::default();
    for one in shown {
        let anchor = one.parent.map(|parent| format!(", below {parent}")).unwrap_or_default();
        writeln!(page, "--- {} ({}{anchor}, {})", one.id, one.kind, time_text(one.time_ms));
        if let Some(message) = &one.message {
            writeln!(page, "{}", message.plain_text(TextDetail::Whole).trim_end_matches('\n'));
        }
        if let Some(mark) = &one.mark {
            write_mark(&mut page, &mark.clone().into());
        }
        for text in one.note.iter().chain(&one.summary) {
            writeln!(page, "{text}");
        }
    }
    page
}

fn write_mark(page: &mut Page, mark: &Mark) {
    writeln!(page, "{}", entries::entry_text(&Entry::Mark(mark.clone()), None));
    let observed = if let Mark::Observation { record, .. } = mark { Some(record) } else { None };
    if let Some(record) = mark.record().or(observed) {
        write_record(page, record);
    }
}

fn write_record(page: &mut Page, record: &Record) {
    writeln!(
        page,
        "trigger {}, {} ms, counted by {}, cost {}",
        serde_json::to_string(&record.trigger).unwrap_or_default().trim_matches('"'),
        draw::grouped(record.duration_ms),
        record.count_method,
        record.cost
    );
    for fallback in &record.fallbacks {
        writeln!(page, "gave up {}: {}", fallback.strategy, fallback.why);
    }
    for note in &record.notes {
        writeln!(page, "note: {note}");
    }
    let Some(change) = record.change() else { return };
    writeln!(
        page,
        "{} superseded, {} dropped, {} kept; of {} facts {} are kept, {} can be looked up, {} are in the store alone",
        draw::grouped(change.superseded.len() as u64),
        draw::grouped(change.dropped.len() as u64),
        draw::grouped(change.kept.len() as u64),
        draw::grouped(change.loss.kept + change.loss.recoverable + change.loss.lost),
        draw::grouped(change.loss.kept),
        draw::grouped(change.loss.recoverable),
        draw::grouped(change.loss.lost)
    );
    if let Some(summary) = &change.summary {
        writeln!(page, "\n{}", summary.trim_end_matches('\n'));
    }
}

fn about_page(listed: &ListedSession, flag: &str) -> Page {
    let mut page = Page::default();
    let about = &listed.about;
    let origin = serde_json::to_string(&about.origin).unwrap_or_default();
    let leaf = listed.leaf.map_or_else(|| "–".to_owned(), |leaf| leaf.to_string());
    let rows = [
        ("session", listed.session.to_string()),
        ("name", about.title.clone()),
        ("came by", format!("{} {}", origin.trim_matches('"'), about.form)),
        ("forked from", about.fork.map(|fork| SessionId(fork.session).to_string()).unwrap_or_default()),
        ("model", about.model.clone()),
        ("agent", about.agent.clone()),
        ("project", about.project.clone()),
        ("entries", format!("{}, at {leaf}", draw::grouped(listed.entries as u64))),
        ("compactions", draw::grouped(listed.passes as u64)),
        ("made", time_text(Some(listed.created_ms))),
        ("changed", time_text(Some(listed.changed_ms))),
        ("in use", if listed.is_held { "yes" } else { "no" }.to_owned()),
    ];
    for (name, value) in rows.into_iter().filter(|(_, value)| !value.trim().is_empty()) {
        writeln!(page, "{name:<12} {}", crate::columns::plain(&value).trim_end());
    }
    writeln!(page, "\n`epitome history {}{flag}` lists its entries", listed.session);
    page
}
