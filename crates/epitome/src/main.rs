//! The program: each command decodes what it is asked, makes one call, and prints what came of it.

#![expect(unreachable_pub, reason = "a program has no callers")]

mod agents;
mod cli;
mod clock;
mod command_hook;
mod commands;
mod draw;
mod hint;
mod input;
mod opencode_database;
mod opencode_tree;
mod output;
mod packing;
mod progress;
mod restorer;
mod runner;
mod session_ports;
mod settings;
mod shell_word;
mod swe_agent_demo;
mod terminal_operator;
mod transcript_file;
mod transcript_store;

use clap::Parser;
use cli::{Cli, Command};
use std::process::ExitCode;

fn main() -> ExitCode {
    match run(Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if output::is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            output::tell(format_args!("epitome: {error:#}"));
            ExitCode::FAILURE
        }
    }
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
        Command::Models(args) => commands::models::run(&args),
        Command::Presets(args) => commands::presets::run(&args),
        Command::Config(args) => commands::config::run(&args),
        Command::Init(args) => commands::init::run(&args),
        Command::Serve(args) => commands::serve::run(args),
        Command::Demo(args) => commands::demo::run(&args),
        Command::Completions(args) => commands::shell::completions(&args),
        Command::Man => commands::shell::man(),
    }
}
