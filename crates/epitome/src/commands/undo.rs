//! `epitome undo`: the transcript without its last compaction.

mod stored;

use super::print_json;
use crate::agents::lookup;
use crate::cli::UndoArgs;
use crate::replacement::{NewContent, OutputPlace};
use crate::runner::Runner;
use crate::transcript_file::TranscriptFile;
use crate::{input, output, packing};
use anyhow::{Context as _, Result, bail};
use epitome_core::Tokens;
use epitome_engine::{Driver, SessionOptions};
use epitome_wire::{BoundaryUndo, ByteSource, Format, ReadError, Slice, detect, native, undo};
use serde::Serialize;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// The file without its last compaction.
enum UndoneFile {
    /// There is none; the file is as it should be.
    Unchanged,
    /// Runs of bytes, one after the other.
    Runs { runs: Vec<ByteRun>, by: CompactionAuthor },
}

/// A run of bytes, from the file or written anew.
enum ByteRun {
    Kept(Slice),
    New(Vec<u8>),
}

/// Who made the compaction that is taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum CompactionAuthor {
    Epitome,
    /// The transcript's own tool.
    Tool,
}

/// What `--json` prints.
#[derive(Serialize)]
struct UndoLine<'a> {
    outcome: &'a str,
    file: &'a Path,
    output: Option<&'a Path>,
    #[serde(skip_serializing_if = "Option::is_none", flatten)]
    change: Option<UndoChange>,
}

/// Whose compaction it was, and what the context is with it and without.
#[derive(Serialize)]
struct UndoChange {
    by: CompactionAuthor,
    tokens_before: Tokens,
    tokens_after: Tokens,
}

/// Writes the file as it was before its last compaction.
pub fn run(args: &UndoArgs) -> Result<()> {
    if let Some(session) = args.stored.session {
        return stored::run(session, args);
    }
    if !args.read.json {
        output::refuse_terminal(
            args.output.as_deref(),
            "name a file with -o: another, or the transcript itself to have it changed where it is",
        )?;
    }
    let file = args.file.as_deref().context("no transcript is named")?;
    let path = lookup::file_of(file)?;
    let source = input::open(&path)?;
    let undone =
        take_back(&source, args.read.from.0).with_context(|| format!("cannot undo in {}", path.display()))?;
    let change = match &undone {
        UndoneFile::Unchanged => None,
        UndoneFile::Runs { runs, by } => Some(UndoChange {
            by: *by,
            tokens_before: tokens_in_view(&path, source.clone(), args)?,
            tokens_after: tokens_in_view(&path, joined(runs)?, args)?,
        }),
    };
    check_author(&path, &source, change.as_ref(), args)?;
    let out = args.output.as_deref();
    OutputPlace { out, own: Some(&path), is_forced: args.force }
        .check(&NewContent::Transcript(source.clone()))?;
    if out.is_some() || !args.read.json {
        put(&path, &source, &undone, out)?;
    }
    if args.read.json {
        let outcome = if change.is_some() { "undone" } else { "noop" };
        return print_json(&UndoLine { outcome, file: &path, output: out, change });
    }
    tell(&path, out, change.as_ref());
    Ok(())
}

/// Writes what is left to `out`, unless that is the transcript's own place and its tool has gone on meanwhile.
fn put(path: &Path, source: &Arc<dyn ByteSource>, undone: &UndoneFile, out: Option<&Path>) -> Result<()> {
    output::write(out, |to| {
        packing::fill(out, to, |to| write(undone, source, to))?;
        input::check_unchanged(path, &**source, out)
    })
}

/// Refuses to take back what the transcript's own tool did, unless that is asked for.
fn check_author(
    path: &Path,
    source: &Arc<dyn ByteSource>,
    change: Option<&UndoChange>,
    args: &UndoArgs,
) -> Result<()> {
    let Some(UndoChange { by: CompactionAuthor::Tool, tokens_before, tokens_after }) = change else {
        return Ok(());
    };
    if args.foreign {
        return Ok(());
    }
    let tool = detect(&[], &**source).map_or("its own tool", Format::name);
    bail!(
        "the last compaction of {} was made by {tool}, not by epitome; without it the context goes from {tokens_before} to {tokens_after} tokens. --foreign takes it back",
        path.display()
    )
}

