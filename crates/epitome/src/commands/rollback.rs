//! `epitome rollback`: a stored session goes to another message. Compactions made since come and go by themselves.

use super::stored_act::{ActLine, StoredAct};
use crate::cli::{ReadArgs, RollbackArgs};
use anyhow::Result;

/// Moves the session.
pub fn run(args: &RollbackArgs) -> Result<()> {
    let act = StoredAct::open(&args.store, args.session, &ReadArgs::plain())?;
    let before = act.look()?;
    if before.leaf() == Some(args.entry) {
        let line =
            ActLine { entry: Some(args.entry), ..ActLine::nothing(args.session, "is where it is already") };
        return act.tell(&line, args.json);
    }
    let now = act.checkout().driver.ports().clock.unix_ms();
    act.run(act.engine().rollback_at(args.session, args.entry, now))?;
    let tokens_before = act.tokens(&before);
    let act = act.anew(args.session, &ReadArgs::plain())?;
    let after = act.look()?;
    let left = before.leaf().map(|leaf| format!("; it was at {leaf}")).unwrap_or_default();
    let line = ActLine {
        outcome: "moved",
        leaf: Some(args.entry),
        sizes: Some((tokens_before, act.tokens(&after))),
        ..ActLine::nothing(args.session, &format!("at {} now{left}", args.entry))
    };
    act.tell(&line, args.json)
}
