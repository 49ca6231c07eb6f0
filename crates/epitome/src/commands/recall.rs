//! `epitome recall`: the originals behind pointers.

use super::{print_json_each, role_text};
use crate::agents::lookup;
use crate::cli::{PointerRange, RecallArgs};
use crate::output::Page;
use crate::runner::Runner;
use crate::transcript_file::TranscriptFile;
use anyhow::{Context as _, Result, bail};
use clap::error::ErrorKind;
use epitome_core::{Author, EntryId, Log, Message, Role, TextDetail};
use epitome_engine::store::SessionId;
use epitome_engine::{Driver, SessionOptions};
use serde::Serialize;
use std::path::Path;
use std::sync::Arc;

/// Something that was recalled.
#[derive(Serialize)]
struct RecalledEntry {
    id: EntryId,
    conversation: usize,
    message: Arc<Message>,
}

/// Prints the messages that pointers name, as they were first said, and the summaries that compactions left.
pub fn run(args: &RecallArgs) -> Result<()> {
    let found = match args.stored.session {
        Some(session) => stored(session, args)?,
        None => of_file(args)?,
    };
    if args.read.json { print_json_each(&found) } else { page(&found).print() }
}

/// From the store, which need not keep what is not asked for.
fn stored(session: SessionId, args: &RecallArgs) -> Result<Vec<RecalledEntry>> {
    let open = args.stored.store.open()?;
    let number = open.listed(session)?.about.conversation.unwrap_or(0);
    let log = open.wait(open.store.open_whole(session))?.log;
    let mut found = Vec::new();
    for range in [&[first_pointer(&args.file)?], &args.ids[..]].concat() {
        for id in named(range, &log, &session.to_string())? {
            let message = match summary(&log, id) {
                Some(summary) => summary,
                None => {
                    let said = open.wait(open.store.originals(session, &[id]))?;
                    said.into_iter().next().context("the store gave nothing back")?
                }
            };
            found.push(RecalledEntry { id, conversation: number, message });
        }
    }
    Ok(found)
}

fn of_file(args: &RecallArgs) -> Result<Vec<RecalledEntry>> {
    let file = TranscriptFile::open(&lookup::file_of(&args.file)?, &args.read)?;
    let number = file.number(args.conversation)?;
    let log = &file.conversation(number).log;
    let mut ids = Vec::new();
    for range in args.ids.iter().copied() {
        ids.extend(named(range, log, &file.path.display().to_string())?);
    }
    let open = file.open_conversation(number, SessionOptions::default(), Driver::default());
    let runner = Runner::default();
    let mut found = Vec::with_capacity(ids.len());
    for id in ids {
        let message = match summary(log, id) {
            Some(summary) => summary,
            None => runner.to_the_end(async { Ok(open.engine.recall(open.opening.session, id).await?) })?,
        };
        found.push(RecalledEntry { id, conversation: number, message });
    }
    Ok(found)
}

/// With a stored session no file is named, and a pointer stands in its place.
fn first_pointer(named: &Path) -> Result<PointerRange> {
    let text = named.to_string_lossy();
    text.parse().map_err(|why: String| clap::Error::raw(ErrorKind::ValueValidation, why).into())
}

/// The entries of a range that can be shown; it is an error where there is none.
fn named(range: PointerRange, log: &Log, place: &str) -> Result<Vec<EntryId>> {
    // Compactions are entries too, and may be the last.
    let newest = EntryId(log.len().saturating_sub(1) as u32);
    let all = (range.first.0..=range.last.min(newest).0).map(EntryId);
    let ids: Vec<EntryId> = all.filter(|&id| log.item(id).is_some() || summary(log, id).is_some()).collect();
    if ids.is_empty() {
        let what =
            if range.is_one() { range.first.to_string() } else { format!("{}-{}", range.first, range.last) };
        bail!("{what} names no message of {place}; pointers there run up to {newest}");
    }
    Ok(ids)
}

/// The summary that a compaction left, as the model saw it.
fn summary(log: &Log, id: EntryId) -> Option<Arc<Message>> {
    let text = log.compaction(id)?.summary.clone()?;
    Some(Arc::new(Message::text(Role::User, Author::Harness, text)))
}

/// One as it is; several with a line before each that says which it is.
fn page(found: &[RecalledEntry]) -> Page {
    let mut page = Page::default();
    for RecalledEntry { id, message, .. } in found {
        if found.len() > 1 {
            writeln!(page, "--- {id} ({})", role_text(message.role));
        }
        writeln!(page, "{}", message.plain_text(TextDetail::Whole).trim_end_matches('\n'));
    }
    page
}
