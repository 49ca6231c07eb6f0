//! `epitome init`: settings and a prompt to begin with, where there are none.

use super::print_json;
use crate::cli::InitArgs;
use crate::output::Page;
use crate::settings::{self, Places};
use anyhow::{Result, bail};
use serde::Serialize;

/// A file, and whether it was written now or was there already.
#[derive(Serialize)]
struct InitLine {
    file: String,
    written: bool,
}

/// Writes what is missing, and says what it did.
pub fn run(args: &InitArgs) -> Result<()> {
    let mut places = Places::here(None)?;
    if !args.dir.is_dir() {
        bail!("there is no folder {}; make it first", args.dir.display());
    }
    places.project = Some(args.dir.clone());
    let written = [settings::scaffold(&places)?, settings::prompt::scaffold(&places)?];
    let lines = written.map(|(file, written)| InitLine { file: file.display().to_string(), written });
    if args.json {
        return print_json(&lines);
    }
    let mut page = Page::default();
    for InitLine { file, written } in &lines {
        writeln!(page, "{} {file}", if *written { "wrote" } else { "kept " });
    }
    writeln!(page, "\n`epitome config` shows what counts now.");
    page.print()
}
