//! `epitome undo --session`: a compaction of a stored session is taken back, and what came after it stays.

use crate::cli::{UndoArgs, parse_pointer};
use crate::commands::stored_act::{ActLine, StoredAct};
use anyhow::Result;
use clap::error::ErrorKind;
use epitome_core::{Entry, EntryId, Mark};
use epitome_engine::Session;
use epitome_engine::store::SessionId;
use std::path::Path;

/// Takes back the compaction that is named, or the last one.
pub(super) fn run(session: SessionId, args: &UndoArgs) -> Result<()> {
    let named = args.file.as_deref().map(pointer).transpose()?;
    let act = StoredAct::open(&args.stored.store, session, &args.read)?;
    let before = act.look()?;
    let Some(of) = named.or_else(|| last_pass(&before)) else {
        let what = if is_recorded(&before) { in_the_file(session, args) } else { NOTHING.to_owned() };
        return act.tell(&ActLine::nothing(session, &what), args.read.json);
    };
    let done = act.run(act.engine().undo(act.checkout(), of))?;
    let line = ActLine {
        outcome: "undone",
        entry: Some(of),
        sizes: Some((act.tokens(&before), act.tokens(&done.session))),
        ..ActLine::nothing(session, "taken back")
    };
    act.tell(&line, args.read.json)
}

/// Where nothing was compacted.
const NOTHING: &str = "no compaction to take back";

/// Whether the model sees the summary of a compaction that came with the session's file.
fn is_recorded(session: &Session) -> bool {
    let summary = session.context().summary(session.log());
    summary.is_some_and(|(id, _)| matches!(session.log().get(id), Some(Entry::Recorded(_))))
}

/// What to do about a compaction that is part of the file: the log of a session is never written anew.
fn in_the_file(session: SessionId, args: &UndoArgs) -> String {
    let store = args.stored.store.flag();
    format!(
        "{NOTHING} in the store: the last one came with its file, and is taken back there (epitome export {session} -o FILE{store}; epitome undo FILE -o FILE; epitome import FILE{store})"
    )
}

/// The newest compaction or edit that counts on the path.
fn last_pass(session: &Session) -> Option<EntryId> {
    let log = session.log();
    let marks = log.marks_on(&log.path_of(session.leaf()));
    // What takes one back names it as well, and is none.
    let is_pass = |id: &EntryId| match log.mark_of(*id) {
        Some(Mark::Compaction { .. } | Mark::Edit { .. } | Mark::Apply { .. }) => true,
        Some(_) | None => false,
    };
    let passes = marks.into_iter().filter(is_pass).map(|id| log.pass_of(id));
    passes.filter(|&id| !session.context().is_undone(id)).max()
}

/// With a stored session no file is named, and a pointer stands in its place.
fn pointer(named: &Path) -> Result<EntryId> {
    parse_pointer(&named.to_string_lossy())
        .map_err(|why| clap::Error::raw(ErrorKind::ValueValidation, why).into())
}
