//! `epitome recall`: the original behind a pointer.

use super::print_json;
use crate::agents::lookup;
use crate::cli::RecallArgs;
use crate::output::Page;
use crate::runner::Runner;
use crate::transcript_file::TranscriptFile;
use anyhow::{Result, bail};
use epitome_core::TextDetail;
use epitome_engine::{Driver, SessionOptions};

/// Prints the message a pointer names, as it was first said.
pub fn run(args: &RecallArgs) -> Result<()> {
    let file = TranscriptFile::open(&lookup::file_of(&args.file)?, &args.read)?;
    let number = file.number(args.conversation)?;
    let log = &file.conversation(number).log;
    if log.item(args.id).is_none() {
        let last = log.newest().map(|newest| newest.to_string()).unwrap_or_default();
        bail!("{} names no message of {}; pointers there run up to {last}", args.id, args.file.display());
    }
    let open = file.open_conversation(number, SessionOptions::default(), Driver::default());
    let recall = async { Ok(open.engine.recall(open.opening.session, args.id).await?) };
    let message = Runner::default().to_the_end(recall)?;
    if args.read.json {
        return print_json(
            &serde_json::json!({ "id": args.id, "conversation": number, "message": &*message }),
        );
    }
    let mut page = Page::default();
    writeln!(page, "{}", message.plain_text(TextDetail::Whole).trim_end_matches('\n'));
    page.print()
}
