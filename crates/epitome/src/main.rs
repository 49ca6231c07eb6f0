//! The program: each command decodes what it is asked, makes one call, and prints what came of it.

#![expect(unreachable_pub, reason = "a program has no callers")]

mod agents;
mod bytes_text;
mod cli;
mod clock;
mod columns;
mod command_hook;
mod commands;
mod draw;
mod hint;
mod input;
mod model_count;
mod opencode_database;
mod opencode_tree;
mod output;
mod packing;
mod progress;
mod replacement;
mod restorer;
mod runner;
mod session_ports;
mod settings;
mod shell_word;
mod store_place;
mod stored_session;
mod swe_agent_demo;
mod table;
mod terminal_operator;
mod transcript_file;
mod transcript_store;

use clap::Parser;
use clap::error::ErrorKind;
use cli::{Cli, Command};
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return misuse(&error),
    };
    match run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if output::is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => match error.downcast_ref() {
            Some(error) => misuse(error),
            None => {
                output::tell(format_args!("epitome: {error:#}"));
                ExitCode::FAILURE
            }
        },
    }
}

/// Help that was asked for, or a command line that is not understood, told as every error is.
fn misuse(error: &clap::Error) -> ExitCode {
    let is_lost = error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    if !error.use_stderr() || is_lost {
        // Where nobody reads any more there is nobody to tell.
        drop(error.print());
        return if is_lost { ExitCode::from(2) } else { ExitCode::SUCCESS };
    }
    let text = error.render().to_string();
    output::tell(format_args!("epitome: {}", text.trim_end().trim_start_matches("error: ")));
    ExitCode::from(2)
}

fn run(cli: Cli) -> anyhow::Result<()> {
    match cli.command {
        Command::Sessions(args) => commands::sessions::run(&args),
        Command::Inspect(args) => commands::inspect::run(&args),
        Command::Context(args) => commands::context::run(&args),
        Command::Compact(args) => commands::compact::run(&args),
        Command::Replay(args) => commands::replay::run(&args),
        Command::Tokens(args) => commands::tokens::run(&args),
        Command::Recall(args) => commands::recall::run(&args),
        Command::Undo(args) => commands::undo::run(&args),
        Command::Redo(args) => commands::redo::run(&args),
        Command::Import(args) => commands::import::run(&args),
        Command::Export(args) => commands::export::run(&args),
        Command::History(args) => commands::history::run(&args),
        Command::Tree(args) => commands::tree::run(&args),
        Command::Show(args) => commands::show::run(&args),
        Command::Search(args) => commands::search::run(&args),
        Command::Rollback(args) => commands::rollback::run(&args),
        Command::Navigate(args) => commands::navigate::run(&args),
        Command::Fork(args) => commands::fork::run(&args),
        Command::Label(args) => commands::label::run(&args),
        Command::Flag(args) => commands::flag::run(&args),
        Command::Audit(args) => commands::audit::run(&args),
        Command::Cost(args) => commands::cost::run(&args),
        Command::Expire(args) => commands::expire::run(&args),
        Command::Doctor(args) => commands::doctor::run(&args),
        Command::Models(args) => commands::models::run(&args),
        Command::Presets(args) => commands::presets::run(&args),
        Command::Config(args) => commands::config::run(&args),
        Command::Init(args) => commands::init::run(&args),
        Command::Serve(args) => commands::serve::run(args),
        Command::Demo(args) => commands::demo::run(&args),
        Command::Version(args) => commands::version::run(&args),
        Command::Completions(args) => commands::shell::completions(&args),
        Command::Man => commands::shell::man(),
    }
}
