//! `epitome undo`: the transcript without its last compaction.

use super::print_json;
use crate::cli::UndoArgs;
use crate::{input, output};
use anyhow::{Context as _, Result, bail};
use epitome_wire::{BoundaryUndo, ByteSource, Format, ReadError, Slice, detect, native, undo};
use std::io::Write;
use std::sync::Arc;

/// The file without its last compaction.
enum UndoneFile {
    /// There is none; the file is as it should be.
    Unchanged,
    /// Runs of bytes, one after the other.
    Runs(Vec<ByteRun>),
}

/// A run of bytes, from the file or written anew.
enum ByteRun {
    Kept(Slice),
    New(Vec<u8>),
}

/// Writes the file as it was before its last compaction.
pub fn run(args: &UndoArgs) -> Result<()> {
    let source = input::open(&args.file)?;
    let undone = take_back(&source, args.read.from.0)
        .with_context(|| format!("cannot undo in {}", args.file.display()))?;
    if args.output.is_some() || !args.read.json {
        output::write(args.output.as_deref(), |to| write(&undone, &source, to))?;
    }
    let is_changed = matches!(undone, UndoneFile::Runs(_));
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

fn take_back(source: &Arc<dyn ByteSource>, from: Option<Format>) -> Result<UndoneFile> {
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
        return Ok(UndoneFile::Unchanged);
    }
    Ok(match undo(format, &**source).map_err(input::explain)? {
        // Another format's file has no compaction of this one either; that is no answer.
        BoundaryUndo::Nothing => {
            let found = detect(&[], &**source).and_then(|found| same(format, found));
            found.map(|()| UndoneFile::Unchanged).map_err(input::explain)?
        }
        BoundaryUndo::Truncate(len) => {
            UndoneFile::Runs(vec![ByteRun::Kept(Slice::new(source.clone(), 0, len))])
        }
        BoundaryUndo::Rewrite(bytes) => UndoneFile::Runs(vec![ByteRun::New(bytes)]),
    })
}

/// Refuses a file that is not what it was said to be.
fn same(said: Format, found: Format) -> Result<(), ReadError> {
    let why = format!("it looks like {found}");
    if said == found { Ok(()) } else { Err(ReadError::NotThis { format: said, why }) }
}

fn native_without(source: &Arc<dyn ByteSource>) -> Result<UndoneFile> {
    Ok(match native::undo(source.clone()).map_err(input::explain)? {
        native::NativeUndo::Nothing => UndoneFile::Unchanged,
        native::NativeUndo::Original(kept) | native::NativeUndo::Shorter(kept) => {
            UndoneFile::Runs(vec![ByteRun::Kept(kept)])
        }
        native::NativeUndo::Blanked { before, notes, after } => {
            UndoneFile::Runs(vec![ByteRun::Kept(before), ByteRun::New(notes), ByteRun::Kept(after)])
        }
    })
}

fn write(undone: &UndoneFile, source: &Arc<dyn ByteSource>, to: &mut dyn Write) -> Result<()> {
    let UndoneFile::Runs(runs) = undone else { return output::copy(&**source, 0..source.len(), to) };
    for run in runs {
        match run {
            ByteRun::Kept(slice) => output::copy(slice, 0..slice.len(), to)?,
            ByteRun::New(bytes) => to.write_all(bytes).context("cannot write")?,
        }
    }
    Ok(())
}
