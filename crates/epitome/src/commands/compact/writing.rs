//! What a compacted transcript is written as: what its own tool would have appended, a request
//! body, or our own form around the original bytes.

use crate::clock::timestamp;
use crate::opened::Opened;
use crate::{input, output};
use anyhow::{Context as _, Result, bail};
use epitome_core::{Compaction, Entry, EntryId, Expressible, Log, Trigger, ledger::Operation};
use epitome_engine::{Happened, Made, Report, Session};
use epitome_wire::{Boundary, ByteSource, Format, Protocol, append, can_express, native};
use std::io::Write;
use std::path::Path;

/// How a result is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// The original bytes, and what its tool would append.
    Resumable(Format),
    /// A request body.
    Body(Protocol),
    /// Our own form.
    Native,
}

/// One conversation after its compaction.
pub(super) struct Added {
    pub number: usize,
    /// How many entries there were before.
    pub known: usize,
    pub report: Report,
    pub session: Session,
}

/// A file in the making: bytes in front, bytes of the original, bytes behind.
pub(super) struct Pieces {
    front: Vec<u8>,
    original_len: u64,
    behind: Vec<u8>,
}

impl Pieces {
    pub(super) fn write(&self, source: &dyn ByteSource, to: &mut dyn Write) -> Result<()> {
        to.write_all(&self.front)?;
        output::copy(source, self.original_len, to)?;
        to.write_all(&self.behind).context("cannot write")
    }

    fn unchanged(source: &dyn ByteSource) -> Self {
        Self { front: Vec::new(), original_len: source.len(), behind: Vec::new() }
    }
}

impl Target {
    /// The same format where it can be written, else our own, unless the command line says otherwise.
    pub(super) fn of(opened: &Opened, to: Option<Format>) -> Result<Self> {
        let from = opened.transcript.format;
        let is_one = opened.transcript.conversations.len() == 1;
        match (to, from) {
            (None, _) if from.is_resumable() => Ok(Self::Resumable(from)),
            (None, Format::Body(protocol)) if is_one => Ok(Self::Body(protocol)),
            (None | Some(Format::Native), _) => Ok(Self::Native),
            (Some(Format::Body(protocol)), _) => Ok(Self::Body(protocol)),
            (Some(to), _) if to == from && to.is_resumable() => Ok(Self::Resumable(to)),
            (Some(to), _) if to.is_resumable() => {
                bail!("a {from} transcript cannot be written as {to}; use native or a protocol")
            }
            (Some(to), _) => bail!("{to} is a format we read only; use native, or leave --to out"),
        }
    }

    /// What this way of writing can say.
    pub(super) fn can(self) -> Expressible {
        match self {
            Self::Resumable(format) => can_express(format),
            Self::Body(_) | Self::Native => Expressible::ALL,
        }
    }

    /// Refuses what would lose originals or cannot be written.
    pub(super) fn check(self, opened: &Opened, out: Option<&Path>) -> Result<()> {
        let Self::Body(protocol) = self else { return Ok(()) };
        if opened.transcript.conversations.len() > 1 {
            bail!(
                "{} holds {} conversations, a body of {protocol} only one; use --to native",
                opened.path.display(),
                opened.transcript.conversations.len()
            );
        }
        if out.is_some_and(|out| is_same(out, &opened.path)) {
            bail!(
                "a body of {protocol} keeps no originals, so it cannot take the place of {}; write elsewhere, or use --to native",
                opened.path.display()
            );
        }
        Ok(())
    }

    /// The file to write.
    pub(super) fn pieces(self, opened: &Opened, added: &[Added]) -> Result<Pieces> {
        let is_changed = added.iter().any(|added| is_changed(added.report.outcome));
        match self {
            Self::Body(protocol) if !is_changed && opened.transcript.format == Format::Body(protocol) => {
                Ok(Pieces::unchanged(&*opened.source))
            }
            Self::Body(protocol) => body(opened, protocol, &added[0]),
            Self::Resumable(_) | Self::Native if !is_changed => Ok(Pieces::unchanged(&*opened.source)),
            Self::Resumable(_) => resumable(opened, &added[0]),
            Self::Native => wrapped(opened, added),
        }
    }
}

