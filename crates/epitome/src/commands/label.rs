//! `epitome label`: a place in a stored session gets a name, which `tree` and `history` show.

use super::stored_act::{ActLine, StoredAct};
use crate::cli::{LabelArgs, ReadArgs};
use anyhow::{Result, bail};

/// Gives the place its name.
pub fn run(args: &LabelArgs) -> Result<()> {
    if args.text.trim().is_empty() {
        bail!("the name is empty; write what the place is to be called");
    }
    let act = StoredAct::open(&args.store, args.session, &ReadArgs::plain())?;
    let mut checkout = act.checkout().clone();
    checkout.leaf = args.at.or(checkout.leaf);
    let labelled = act.run(act.engine().label(&checkout, args.text.trim()))?;
    let at = labelled.session.leaf();
    let line = ActLine {
        outcome: "labelled",
        entry: at,
        ..ActLine::nothing(args.session, &format!("is called `{}` now", args.text.trim()))
    };
    act.tell(&line, args.json)
}
