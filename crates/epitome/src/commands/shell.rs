//! `epitome completions` and `epitome man`: what a shell and a pager want. Completions know the names that a flag takes
//! here: formats, strategies, presets and models, and the presets and aliases of whoever asks for the script.

use crate::cli::{Cli, CompletionsArgs, PolicyArgs};
use crate::output;
use crate::settings::{Lookup, own_presets};
use anyhow::{Context as _, Result};
use clap::builder::PossibleValuesParser;
use clap::{Command, CommandFactory};
use epitome_core::Strategy;
use epitome_settings::Presets;
use epitome_tokens::Catalog;
use epitome_wire::{FORMATS, Format, Protocol};

/// Prints a completion script.
pub fn completions(args: &CompletionsArgs) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut with_names(Cli::command()), "epitome", &mut script);
    print(&script)
}

/// The same commands with the names their flags take. They are no limit: a preset may be written tomorrow.
fn with_names(command: Command) -> Command {
    let names = flag_names();
    let subcommands: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    subcommands.iter().fold(command, |command, sub| {
        command.mut_subcommand(sub, |sub| {
            names.iter().fold(sub, |sub, (flag, names)| {
                let has_flag = sub.get_arguments().any(|arg| arg.get_id() == flag);
                // Only a compaction is written as a session; elsewhere a request is.
                let is_request = *flag == "to" && sub.get_name() != "compact";
                let names = if is_request { protocols() } else { names.clone() };
                let parser = PossibleValuesParser::new(names);
                if has_flag { sub.mut_arg(flag, |arg| arg.value_parser(parser)) } else { sub }
            })
        })
    })
}

/// The forms of a request.
fn protocols() -> Vec<String> {
    Protocol::ALL.map(|protocol| protocol.name().to_owned()).to_vec()
}

/// The names that each flag takes, by its id.
fn flag_names() -> Vec<(&'static str, Vec<String>)> {
    let texts = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let mut read = texts(&["auto"]);
    read.extend(FORMATS.iter().map(|row| row.name.to_owned()));
    let resumable = FORMATS.iter().filter(|row| row.format.is_resumable()).map(|row| row.name.to_owned());
    let mut written: Vec<String> = resumable.collect();
    written.push(Format::Native.name().to_owned());
    written.extend(protocols());
    let models = Catalog::built_in().models().iter().filter_map(|model| model.row.clone()).collect();
    let presets = own_names();
    vec![
        ("from", read),
        ("to", written),
        ("strategy", Strategy::ALL.map(|strategy| strategy.name().to_owned()).to_vec()),
        ("model", models),
        ("summarizer", presets.1),
        ("compare", presets.0.clone()),
        ("preset", presets.0),
    ]
}

/// Presets and summarisers, with the user's own; settings that cannot be read add nothing.
fn own_names() -> (Vec<String>, Vec<String>) {
    let lookup = Lookup::new(PolicyArgs::default(), None).ok();
    let own = lookup.as_ref().and_then(|lookup| own_presets(&lookup.places).ok()).unwrap_or_default();
    let presets = Presets::with(&own).names().map(ToString::to_string).collect();
    let aliases = lookup.and_then(|lookup| lookup.resolve(None).ok()).map(|resolved| resolved.aliases);
    let aliases = aliases.into_iter().flat_map(|aliases| aliases.into_iter().map(|(name, _)| name));
    (presets, ["embedded".to_owned()].into_iter().chain(aliases).collect())
}

/// Prints the manual page.
pub fn man() -> Result<()> {
    let mut page = Vec::new();
    let command = Cli::command();
    let subcommands: Vec<Command> = command.get_subcommands().cloned().collect();
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
