//! `epitome completions` and `epitome man`: what a shell and a pager want.

use crate::cli::{Cli, CompletionsArgs};
use crate::output;
use anyhow::{Context as _, Result};
use clap::CommandFactory;

/// Prints a completion script.
pub fn completions(args: &CompletionsArgs) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "epitome", &mut script);
    print(&script)
}

/// Prints the manual page.
pub fn man() -> Result<()> {
    let mut page = Vec::new();
    let command = Cli::command();
    let subcommands: Vec<clap::Command> = command.get_subcommands().cloned().collect();
    clap_mangen::Man::new(command).render(&mut page).context("cannot write the manual page")?;
    for subcommand in subcommands {
        let name = format!("epitome-{}", subcommand.get_name());
        let part = clap_mangen::Man::new(subcommand.display_name(name));
        part.render(&mut page).context("cannot write the manual page")?;
    }
    print(&page)
}

/// Prints what was made whole: a reader that goes away meanwhile is no panic.
fn print(bytes: &[u8]) -> Result<()> {
    output::write(None, |out| out.write_all(bytes).context("cannot write to standard output"))
}
