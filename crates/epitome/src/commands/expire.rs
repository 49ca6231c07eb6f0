//! `epitome expire`: old sessions go from the store, whole, the oldest first. What went is kept for the audit: which, when,
//! how large; nothing of what was said.

use super::audit::EXPIRED;
use super::entries::time_text;
use super::print_json;
use crate::cli::ExpireArgs;
use crate::draw::{self, Paint};
use crate::output::Page;
use crate::store_place::OpenStore;
use crate::table::{Cell, Table};
use crate::{bytes_text, output};
use anyhow::{Result, bail};
use epitome_engine::store::{CommitBatch, SessionId, StoreError};
use epitome_store::ListedSession;
use serde::Serialize;
use serde_json::json;
use std::collections::HashSet;

/// Sessions changed so lately are somebody's work; in milliseconds.
const FRESH_MS: u64 = 86_400_000;

/// A session that goes, or would.
#[derive(Serialize)]
struct ExpiredSession {
    session: SessionId,
    title: String,
    entries: usize,
    bytes: u64,
    changed_ms: u64,
    #[serde(skip)]
    is_fresh: bool,
}

/// What `--json` prints.
#[derive(Serialize)]
struct ExpireReport {
    outcome: &'static str,
    sessions: Vec<ExpiredSession>,
    bytes: u64,
    /// Sessions that would go and stay, because somebody works on them.
    held: Vec<SessionId>,
}

/// Deletes what is too old or too much.
pub fn run(args: &ExpireArgs) -> Result<()> {
    let open = args.store.open()?;
    let now_ms = u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or_default();
    let mut report = plan(&open, args, now_ms)?;
    if !args.json {
        page(&report, args.dry_run).print()?;
    }
    let fresh = report.sessions.iter().filter(|one| one.is_fresh).count();
    if fresh > 0 && !args.yes && !args.dry_run {
        bail!(
            "{} of these changed in the last day; nothing was deleted, --yes deletes them all the same",
            draw::counted(fresh, "session")
        );
    }
    if !args.dry_run {
        let going: HashSet<SessionId> = report.sessions.iter().map(|one| one.session).collect();
        for one in &report.sessions {
            remove(&open, one, &going, now_ms)?;
        }
        report.outcome = if report.sessions.is_empty() { "noop" } else { "expired" };
        if !args.json && !report.sessions.is_empty() {
            let (count, bytes) = (report.sessions.len(), bytes_text::size(report.bytes));
            output::tell(format_args!("deleted {}, {bytes}", draw::counted(count, "session")));
        }
    }
    if args.json { print_json(&report) } else { Ok(()) }
}

/// The sessions that are to go, the oldest first.
fn plan(open: &OpenStore, args: &ExpireArgs, now_ms: u64) -> Result<ExpireReport> {
    let mut all = open.sessions()?;
    all.sort_by_key(|one| (one.changed_ms, one.session));
    let sizes = all.iter().map(|one| open.wait(open.store.session_bytes(one.session)));
    let sizes: Vec<u64> = sizes.collect::<Result<_>>()?;
    let mut left: u64 = sizes.iter().sum();
    let mut report = ExpireReport { outcome: "planned", sessions: Vec::new(), bytes: 0, held: Vec::new() };
    for (listed, bytes) in all.into_iter().zip(sizes) {
        let is_old =
            args.limits.older_than.is_some_and(|age| listed.changed_ms.saturating_add(age) <= now_ms);
        let is_over = args.limits.larger_than.is_some_and(|limit| left > limit);
        if !(is_old || is_over) {
            continue;
        }
        if listed.is_held {
            report.held.push(listed.session);
            continue;
        }
        left = left.saturating_sub(bytes);
        report.bytes += bytes;
        report.sessions.push(ExpiredSession {
            session: listed.session,
            title: listed.about.title.clone(),
            entries: listed.entries,
            bytes,
            changed_ms: listed.changed_ms,
            is_fresh: listed.changed_ms.saturating_add(FRESH_MS) > now_ms,
        });
    }
    Ok(report)
}

/// Deletes a session. A file that others were read from as well is handed on first; that it went is written down before,
/// so that nothing goes without a word.
fn remove(open: &OpenStore, one: &ExpiredSession, going: &HashSet<SessionId>, now_ms: u64) -> Result<()> {
    hand_on_file(open, one.session, going)?;
    let name = format!("{EXPIRED}{now_ms:020}/{}", one.session);
    let event = json!({
        "event": "session.expired",
        "session": one.session,
        "time_ms": now_ms,
        "entries": one.entries,
        "bytes": one.bytes,
        "changed_ms": one.changed_ms,
    });
    open.wait(open.store.keep_memo(name, Some(serde_json::to_vec(&event)?)))?;
    open.wait(open.store.remove(one.session))
}

/// Gives the file that a session keeps to another that was read from it and stays.
fn hand_on_file(open: &OpenStore, session: SessionId, going: &HashSet<SessionId>) -> Result<()> {
    let mut others = open.sessions()?;
    others.retain(|other| other.about.file_in == Some(session.0) && !going.contains(&other.session));
    let Some(keeper) = others.first().map(|other| other.session) else { return Ok(()) };
    let mut file = open.wait(open.store.file(session))?;
    for other in others {
        let mut about = other.about.clone();
        about.file_in = Some(keeper.0).filter(|_| other.session != keeper);
        let file = if other.session == keeper { file.take().map(Into::into) } else { None };
        let batch = CommitBatch { about: Some(about), file, ..CommitBatch::default() };
        open.wait(commit(open, &other, batch))?;
    }
    Ok(())
}

async fn commit(open: &OpenStore, listed: &ListedSession, batch: CommitBatch) -> Result<(), StoreError> {
    let lease = open.store.lease(listed.session).await?.ok_or(StoreError::Leased(listed.session))?;
    let done = open.store.commit(lease, listed.entries, batch).await;
    open.store.release(lease).await;
    done.map(drop)
}

fn page(report: &ExpireReport, is_dry: bool) -> Page {
    let mut page = Page::default();
    if report.sessions.is_empty() {
        writeln!(page, "no session is that old, or too much");
    } else {
        let mut table = Table::new(&[
            Cell::left("session"),
            Cell::left("changed"),
            Cell::right("entries"),
            Cell::right("size"),
            Cell::rest("name"),
        ]);
        for one in &report.sessions {
            let cells = [
                one.session.to_string(),
                time_text(Some(one.changed_ms)),
                draw::grouped(one.entries as u64),
                bytes_text::size(one.bytes),
                one.title.clone(),
            ];
            table.add(cells, false);
        }
        table.write(&mut page, Paint::stdout());
        let (would, count) = (if is_dry { "would go" } else { "to go" }, report.sessions.len());
        writeln!(page, "\n{would}: {}, {}", draw::counted(count, "session"), bytes_text::size(report.bytes));
    }
    if !report.held.is_empty() {
        let held: Vec<String> = report.held.iter().map(SessionId::to_string).collect();
        writeln!(page, "somebody works on {}, so it stays", held.join(", "));
    }
    page
}
