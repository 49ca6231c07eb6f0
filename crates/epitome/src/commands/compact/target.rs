//! What a compacted transcript is written as: what its own tool would have appended, a request
//! body, or our own form around the original bytes.

use crate::agents::resume::CopyNote;
use crate::clock::timestamp;
use crate::commands::context::BodyRequest;
use crate::transcript_file::TranscriptFile;
use crate::{input, output};
use anyhow::{Context as _, Result, bail};
use epitome_core::policy::TranscriptEntry;
use epitome_core::{Compaction, Entry, EntryId, Expressible, Mark, Record, ledger::Operation};
use epitome_engine::store::SessionId;
use epitome_engine::{AppendedEntry, Event, Session};
use epitome_wire::encode::Substitute;
use epitome_wire::protocol::WrittenBody;
use epitome_wire::{Boundary, ByteSource, Format, Protocol, append, can_express, native};
use std::io::Write;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// How a result is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// The original bytes, and what its tool would append.
    Resumable(Format),
    /// A request body.
    Body(Protocol),
    /// Our own form.
    Native,
    /// Nothing is written: it is a session of a store, and what was appended is there. Where it came in a format that its
    /// tool can resume from, it is compacted so that it can be written in that again.
    Stored { session: SessionId, can: Expressible },
}

/// One conversation after its compaction.
pub(super) struct CompactedConversation {
    pub number: usize,
    pub record: Arc<Record>,
    /// What the engine appended, in order.
    pub appended: Vec<AppendedEntry>,
    /// What happened, in order.
    pub events: Vec<Event>,
    pub session: Session,
}

impl CompactedConversation {
    /// Marks that were appended, each with the entry it is anchored at.
    fn marks(&self) -> impl Iterator<Item = (&AppendedEntry, &Mark)> {
        self.appended.iter().filter_map(|one| match &one.entry {
            Entry::Mark(mark) => Some((one, mark)),
            Entry::Message(_) | Entry::Recorded(_) | Entry::Note { .. } => None,
        })
    }

    fn compaction(&self) -> Option<&Compaction> {
        self.appended.iter().find_map(|one| match &one.entry {
            Entry::Mark(Mark::Compaction { compaction, .. }) => Some(&**compaction),
            Entry::Mark(_) | Entry::Message(_) | Entry::Recorded(_) | Entry::Note { .. } => None,
        })
    }

    /// The mark that the compaction or the pruning left.
    pub(super) fn entry(&self) -> Option<EntryId> {
        let is_pass = |mark: &Mark| matches!(mark, Mark::Compaction { .. } | Mark::Edit { .. });
        self.marks().filter(|(_, mark)| is_pass(mark)).last().map(|(one, _)| one.id)
    }
}

/// A file in the making: bytes in front, the original from some byte on, bytes behind.
#[derive(Default)]
pub(super) struct Pieces {
    front: Vec<u8>,
    original: Range<u64>,
    behind: Vec<u8>,
    /// What a body says in words.
    pub(super) substitutes: Vec<Substitute>,
}

impl Pieces {
    pub(super) fn write(&self, source: &dyn ByteSource, to: &mut dyn Write) -> Result<()> {
        to.write_all(&self.front)?;
        output::copy(source, self.original.clone(), to)?;
        to.write_all(&self.behind).context("cannot write")
    }

    /// How long it will be.
    pub(super) fn len(&self) -> u64 {
        (self.front.len() + self.behind.len()) as u64 + (self.original.end - self.original.start)
    }

    fn unchanged(source: &dyn ByteSource) -> Self {
        Self { original: 0..source.len(), ..Self::default() }
    }
}

