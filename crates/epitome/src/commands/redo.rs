//! `epitome redo`: a compaction of a stored session that was taken back is used again.

use super::stored_act::{ActLine, StoredAct};
use crate::cli::{ReadArgs, RedoArgs};
use anyhow::Result;
use epitome_core::{EntryId, Mark};
use epitome_engine::Session;

/// Said of a compaction behind which another was made while it was taken back: the later one is what the model sees.
const COVERED: &str =
    "used again, and the context is as it was: a later compaction covers what it stands for";

/// Uses the compaction again that is named, or the one taken back last.
pub fn run(args: &RedoArgs) -> Result<()> {
    let act = StoredAct::open(&args.store, args.session, &ReadArgs::plain())?;
    let before = act.look()?;
    let Some(of) = args.entry.or_else(|| taken_back_last(&before)) else {
        return act.tell(&ActLine::nothing(args.session, "no compaction was taken back"), args.json);
    };
    let done = act.run(act.engine().redo(act.checkout(), of))?;
    let is_covered = before.context().slots() == done.session.context().slots();
    let said = if is_covered { COVERED } else { "used again" };
    let line = ActLine {
        outcome: "redone",
        entry: Some(of),
        sizes: Some((act.tokens(&before), act.tokens(&done.session))),
        ..ActLine::nothing(args.session, said)
    };
    act.tell(&line, args.json)
}

/// The compaction of this path that was taken back last, and is not used again since.
fn taken_back_last(session: &Session) -> Option<EntryId> {
    let log = session.log();
    let marks = log.marks_on(&log.path_of(session.leaf()));
    let undone = marks.iter().rev().filter_map(|&id| match log.mark_of(id) {
        Some(Mark::Undo { of }) => Some(*of),
        Some(_) | None => None,
    });
    undone.into_iter().find(|of| session.context().is_undone(*of))
}
