//! `epitome export`: a stored session as a file: the bytes it came from, what its own tool would have appended to them, our
//! own form, or a request body.

use super::compact::target::boundary;
use super::context::{BodyRequest, write_substitutes};
use super::entries::kind;
use super::print_json;
use crate::cli::{ExportArgs, ReadArgs};
use crate::output::{self, Page};
use crate::replacement::{NewContent, OutputPlace};
use crate::runner::Runner;
use crate::store_place::OpenStore;
use crate::stored_session::{KeptFile, LoadedSession};
use crate::transcript_file::TranscriptFile;
use crate::{bytes_text, draw, packing};
use anyhow::{Context as _, Result, bail};
use epitome_core::{Entry, Mark, Policy};
use epitome_engine::store::SessionId;
use epitome_engine::{Driver, Session, SessionOptions};
use epitome_store::StoredEntry;
use epitome_wire::encode::Substitute;
use epitome_wire::{Format, Protocol, append};
use serde::Serialize;
use std::path::Path;
use std::sync::Arc;

/// A session on its way to a file.
struct ExportedFile {
    format: Format,
    bytes: Vec<u8>,
    /// Whether these are the bytes it came from.
    is_original: bool,
    /// Edits that the format has no place for.
    edits_left_out: usize,
    substitutes: Vec<Substitute>,
}

impl ExportedFile {
    /// What it is to a file that is there already.
    fn content(&self) -> NewContent {
        match self.format {
            Format::Body(_) => NewContent::Body,
            _ => NewContent::Transcript(Arc::new(self.bytes.clone())),
        }
    }
}

/// What `--json` prints.
#[derive(Serialize)]
struct ExportLine<'a> {
    session: SessionId,
    format: Format,
    output: Option<&'a Path>,
    bytes: usize,
    is_original: bool,
    edits_left_out: usize,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    substitutes: &'a [Substitute],
}

/// Writes the session.
pub fn run(args: &ExportArgs) -> Result<()> {
    let out = args.output.as_deref();
    if !args.json {
        output::refuse_terminal(out, "name a file with -o, or read it with `| less`")?;
    }
    let open = args.store.open()?;
    let stored = LoadedSession::load(&open, args.session)?;
    let exported = export(&open, &stored, args.to)?;
    OutputPlace { out, own: None, is_forced: args.force }.check(&exported.content())?;
    if out.is_some() || !args.json {
        output::write(out, |to| {
            packing::fill(out, to, |to| to.write_all(&exported.bytes).context("cannot write"))
        })?;
    }
    if args.json {
        let ExportedFile { format, ref bytes, is_original, edits_left_out, ref substitutes } = exported;
        let (session, bytes) = (args.session, bytes.len());
        return print_json(&ExportLine {
            session,
            format,
            output: out,
            bytes,
            is_original,
            edits_left_out,
            substitutes,
        });
    }
    tell(args, &exported);
    Ok(())
}

fn tell(args: &ExportArgs, exported: &ExportedFile) {
    let mut page = Page::default();
    if let Some(out) = &args.output {
        let what = if exported.is_original { "the file it came from" } else { exported.format.name() };
        let size = bytes_text::size(exported.bytes.len() as u64);
        writeln!(page, "wrote {} ({what}): {size}", out.display());
    }
    if let count @ 1.. = exported.edits_left_out {
        writeln!(
            page,
            "note: {} left out, having no place in {}: messages that were shortened are whole in it; --to native keeps them",
            draw::counted(count, "edit"),
            exported.format
        );
    }
    if let Format::Body(protocol) = exported.format {
        write_substitutes(&mut page, "", protocol, &exported.substitutes);
    }
    page.tell();
}

fn export(open: &OpenStore, stored: &LoadedSession, to: Option<Format>) -> Result<ExportedFile> {
    let from = stored.kept.as_ref().map(|kept| kept.transcript.format);
    let is_same = to.is_none() || to == from;
    match (&stored.kept, to.unwrap_or(default_format(stored))) {
        (Some(kept), _) if is_same && stored.is_unchanged() => {
            Ok(ExportedFile { is_original: true, ..plain(kept.transcript.format, kept.bytes.to_vec()) })
        }
        (_, Format::Native) => Ok(plain(Format::Native, stored.native()?)),
        (_, Format::Body(protocol)) => body(open, stored, protocol),
        (Some(kept), format) if Some(format) == from && format.is_resumable() => {
            resumable(open, stored, kept, format)
        }
        (_, format) if format.is_resumable() => {
            let from = from.map_or("session that began in the store", Format::name);
            bail!("a {from} cannot be written as {format}; use native or a protocol")
        }
        (_, format) => bail!("{format} is a format we read only; use native, or leave --to out"),
    }
}

