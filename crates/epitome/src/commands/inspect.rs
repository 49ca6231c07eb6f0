//! `epitome inspect`: what fills the context.

mod fill;
mod html;
mod plot;
mod sheet;
mod survey;
mod terminal;
pub mod walk;
mod waste;
mod words;

use super::print_json_each;
use crate::cli::InspectArgs;
use crate::transcript_file::{TranscriptFile, catalog};
use crate::{input, output, progress};
use anyhow::{Context as _, Result};
use std::path::Path;
use survey::Survey;

/// Looks at each conversation of each file.
pub fn run(args: &InspectArgs) -> Result<()> {
    let prices = catalog(args.read.models.as_deref())?;
    if let Some(session) = args.stored.session {
        let file = TranscriptFile::of_stored(&args.stored.store.open()?, session, &args.read)?;
        let survey = Survey::of(&file, file.number(None)?, &prices)?;
        return match (&args.html, args.read.json) {
            (Some(out), _) => write_page(out, &[survey]),
            (None, true) => print_json_each(&[survey]),
            (None, false) => terminal::page(&survey).print(),
        };
    }
    if args.files.is_empty() && args.html.is_none() && !input::is_sent() {
        return super::sessions::run_plain(args.read.models.as_deref(), args.read.json);
    }
    let files = input::expand(&input::or_stdin(&args.files)?)?;
    let mut surveys = Vec::new();
    let failed = progress::over(&files, |_, path, bar| {
        let file = TranscriptFile::open(path, &args.read)?;
        for number in 0..file.transcript.conversations.len() {
            let survey = Survey::of(&file, number, &prices)?;
            if args.read.json || args.html.is_some() {
                surveys.push(survey);
            } else {
                bar.suspend(|| terminal::page(&survey).print())?;
            }
        }
        Ok(())
    })?;
    if let Some(out) = &args.html {
        write_page(out, &surveys)?;
    } else if args.read.json {
        print_json_each(&surveys)?;
    }
    failed.result()
}

/// Writes the page; `-` is standard output.
fn write_page(out: &Path, surveys: &[Survey]) -> Result<()> {
    let path = Some(out).filter(|out| *out != Path::new("-"));
    output::write(path, |to| to.write_all(html::page(surveys).as_bytes()).context("cannot write the page"))?;
    if let Some(path) = path {
        output::tell(format_args!("wrote {}; open it in a browser", path.display()));
    }
    Ok(())
}
