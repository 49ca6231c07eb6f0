//! `epitome undo`: the transcript without its last compaction.

use super::print_json;
use crate::cli::UndoArgs;
use crate::{input, output};
use anyhow::{Context as _, Result};
use epitome_wire::{Undo, Window, undo};
use std::io::Write;

/// Writes the file as it was before its last compaction.
pub fn run(args: &UndoArgs) -> Result<()> {
    let source = input::open(&args.file)?;
    let undone = undo(source.clone(), args.read.from.0)
        .with_context(|| format!("cannot undo in {}", args.file.display()))?;
    let what = match &undone {
        Undo::Nothing => "noop",
        Undo::Truncate(_) | Undo::Inner { .. } | Undo::Rewrite(_) => "undone",
    };
    if args.output.is_some() || !args.read.json {
        output::write(args.output.as_deref(), |to| match &undone {
            Undo::Nothing => output::copy(&*source, source.len(), to),
            Undo::Truncate(len) => output::copy(&*source, *len, to),
            Undo::Inner { offset, len } => {
                output::copy(&Window::new(source.clone(), *offset, *len), *len, to)
            }
            Undo::Rewrite(bytes) => to.write_all(bytes).context("cannot write"),
        })?;
    }
    if args.read.json {
        return print_json(&serde_json::json!({ "outcome": what, "file": args.file, "output": args.output }));
    }
    if undone == Undo::Nothing {
        eprintln!("{}: no compaction to take back; nothing changed", args.file.display());
    }
    Ok(())
}
