//! `epitome completions` and `epitome man`: what a shell and a pager want.

use crate::cli::{Cli, CompletionsArgs};
use anyhow::{Context as _, Result};
use clap::CommandFactory;

/// Prints a completion script.
pub fn completions(args: &CompletionsArgs) -> Result<()> {
    clap_complete::generate(args.shell, &mut Cli::command(), "epitome", &mut std::io::stdout());
    Ok(())
}

/// Prints the manual page.
pub fn man() -> Result<()> {
    clap_mangen::Man::new(Cli::command())
        .render(&mut std::io::stdout())
        .context("cannot write the manual page")
}
