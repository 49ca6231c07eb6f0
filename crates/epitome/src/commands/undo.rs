//! `epitome undo`: the transcript without its last compaction.

use super::print_json;
use crate::cli::UndoArgs;
use crate::{input, output};
use anyhow::{Context as _, Result, bail};
use epitome_wire::{ByteSource, Format, ReadError, Slice, Undo, detect, native, undo};
use std::io::Write;
use std::sync::Arc;

/// The file without its last compaction: runs of bytes, one after the other.
enum Without {
    Unchanged,
    Runs(Vec<Run>),
}

/// A run of bytes, from the file or made anew.
enum Run {
    Kept(Slice),
    Made(Vec<u8>),
}

/// Writes the file as it was before its last compaction.
pub fn run(args: &UndoArgs) -> Result<()> {
    let source = input::open(&args.file)?;
    let without = take_back(&source, args.read.from.0)
        .with_context(|| format!("cannot undo in {}", args.file.display()))?;
    if args.output.is_some() || !args.read.json {
        output::write(args.output.as_deref(), |to| write(&without, &source, to))?;
    }
    let is_changed = matches!(without, Without::Runs(_));
    if args.read.json {
        let outcome = if is_changed { "undone" } else { "noop" };
        return print_json(
            &serde_json::json!({ "outcome": outcome, "file": args.file, "output": args.output }),
        );
    }
    if is_changed && args.output.is_some() {
        output::tell(format_args!("{}: its last compaction was taken back", args.file.display()));
    }
    if !is_changed {
        let file = args.file.display();
        output::tell(format_args!("{file}: no compaction to take back; nothing changed"));
    }
    Ok(())
}

fn take_back(source: &Arc<dyn ByteSource>, from: Option<Format>) -> Result<Without> {
    let format = match from {
        Some(format) => format,
        None => detect(&[], &**source).map_err(input::explain)?,
    };
    if format == Format::Native {
        return native_without(source);
    }
    if let Format::Body(protocol) = format {
        bail!(
            "a body of {protocol} keeps no originals to go back to; compact with --to native to be able to undo"
        );
    }
    if !format.is_resumable() {
        return Ok(Without::Unchanged);
    }
    Ok(match undo(format, &**source).map_err(input::explain)? {
        // Another format's file has no compaction of this one either; that is no answer.
        Undo::Nothing => {
            let found = detect(&[], &**source).and_then(|found| same(format, found));
            found.map(|()| Without::Unchanged).map_err(input::explain)?
        }
        Undo::Truncate(len) => Without::Runs(vec![Run::Kept(Slice::new(source.clone(), 0, len))]),
        Undo::Rewrite(bytes) => Without::Runs(vec![Run::Made(bytes)]),
    })
}

/// Refuses a file that is not what it was said to be.
fn same(said: Format, found: Format) -> Result<(), ReadError> {
    let why = format!("it looks like {found}");
    if said == found { Ok(()) } else { Err(ReadError::NotThis { format: said, why }) }
}

fn native_without(source: &Arc<dyn ByteSource>) -> Result<Without> {
    Ok(match native::undo(source.clone()).map_err(input::explain)? {
        native::Undo::Nothing => Without::Unchanged,
        native::Undo::Original(kept) | native::Undo::Shorter(kept) => Without::Runs(vec![Run::Kept(kept)]),
        native::Undo::Blanked { before, notes, after } => {
            Without::Runs(vec![Run::Kept(before), Run::Made(notes), Run::Kept(after)])
        }
    })
}

fn write(without: &Without, source: &Arc<dyn ByteSource>, to: &mut dyn Write) -> Result<()> {
    let Without::Runs(runs) = without else { return output::copy(&**source, source.len(), to) };
    for run in runs {
        match run {
            Run::Kept(window) => output::copy(window, window.len(), to)?,
            Run::Made(bytes) => to.write_all(bytes).context("cannot write")?,
        }
    }
    Ok(())
}
