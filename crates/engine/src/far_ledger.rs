//! The far ledger: files, commands and todos of the oldest part of a history, and which of its messages are a person's
//! answers, carried along so that it is read once and a compaction costs no more the longer a session is. What is computed from a call is the core's ledger's.

use epitome_core::embedded::AnswerIndex;
use epitome_core::ledger::Ledger;
use epitome_core::{Archive, ArchiveError, EntryId, FarHistory, SizeTable, Tokens};

/// A summary is made from originals at most this far back: several windows of most models, and
/// about a second's work. Past it a compaction would cost more the longer a session is.
const MATERIAL_TOKENS_MAX: Tokens = Tokens(300_000);
/// One giant message counts as at most this much of it: it must not hide all that came before.
const MESSAGE_TOKENS_MAX: Tokens = Tokens(30_000);

/// The ledger of the oldest messages of a history, and how many they are.
#[derive(Clone, Default)]
pub(crate) struct FarLedger {
    count: usize,
    ledger: Ledger,
    answers: AnswerIndex,
}

impl FarLedger {
    /// Takes up what has come to lie too far back. Each message is read for it once.
    pub(crate) fn extend(
        &mut self,
        history: &[EntryId],
        sizes: &SizeTable,
        archive: &dyn Archive,
    ) -> Result<(), ArchiveError> {
        let count = far_count(history, sizes);
        for &id in history.get(self.count..count).unwrap_or_default() {
            let message = archive.message(id)?;
            self.ledger.update(id, &message);
            self.answers.update(id, &message);
        }
        self.count = self.count.max(count);
        Ok(())
    }

    /// Where in a history the messages begin that are near enough to be read, or were not taken up yet.
    pub(crate) fn near_from(&self, history: &[EntryId], sizes: &SizeTable) -> usize {
        self.count.min(far_count(history, sizes))
    }

    /// What a summary is told of it.
    pub(crate) fn history(&self) -> FarHistory<'_> {
        FarHistory { count: self.count, ledger: &self.ledger, answers: &self.answers }
    }
}

/// How many messages, oldest first, are too far back to be read for a summary.
fn far_count(history: &[EntryId], sizes: &SizeTable) -> usize {
    let mut tokens = Tokens::ZERO;
    let is_near = |id: &&EntryId| {
        tokens += sizes.total(**id).min(MESSAGE_TOKENS_MAX);
        tokens <= MATERIAL_TOKENS_MAX
    };
    history.len() - history.iter().rev().take_while(is_near).count()
}