/// Whether a compaction left anything to write.
fn is_changed(outcome: Happened) -> bool {
    match outcome {
        Happened::Compacted | Happened::Pruned | Happened::Recorded => true,
        Happened::Noop | Happened::Vetoed | Happened::Abandoned => false,
    }
}

fn is_same(out: &Path, path: &Path) -> bool {
    match (out.canonicalize(), path.canonicalize()) {
        (Ok(out), Ok(path)) => out == path,
        (Ok(_) | Err(_), _) => false,
    }
}

fn body(opened: &Opened, protocol: Protocol, added: &Added) -> Result<Pieces> {
    let conversation = &opened.transcript.conversations[added.number];
    let mut front =
        crate::commands::context::body(opened, conversation, &added.session.shown()?, protocol, None)?;
    front.push(b'\n');
    Ok(Pieces { front, original_len: 0, behind: Vec::new() })
}

fn resumable(opened: &Opened, added: &Added) -> Result<Pieces> {
    let boundary = boundary(added).context("the compaction left no boundary to write")?;
    let behind = append(&opened.transcript, added.number, &*opened.source, &boundary)?;
    Ok(Pieces { front: Vec::new(), original_len: opened.source.len(), behind })
}

fn wrapped(opened: &Opened, added: &[Added]) -> Result<Pieces> {
    let is_ours = opened.transcript.format == Format::Native;
    let pass = if is_ours { native::next_pass(opened.source.clone()).map_err(input::explain)? } else { 1 };
    let mut behind = Vec::new();
    for added in added {
        let record = serde_json::to_value(&added.report)?;
        for entry in new_entries(added.session.log(), added.known) {
            behind.extend(native::pass_line(pass, added.number, entry, Some(&record)));
        }
    }
    let front = if is_ours {
        Vec::new()
    } else {
        behind.insert(0, b'\n');
        native::wrap(opened.transcript.format, opened.source.len(), opened.transcript.conversations.len())
    };
    Ok(Pieces { front, original_len: opened.source.len(), behind })
}

fn new_entries(log: &Log, known: usize) -> impl Iterator<Item = &Entry> {
    (known..log.len()).filter_map(|at| log.get(EntryId(at as u32)))
}

/// The compaction as the transcript's own tool would write it.
fn boundary(added: &Added) -> Option<Boundary> {
    let compaction = new_entries(added.session.log(), added.known).find_map(compaction_of)?;
    let made = added.report.record.as_ref()?;
    let paths = |is_wanted: fn(Operation) -> bool| {
        let files = made.ledger.files.iter().filter(|file| is_wanted(file.last));
        files.map(|file| file.path.to_string()).collect()
    };
    Some(Boundary {
        summary: compaction.summary.as_ref()?.text.clone(),
        before: compaction.before.clone(),
        tail: compaction.tail.clone(),
        tokens_before: added.report.tokens_before,
        tokens_after: added.report.tokens_after,
        trigger: Trigger::Manual,
        timestamp: timestamp(),
        read_files: paths(|last| last == Operation::Read),
        modified_files: paths(|last| last != Operation::Read),
        duration_ms: added.report.duration_ms,
        record: Some(brief(&added.report, made).to_string().into()),
    })
}

/// What a file of another tool's keeps of the record: its figures, not its lists.
fn brief(report: &Report, made: &Made) -> serde_json::Value {
    let loss = &made.loss;
    serde_json::json!({
        "strategy": made.strategy,
        "tokens_before": report.tokens_before,
        "tokens_after": report.tokens_after,
        "count_method": report.count_method,
        "summarizer": made.summarizer,
        "cost": report.cost,
        "spent": report.spent,
        "loss": { "kept": loss.kept, "recoverable": loss.recoverable, "lost": loss.lost, "repaired": loss.repaired },
        "notes": made.notes,
    })
}

fn compaction_of(entry: &Entry) -> Option<&Compaction> {
    match entry {
        Entry::Compaction(compaction) => Some(compaction),
        Entry::Message(_) | Entry::Edit(_) | Entry::Undo { .. } | Entry::Note { .. } => None,
    }
}