/// The format it came in where that can say what was added, else our own.
fn default_format(stored: &LoadedSession) -> Format {
    let kept = stored.kept.as_ref().filter(|kept| kept.transcript.format.is_resumable());
    let can_say = |kept: &&KeptFile| check_expressible(stored, kept).is_ok();
    kept.filter(can_say).map_or(Format::Native, |kept| kept.transcript.format)
}

fn plain(format: Format, bytes: Vec<u8>) -> ExportedFile {
    ExportedFile { format, bytes, is_original: false, edits_left_out: 0, substitutes: Vec::new() }
}

/// The session as the model sees it.
fn view(file: &TranscriptFile, stored: &LoadedSession) -> Result<Session> {
    let open = file.open_conversation(stored.number(), SessionOptions::default(), Driver::default());
    Runner::default().to_the_end(async { Ok(open.engine.look(&open.opening).await?) })
}

/// What would be sent now.
fn body(open: &OpenStore, stored: &LoadedSession, protocol: Protocol) -> Result<ExportedFile> {
    let file = TranscriptFile::of_loaded(open, stored, &ReadArgs::plain())?;
    let (number, session) = (stored.number(), view(&file, stored)?);
    let fixed = &file.conversation(number).fixed;
    let request = BodyRequest { number, fixed, to: protocol, max_tokens: None };
    let written = request.written(&file, &session.shown()?)?;
    let bytes = [&written.bytes[..], b"\n"].concat();
    Ok(ExportedFile { substitutes: written.substitutes, ..plain(Format::Body(protocol), bytes) })
}

/// Refuses what a tool's own file has no place for.
fn check_expressible(stored: &LoadedSession, kept: &KeptFile) -> Result<()> {
    let (session, format) = (stored.listed.session, kept.transcript.format);
    let is_mark = |one: &&StoredEntry| matches!(one.entry, Entry::Mark(_));
    if let Some(said) = stored.added().iter().find(|one| !is_mark(one)) {
        bail!(
            "{} ({}) and what follows was added to {session} in the store, and only its tool adds to a {format} file; use --to native",
            said.id,
            kind(&said.entry)
        );
    }
    if stored.listed.leaf != kept.conversation().leaf {
        bail!("{session} was moved from where its {format} file ends; use --to native");
    }
    Ok(())
}

/// The file it came from, with the compaction that counts as its tool would have appended it: the newest, which tells what
/// those before it told.
fn resumable(
    open: &OpenStore,
    stored: &LoadedSession,
    kept: &KeptFile,
    format: Format,
) -> Result<ExportedFile> {
    check_expressible(stored, kept)?;
    let file = TranscriptFile::of_loaded(open, stored, &ReadArgs::plain())?;
    let session = view(&file, stored)?;
    let (mut edits_left_out, mut newest) = (0, None);
    for one in stored.added().iter().filter(|one| !session.context().is_undone(one.id)) {
        match &one.entry {
            Entry::Mark(Mark::Edit { .. }) => edits_left_out += 1,
            Entry::Mark(Mark::Compaction { compaction, record }) => newest = Some((one, compaction, record)),
            Entry::Mark(_) | Entry::Message(_) | Entry::Recorded(_) | Entry::Note { .. } => {}
        }
    }
    let mut bytes = kept.bytes.to_vec();
    if let Some((one, compaction, record)) = newest {
        let boundary = boundary(compaction, record, Policy::default().rebuild.entry, time(one), None);
        let no_summary = || format!("{} left no summary that {format} could hold; use --to native", one.id);
        let no_place = || format!("{} cannot be written as {format}; use --to native", one.id);
        let boundary = boundary.with_context(no_summary)?;
        let source = &*kept.bytes;
        bytes.extend(append(&kept.transcript, kept.number, source, &boundary).with_context(no_place)?);
    }
    Ok(ExportedFile { edits_left_out, ..plain(format, bytes) })
}

/// When an entry was stored, as transcripts write it.
fn time(one: &StoredEntry) -> String {
    let time = one.time_ms.and_then(|time| i64::try_from(time).ok()).unwrap_or_default();
    let time = jiff::Timestamp::from_millisecond(time).unwrap_or_default();
    format!("{time:.3}")
}
