//! `epitome navigate`: a stored session goes to another branch, where a message may tell of the one it leaves.

use super::stored_act::{ActLine, StoredAct};
use crate::cli::{NavigateArgs, ReadArgs};
use anyhow::{Result, bail};
use epitome_engine::{BranchExit, NavigationOutcome};

/// Moves the session.
pub fn run(args: &NavigateArgs) -> Result<()> {
    let act = StoredAct::open(&args.store, args.session, &ReadArgs::plain())?;
    let before = act.look()?;
    if before.leaf() == Some(args.entry) {
        let line =
            ActLine { entry: Some(args.entry), ..ActLine::nothing(args.session, "is where it is already") };
        return act.tell(&line, args.json);
    }
    let left = before.leaving(args.entry)?.messages.len();
    let exit = match args.summary {
        true => BranchExit::Summary { focus: args.focus.clone() },
        false => BranchExit::Silent,
    };
    let summary = match act.run(act.engine().navigate(act.checkout(), args.entry, exit))? {
        NavigationOutcome::There { summary } => summary,
        NavigationOutcome::Stayed { why } => bail!("{} stays where it is: {why}", args.session),
    };
    let tokens_before = act.tokens(&before);
    let act = act.anew(args.session, &ReadArgs::plain())?;
    let after = act.look()?;
    let (leaf, count) = (summary.unwrap_or(args.entry), crate::draw::counted(left, "message"));
    let told = match summary {
        Some(summary) => format!("; {summary} tells of the {count} left behind"),
        None => format!("; {count} left behind"),
    };
    let line = ActLine {
        outcome: "moved",
        leaf: Some(leaf),
        summary,
        sizes: Some((tokens_before, act.tokens(&after))),
        ..ActLine::nothing(args.session, &format!("at {leaf} now{told}"))
    };
    act.tell(&line, args.json)
}