fn tell(path: &Path, out: Option<&Path>, change: Option<&UndoChange>) {
    let file = path.display();
    let Some(UndoChange { by, tokens_before, tokens_after }) = change else {
        return output::tell(format_args!("{file}: no compaction to take back; nothing changed"));
    };
    let whose = match by {
        CompactionAuthor::Epitome => "epitome's",
        CompactionAuthor::Tool => "its tool's own",
    };
    let wrote = out.map(|out| format!("; wrote {}", out.display())).unwrap_or_default();
    output::tell(format_args!(
        "{file}: its last compaction, {whose}, was taken back: context {tokens_before} → {tokens_after} tokens{wrote}"
    ));
}

/// What the longest conversation of a transcript takes as a request, counted as every other command counts it.
fn tokens_in_view(path: &Path, source: Arc<dyn ByteSource>, args: &UndoArgs) -> Result<Tokens> {
    let file = TranscriptFile::of(path, source, &args.read)?;
    let number = file.number(None)?;
    let open = file.open_conversation(number, SessionOptions::default(), Driver::default());
    let session = Runner::default().to_the_end(async { Ok(open.engine.look(&open.opening).await?) })?;
    file.model_count(number, &file.conversation(number).fixed, None)?.context(&session)
}

/// The bytes of runs, one after the other.
fn joined(runs: &[ByteRun]) -> Result<Arc<dyn ByteSource>> {
    let mut bytes = Vec::new();
    runs.iter().try_for_each(|run| write_run(run, &mut bytes))?;
    Ok(Arc::new(bytes))
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
            UndoneFile::ours(vec![ByteRun::Kept(Slice::new(source.clone(), 0, len))])
        }
        BoundaryUndo::Rewrite { bytes, is_ours } => {
            let by = if is_ours { CompactionAuthor::Epitome } else { CompactionAuthor::Tool };
            UndoneFile::Runs { runs: vec![ByteRun::New(bytes)], by }
        }
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
            UndoneFile::ours(vec![ByteRun::Kept(kept)])
        }
        native::NativeUndo::Blanked { before, notes, after } => {
            UndoneFile::ours(vec![ByteRun::Kept(before), ByteRun::New(notes), ByteRun::Kept(after)])
        }
    })
}

impl UndoneFile {
    fn ours(runs: Vec<ByteRun>) -> Self {
        Self::Runs { runs, by: CompactionAuthor::Epitome }
    }
}

fn write(undone: &UndoneFile, source: &Arc<dyn ByteSource>, to: &mut dyn Write) -> Result<()> {
    let UndoneFile::Runs { runs, .. } = undone else { return output::copy(&**source, 0..source.len(), to) };
    runs.iter().try_for_each(|run| write_run(run, to))
}

fn write_run(run: &ByteRun, to: &mut dyn Write) -> Result<()> {
    match run {
        ByteRun::Kept(slice) => output::copy(slice, 0..slice.len(), to),
        ByteRun::New(bytes) => to.write_all(bytes).context("cannot write"),
    }
}

#[cfg(test)]
mod tests {
    use super::{UndoneFile, put};
    use crate::input;
    use std::fs;
    use std::io::Write as _;

    #[test]
    fn what_was_appended_meanwhile_is_not_lost() {
        let folder = tempfile::tempdir().expect("there is room");
        let path = folder.path().join("s.jsonl");
        fs::write(&path, "{}\n").expect("there is room");
        let source = input::open(&path).expect("it is there");
        let mut session = fs::File::options().append(true).open(&path).expect("it is there");
        session.write_all(b"[]\n").expect("there is room");
        put(&path, &source, &UndoneFile::Unchanged, Some(&path)).expect_err("a line would be lost");
        assert_eq!(fs::read_to_string(&path).expect("it is there"), "{}\n[]\n");
    }
}