impl Target {
    /// The same format where it can be written, else our own, unless the command line says otherwise.
    pub(super) fn of(file: &TranscriptFile, to: Option<Format>) -> Result<Self> {
        if let Some(place) = file.stored() {
            let header = native::header(&*file.source).map_err(input::explain)?;
            let can = if header.from.is_resumable() { can_express(header.from) } else { Expressible::ALL };
            return Ok(Self::Stored { session: place.session, can });
        }
        let from = file.transcript.format;
        let is_one = file.transcript.conversations.len() == 1;
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

    /// The protocol of a request body; none for what keeps originals.
    pub(super) fn protocol(self) -> Option<Protocol> {
        match self {
            Self::Body(protocol) => Some(protocol),
            Self::Resumable(_) | Self::Native | Self::Stored { .. } => None,
        }
    }

    /// Whether pins stay with the session; elsewhere they hold for one compaction.
    pub(super) fn keeps_pins(self) -> bool {
        match self {
            Self::Native | Self::Stored { .. } => true,
            Self::Resumable(_) | Self::Body(_) => false,
        }
    }

    /// What this way of writing can say.
    pub(super) fn can(self) -> Expressible {
        match self {
            Self::Resumable(format) => can_express(format),
            Self::Body(_) | Self::Native => Expressible::ALL,
            Self::Stored { can, .. } => can,
        }
    }

    /// Refuses what would lose originals or cannot be written.
    pub(super) fn check(self, file: &TranscriptFile, out: Option<&Path>) -> Result<()> {
        let Self::Body(protocol) = self else { return Ok(()) };
        if file.transcript.conversations.len() > 1 {
            bail!(
                "{} holds {} conversations, a body of {protocol} only one; use --to native",
                file.path.display(),
                file.transcript.conversations.len()
            );
        }
        if out.is_some_and(|out| input::is_same(out, &file.path)) {
            bail!(
                "a body of {protocol} keeps no originals, so it cannot take the place of {}; write elsewhere, or use --to native",
                file.path.display()
            );
        }
        Ok(())
    }

    /// The file to write.
    pub(super) fn pieces(
        self,
        file: &TranscriptFile,
        compacted: &[CompactedConversation],
        copy: Option<&CopyNote>,
    ) -> Result<Pieces> {
        let is_changed = compacted.iter().any(|one| one.record.outcome.is_rebuilt());
        match self {
            Self::Body(protocol) if !is_changed && file.transcript.format == Format::Body(protocol) => {
                Ok(Pieces::unchanged(&*file.source))
            }
            Self::Body(protocol) => body(file, protocol, &compacted[0]),
            Self::Resumable(_) | Self::Native if !is_changed => Ok(Pieces::unchanged(&*file.source)),
            Self::Resumable(_) => resumable(file, &compacted[0], copy),
            Self::Native => wrapped(file, compacted),
            Self::Stored { .. } => Ok(Pieces::unchanged(&*file.source)),
        }
    }
}

fn body(file: &TranscriptFile, protocol: Protocol, compacted: &CompactedConversation) -> Result<Pieces> {
    let CompactedConversation { number, session, .. } = compacted;
    let fixed = &file.conversation(*number).fixed;
    let request = BodyRequest { number: *number, fixed, to: protocol, max_tokens: None };
    let WrittenBody { bytes: mut front, substitutes } = request.written(file, &session.shown()?)?;
    front.push(b'\n');
    Ok(Pieces { front, substitutes, ..Pieces::default() })
}

fn resumable(
    file: &TranscriptFile,
    compacted: &CompactedConversation,
    copy: Option<&CopyNote>,
) -> Result<Pieces> {
    let compaction = compacted.compaction().context("the compaction left no boundary to write")?;
    let entry = compacted.session.policy().rebuild.entry;
    let boundary = boundary(compaction, &compacted.record, entry, timestamp(), copy);
    let boundary = boundary.context("the compaction left no boundary to write")?;
    let behind = append(&file.transcript, compacted.number, &*file.source, &boundary)?;
    Ok(Pieces { behind, ..Pieces::unchanged(&*file.source) })
}

/// The file in our own form, with a line for each mark that was appended.
fn wrapped(file: &TranscriptFile, compacted: &[CompactedConversation]) -> Result<Pieces> {
    let (source, format) = (&file.source, file.transcript.format);
    let is_ours = format == Format::Native;
    let pass = if is_ours { native::next_pass(source.clone()).map_err(input::explain)? } else { 1 };
    let lines = compacted.iter().flat_map(|one| {
        one.marks().map(move |(added, mark)| native::mark_line(pass, one.number, added.parent, mark))
    });
    let behind: Vec<u8> = lines.flatten().collect();
    if !is_ours {
        let front = native::wrap(format, source.len(), file.transcript.conversations.len());
        return Ok(Pieces { front, behind: [b"\n", &behind[..]].concat(), ..Pieces::unchanged(&**source) });
    }
    if native::header(&**source).map_err(input::explain)?.version == native::VERSION {
        return Ok(Pieces { behind, ..Pieces::unchanged(&**source) });
    }
    let (front, start) = native::rewrap(&**source).map_err(input::explain)?;
    Ok(Pieces { front, original: start..source.len(), behind, ..Pieces::default() })
}

/// The compaction as the transcript's own tool would write it.
pub(crate) fn boundary(
    compaction: &Compaction,
    record: &Record,
    entry: TranscriptEntry,
    timestamp: String,
    copy: Option<&CopyNote>,
) -> Option<Boundary> {
    let change = record.change()?;
    let paths = |is_wanted: fn(Operation) -> bool| {
        let files = change.ledger.files.iter().filter(|file| is_wanted(file.standing()));
        files.map(|file| file.path.to_string()).collect()
    };
    Some(Boundary {
        summary: compaction.summary.clone()?,
        front: compaction.front.clone(),
        tail: compaction.tail.clone(),
        tokens_before: record.tokens_before,
        tokens_after: record.tokens_after,
        trigger: record.trigger,
        timestamp,
        read_files: paths(|standing| standing == Operation::Read),
        modified_files: paths(|standing| standing != Operation::Read),
        duration_ms: record.duration_ms,
        turns: change.turns,
        is_by_hook: record.is_by_hook(),
        entry,
        record: Some(brief(record, copy)?.to_string().into()),
    })
}

/// What a file of another tool's keeps of the record: its figures, not its lists; and what it is a copy of.
fn brief(record: &Record, copy: Option<&CopyNote>) -> Option<serde_json::Value> {
    let change = record.change()?;
    let loss = &change.loss;
    let mut brief = serde_json::json!({
        "strategy": change.strategy,
        "tokens_before": record.tokens_before,
        "tokens_after": record.tokens_after,
        "count_method": record.count_method,
        "summarizer": change.summarizer,
        "cost": record.cost,
        "spent": record.spent,
        "loss": { "kept": loss.kept, "recoverable": loss.recoverable, "lost": loss.lost, "repaired": loss.repaired },
        "notes": record.notes,
    });
    if let Some(copy) = copy {
        brief["copy"] = serde_json::json!(copy);
    }
    Some(brief)
}
