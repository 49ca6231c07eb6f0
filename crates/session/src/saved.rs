//! A session in a file: the lines of the native form that stand for what was appended since the last save, and the
//! session that such a file holds. The form itself is `epitome_wire::native`'s.

use crate::error::BuildError;
use epitome_core::{Archive, Entry, EntryId, Log, MemoryArchive, Tokens};
use epitome_engine::{Assembly, EngineError, Session, WindowChoice, WindowSource};
use epitome_wire::{ByteSource, FixedParts, Format, Problem, Transcript, native, read as read_transcript};
use std::sync::Arc;

/// A session is the one conversation of its file.
const CONVERSATION: usize = 0;

/// How much of a session's log is in its file.
#[derive(Clone, Debug, Default)]
pub(crate) struct SavedLog {
    /// Entries that are.
    entries: usize,
    /// The number of the last pass.
    pass: u64,
    /// Where the file says the session has got to.
    leaf: Option<EntryId>,
    /// What the file says is sent before the history; none where there is no file yet.
    fixed: Option<FixedParts>,
    /// What was odd about the file.
    pub(crate) problems: Vec<Problem>,
}

impl SavedLog {
    /// What is to be written behind what is saved, and the state once that is done.
    pub(crate) fn unsaved(
        &self,
        session: &Session,
        fixed: &FixedParts,
    ) -> Result<(Vec<u8>, Self), EngineError> {
        let fixed = &FixedParts { window: learned_window(session), ..fixed.clone() };
        let mut bytes = Vec::new();
        if self.fixed.is_none() {
            bytes.extend(native::wrap(Format::Native, 0, 1));
            // The original that is not there ends here.
            bytes.push(b'\n');
        }
        if self.fixed.as_ref() != Some(fixed) {
            bytes.extend(native::fixed_line(CONVERSATION, fixed));
        }
        let mut next = Self { fixed: Some(fixed.clone()), ..self.clone() };
        let log = session.log();
        for id in (self.entries..log.len()).map(|at| EntryId(at as u32)) {
            bytes.extend(next.take(log, &**session.archive(), id)?);
        }
        if let Some(leaf) = session.leaf().filter(|leaf| next.leaf != Some(*leaf)) {
            bytes.extend(native::leaf_line(CONVERSATION, leaf));
            next.leaf = Some(leaf);
        }
        Ok((bytes, next))
    }

    /// The line of one entry. Each mark is a pass of its own, so that the newest compaction can be taken back alone.
    fn take(&mut self, log: &Log, archive: &dyn Archive, id: EntryId) -> Result<Vec<u8>, EngineError> {
        let parent = log.parent(id);
        self.entries += 1;
        let line = match log.get(id) {
            Some(Entry::Mark(mark)) => {
                self.pass += 1;
                return Ok(native::mark_line(self.pass, CONVERSATION, parent, mark));
            }
            Some(Entry::Message(_)) => native::message_line(CONVERSATION, parent, &*archive.message(id)?),
            Some(Entry::Note { kind }) => native::note_line(CONVERSATION, parent, kind),
            // No session of ours holds one; were it to, its place must be kept, or later ids would name others.
            Some(Entry::Recorded(_)) | None => native::note_line(CONVERSATION, parent, "left out"),
        };
        self.leaf = Some(id);
        Ok(line)
    }
}

/// The window that the provider's refusals have taught: whoever loads the session should not have to be refused again.
fn learned_window(session: &Session) -> Option<u64> {
    match session.assembly().window() {
        WindowChoice { tokens, from: WindowSource::Learned } => Some(tokens.0),
        WindowChoice {
            from:
                WindowSource::Explicit
                | WindowSource::Provider
                | WindowSource::Evidence
                | WindowSource::Catalog
                | WindowSource::Guess,
            ..
        } => None,
    }
}

/// The session in `bytes`, worked on as `assembly` says, with the window that was learned of the same `model`. Where
/// `damage` lets what can be read of a file that is not whole be a session, it is one that is not saved yet: its file is
/// not to be added to.
pub(crate) fn read(
    bytes: Vec<u8>,
    mut assembly: Assembly,
    model: Option<&str>,
    damage: DamageRule,
) -> Result<(Session, SavedLog), BuildError> {
    if bytes.is_empty() {
        return Err(BuildError::NothingSaved);
    }
    let source: Arc<dyn ByteSource> = Arc::new(bytes);
    let from = native::header(&*source)?.from;
    let pass = native::next_pass(source.clone())?.saturating_sub(1);
    let Transcript { mut conversations, problems, .. } =
        read_transcript(source, Some(Format::Native), &**assembly.measure())?;
    let count = conversations.len();
    let Some(held) = conversations.pop().filter(|_| count == 1 && from == Format::Native) else {
        return Err(BuildError::NotSaved { from, conversations: count });
    };
    if let Some(window) = held.fixed.window.filter(|_| held.fixed.model.as_deref() == model) {
        assembly.learn_window(Tokens(window));
    }
    let (entries, leaf, fixed) = (held.log.len(), held.leaf, Some(held.fixed));
    let archive = MemoryArchive::in_front_of(Arc::new(held.originals));
    let mut session = Session::new(held.log.into(), held.sizes.into(), archive.into(), assembly);
    session.move_to(leaf)?;
    session.recall_calibration()?;
    let saved = match (damage, problems.first()) {
        (_, None) => SavedLog { entries, pass, leaf, fixed, problems },
        (DamageRule::Refuse, Some(first)) => {
            return Err(BuildError::Damaged { first: first.what.clone(), count: problems.len() });
        }
        (DamageRule::LeaveOut, Some(_)) => SavedLog { problems, ..SavedLog::default() },
    };
    Ok((session, saved))
}

/// What to do about a file that is not whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DamageRule {
    /// Nothing is read.
    Refuse,
    /// What can be read is.
    LeaveOut,
}
