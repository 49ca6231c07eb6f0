//! Whether a file that is there may give way to what is to be written. Elsewhere `-o` replaces what it names, as everywhere; a file
//! among an agent's sessions gives way only where nothing is lost by it that epitome did not write itself.

use crate::{agents, input};
use anyhow::{Result, bail};
use epitome_core::{Entry, ZeroMeasure};
use epitome_wire::{BoundaryUndo, ByteSource, Format, Slice, Transcript, detect, native, read, undo};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// What is to be written.
pub enum NewContent {
    /// A transcript, in which all of this one stays.
    Transcript(Arc<dyn ByteSource>),
    /// A request body.
    Body,
}

/// Where it goes, and what the command line says of that.
#[derive(Clone, Copy)]
pub struct OutputPlace<'a> {
    /// The file; none for standard output.
    pub out: Option<&'a Path>,
    /// The command's own input, which it may write back to.
    pub own: Option<&'a Path>,
    /// Whether somebody said that whatever is there is to be replaced.
    pub is_forced: bool,
}

impl OutputPlace<'_> {
    /// Refuses to write over a file that holds something else.
    pub fn check(self, new: &NewContent) -> Result<()> {
        // A database is refused by whoever writes, in words of its own.
        let is_at_stake =
            |out: &&Path| out.is_file() && !input::is_database(out) && agents::is_among_sessions(out);
        let Some(out) = self.out.filter(|_| !self.is_forced).filter(is_at_stake) else { return Ok(()) };
        if self.own.is_some_and(|own| input::is_same(out, own)) {
            return Ok(());
        }
        let is_safe = input::open(out).is_ok_and(|there| loses_nothing(there, new));
        if !is_safe {
            bail!(
                "cannot write {}: it lies where an agent keeps its sessions, and is nothing that epitome wrote of the same transcript; name another file, or replace it with --force",
                out.display()
            );
        }
        Ok(())
    }
}

/// Whether all that a file holds is in what takes its place, or is epitome's own work on the same transcript.
fn loses_nothing(there: Arc<dyn ByteSource>, new: &NewContent) -> bool {
    if there.is_empty() {
        return true;
    }
    let format = detect(&[], &*there).ok();
    match new {
        NewContent::Body => matches!(format, Some(Format::Body(_))),
        NewContent::Transcript(new) => {
            let new = original(new.clone()).unwrap_or_else(|| new.clone());
            let work_on = || original(there.clone()).filter(|original| !original.is_empty());
            begins_with(&*new, &*there)
                || work_on().is_some_and(|work| begins_with(&*new, &*work) || begins_with(&*work, &*new))
        }
    }
}

/// The most compactions of ours that are looked below; nobody compacts one file so often.
const PASSES_MAX: usize = 1000;

/// What a file was before epitome worked on it; none where it did not, or something was said in it since.
fn original(file: Arc<dyn ByteSource>) -> Option<Arc<dyn ByteSource>> {
    let format = detect(&[], &*file).ok()?;
    if format == Format::Native {
        let original: Arc<dyn ByteSource> = Arc::new(native::original(file.clone()).ok()?);
        let from = native::header(&*file).ok()?.from;
        return (!is_grown(&file, &original, from)).then_some(original);
    }
    let mut below = None;
    for _ in 0..PASSES_MAX {
        let at = below.clone().unwrap_or_else(|| file.clone());
        match undo(format, &*at).ok().filter(|_| format.is_resumable()) {
            Some(BoundaryUndo::Truncate(len)) => {
                below = Some(Arc::new(Slice::new(at, 0, len)) as Arc<dyn ByteSource>);
            }
            Some(BoundaryUndo::Nothing | BoundaryUndo::Rewrite { .. }) | None => break,
        }
    }
    below
}

/// Whether a file of our own form holds messages that the file in it does not.
fn is_grown(file: &Arc<dyn ByteSource>, original: &Arc<dyn ByteSource>, from: Format) -> bool {
    let messages = |transcript: Transcript| -> usize {
        let logs = transcript.conversations.iter().flat_map(|conversation| conversation.log.iter());
        logs.filter(|(_, entry)| matches!(entry, Entry::Message(_))).count()
    };
    let count = |source: &Arc<dyn ByteSource>, format| {
        read(source.clone(), Some(format), &ZeroMeasure).ok().map(messages)
    };
    count(file, Format::Native) != count(original, from)
}

/// Compared at once.
const CHUNK_BYTES: usize = 1 << 20;

/// Whether all of `beginning` stands at the beginning of `whole`.
fn begins_with(whole: &dyn ByteSource, beginning: &dyn ByteSource) -> bool {
    let chunk = |source: &dyn ByteSource, at: u64| -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; (beginning.len() - at).min(CHUNK_BYTES as u64) as usize];
        let got = source.read_at(at, &mut bytes)?;
        bytes.truncate(got);
        Ok(bytes)
    };
    let mut at = 0;
    while at < beginning.len() {
        let (Ok(one), Ok(other)) = (chunk(whole, at), chunk(beginning, at)) else { return false };
        if one != other || other.is_empty() {
            return false;
        }
        at += other.len() as u64;
    }
    true
}
