//! `epitome fork`: another session that holds what a stored one holds, under the same ids, and goes on from one of its messages. What was
//! said is stored once for both; what happens to one from here on does not touch the other.

use super::print_json;
use crate::cli::ForkArgs;
use crate::columns;
use crate::output::Page;
use crate::store_place::OpenStore;
use anyhow::{Context as _, Result, bail};
use epitome_core::{Entry, EntryId};
use epitome_engine::AppendedEntry;
use epitome_engine::store::{CommitBatch, ForkOrigin, SessionId, StoreError, TenantId};
use epitome_store::{ListedSession, StoredEntry};
use serde::Serialize;

/// What `--json` prints.
#[derive(Serialize)]
struct ForkLine {
    outcome: &'static str,
    session: SessionId,
    forked_from: SessionId,
    leaf: EntryId,
    entries: usize,
}

/// Makes the other session.
pub fn run(args: &ForkArgs) -> Result<()> {
    let open = args.store.open()?;
    let listed = open.listed(args.session)?;
    let entries = open.wait(open.store.entries(args.session))?;
    let leaf = args.entry.or(listed.leaf).with_context(|| format!("{} is empty", args.session))?;
    if entries.get(leaf.index()).is_none_or(|one| matches!(one.entry, Entry::Mark(_))) {
        bail!("{leaf} is no message of {}; `epitome tree` shows them", args.session);
    }
    let count = entries.len();
    let batch = batch(&open, &listed, entries, leaf)?;
    let session = open.waiting.to_the_end(store(&open, batch))?;
    let line = ForkLine { outcome: "forked", session, forked_from: args.session, leaf, entries: count };
    if args.json { print_json(&line) } else { page(&line, &open.flag).print() }
}

/// Everything the session holds, with the times it was stored at.
fn batch(
    open: &OpenStore,
    listed: &ListedSession,
    entries: Vec<StoredEntry>,
    leaf: EntryId,
) -> Result<CommitBatch> {
    let ids: Vec<EntryId> =
        entries.iter().filter(|one| matches!(one.entry, Entry::Message(_))).map(|one| one.id).collect();
    let said = open.wait(open.store.originals(listed.session, &ids))?;
    let mut about = listed.about.clone();
    about.fork = Some(ForkOrigin { session: listed.session.0, entries: entries.len() });
    if about.file_in.is_none() && open.wait(open.store.file(listed.session))?.is_some() {
        about.file_in = Some(listed.session.0);
    }
    let times = entries.iter().filter_map(|one| Some((one.id, one.time_ms?))).collect();
    let appended =
        entries.into_iter().map(|StoredEntry { id, parent, entry, .. }| AppendedEntry { id, parent, entry });
    Ok(CommitBatch {
        entries: appended.collect(),
        messages: ids.into_iter().zip(said).collect(),
        times,
        leaf: Some(leaf),
        about: Some(about),
        time_ms: u64::try_from(jiff::Timestamp::now().as_millisecond()).ok(),
        ..CommitBatch::default()
    })
}

async fn store(open: &OpenStore, batch: CommitBatch) -> Result<SessionId> {
    let session = open.store.create(TenantId::LOCAL).await?;
    let lease = open.store.lease(session).await?.ok_or(StoreError::Leased(session))?;
    let committed = open.store.commit(lease, 0, batch).await;
    open.store.release(lease).await;
    if let Err(error) = committed {
        // What cannot be removed either is an empty session, and the error says why.
        drop(open.store.remove(session).await);
        return Err(error.into());
    }
    Ok(session)
}

fn page(line: &ForkLine, flag: &str) -> Page {
    let ForkLine { session, forked_from, leaf, entries, .. } = line;
    let text = format!(
        "{session}: {} of {forked_from}, at {leaf}; `epitome tree {session}{flag}` shows them",
        crate::draw::entries(*entries)
    );
    let mut page = Page::default();
    writeln!(page, "{}", columns::wrap(&text, columns::of_stdout(), 2));
    page
}
