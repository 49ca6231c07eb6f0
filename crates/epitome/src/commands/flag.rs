//! `epitome flag`: what a person thinks of a compaction, kept with it.

use super::stored_act::{ActLine, StoredAct};
use crate::cli::{FlagArgs, FlagName, ReadArgs};
use anyhow::Result;
use epitome_core::{Flag, Judgement};

/// Keeps the judgement.
pub fn run(args: &FlagArgs) -> Result<()> {
    let act = StoredAct::open(&args.store, args.session, &ReadArgs::plain())?;
    let (flag, word) = match args.flag {
        FlagName::Good => (Flag::Good, "good"),
        FlagName::Bad => (Flag::Bad, "bad"),
        FlagName::Neutral => (Flag::Neutral, "neutral"),
    };
    let judgement = Judgement { flag, notes: args.notes.clone() };
    act.run(act.engine().judge(act.checkout(), args.entry, judgement))?;
    let line = ActLine {
        outcome: "flagged",
        entry: Some(args.entry),
        ..ActLine::nothing(args.session, &format!("is flagged {word}"))
    };
    act.tell(&line, args.json)
}
