//! `epitome inspect`: what fills the context.

mod fill;
mod sheet;
mod survey;
mod terminal;
mod walk;
mod waste;
mod words;

use super::print_json_each;
use crate::cli::InspectArgs;
use crate::transcript_file::{TranscriptFile, catalog};
use crate::{input, progress};
use anyhow::Result;

/// Looks at each conversation of each file.
pub fn run(args: &InspectArgs) -> Result<()> {
    let files = input::expand(&args.files)?;
    let prices = catalog(args.read.models.as_deref())?;
    let mut surveys = Vec::new();
    let failed = progress::over(&files, |_, path, bar| {
        let file = TranscriptFile::open(path, &args.read)?;
        for number in 0..file.transcript.conversations.len() {
            let survey = survey::Survey::of(&file, number, &prices)?;
            if args.read.json {
                surveys.push(survey);
            } else {
                bar.suspend(|| terminal::page(&survey).print())?;
            }
        }
        Ok(())
    })?;
    if args.read.json {
        print_json_each(&surveys)?;
    }
    failed.result()
}
