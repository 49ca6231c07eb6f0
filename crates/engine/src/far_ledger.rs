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

#[cfg(test)]
mod tests {
    use super::FarLedger;
    use epitome_core::{
        Author, Block, Call, EntryId, MemoryArchive, Message, ResultPart, Role, SizeTable, Sizes, Tokens,
        ToolResult,
    };

    /// A file is written by the second message, and the third says so; the others are a person's.
    fn message(at: usize) -> Message {
        let (role, author, block) = match at {
            1 => {
                let input = r#"{"file_path":"src/first.rs","content":"x"}"#.into();
                let call = Call { id: "c1".into(), name: "Write".into(), input, freeform: false };
                (Role::Assistant, Author::Model, Block::Call(call))
            }
            2 => {
                let parts = vec![ResultPart::Text { text: "written".into() }];
                let result = ToolResult { call: "c1".into(), parts, is_error: false };
                (Role::Tool, Author::Tool, Block::Result(result))
            }
            _ => (Role::User, Author::Person, Block::Text { text: "go on".into() }),
        };
        Message { role, author, blocks: vec![block] }
    }

    #[test]
    fn what_lies_too_far_back_is_taken_up_once_and_read_no_more() {
        let (archive, mut sizes) = (MemoryArchive::default(), SizeTable::default());
        let history: Vec<EntryId> = (0..14).map(EntryId).collect();
        for &id in &history {
            archive.put(id, message(id.index()));
            sizes.set(id, Sizes { text: Tokens(30_000), ..Sizes::default() });
        }
        let mut far = FarLedger::default();
        assert_eq!(far.near_from(&history, &sizes), 0, "nothing is taken up yet");
        far.extend(&history, &sizes, &archive).expect("all is at hand");
        // Ten of them are all that a summary is made from.
        assert_eq!((far.near_from(&history, &sizes), far.history().count), (4, 4));
        let paths: Vec<&str> = far.history().ledger.files.iter().map(|file| &*file.path).collect();
        assert_eq!(paths, ["src/first.rs"]);
        archive.retain(&history[4..]);
        far.extend(&history, &sizes, &archive).expect("what was read is not read again");
    }
}
