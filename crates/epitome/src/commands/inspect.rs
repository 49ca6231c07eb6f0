//! `epitome inspect`: what fills the context.

mod picture;
mod survey;

use super::print_json_each;
use crate::cli::InspectArgs;
use crate::transcript_file::TranscriptFile;
use crate::{input, progress};
use anyhow::Result;

/// Looks at each conversation of each file.
pub fn run(args: &InspectArgs) -> Result<()> {
    if args.files.is_empty() {
        return super::sessions::run_plain(args.read.models.as_deref(), args.read.json);
    }
    let files = input::expand(&args.files)?;
    let mut surveys = Vec::new();
    let failed = progress::over(&files, |_, path, bar| {
        let file = TranscriptFile::open(path, &args.read)?;
        for number in 0..file.transcript.conversations.len() {
            let survey = survey::Survey::of(&file, number)?;
            if args.read.json {
                surveys.push(survey);
            } else {
                bar.suspend(|| picture::page(&survey).print())?;
            }
        }
        Ok(())
    })?;
    if args.read.json {
        print_json_each(&surveys)?;
    }
    failed.result()
}
