//! What people say of a session, as marks on its path: undo and redo, pins, labels, judgements, a closed breaker. What
//! a mark does to the context is derived by the core.

use super::Session;
use crate::error::EngineError;
use crate::event::Event;
use epitome_core::{EntryId, Judgement, Mark};

impl Session {
    /// Takes a compaction or edit back on this path.
    pub fn undo(&mut self, of: EntryId) -> Result<(), EngineError> {
        self.mark(Mark::Undo { of })?;
        self.state.events.push(Event::Undone { of });
        Ok(())
    }

    /// Uses one again that was taken back.
    pub fn redo(&mut self, of: EntryId) -> Result<(), EngineError> {
        self.mark(Mark::Redo { of })?;
        self.state.events.push(Event::Redone { of });
        Ok(())
    }

    /// Never supersedes a message from here on; one that is out of view comes back into it.
    pub fn pin(&mut self, of: EntryId) -> Result<(), EngineError> {
        self.mark(Mark::Pin { of }).map(drop)
    }

    /// Lets a pinned message go again.
    pub fn unpin(&mut self, of: EntryId) -> Result<(), EngineError> {
        self.mark(Mark::Unpin { of }).map(drop)
    }

    /// Gives the end of the path a name.
    pub fn label(&mut self, text: &str) -> Result<(), EngineError> {
        self.mark(Mark::Label { text: text.into() }).map(drop)
    }

    /// Closes the breaker: automatic compaction may run again.
    pub fn reset_breaker(&mut self) -> Result<(), EngineError> {
        self.mark(Mark::Reset).map(drop)
    }

    /// Keeps what a person thinks of a compaction or edit, in place of what was thought before.
    pub fn judge(&mut self, of: EntryId, judgement: Judgement) -> Result<(), EngineError> {
        self.mark(Mark::Judgement { of, judgement: judgement.clone() })?;
        self.state.events.push(Event::Flagged { of, judgement });
        Ok(())
    }

    /// What a person thinks of the compaction or edit `of`, where one said so on this path.
    pub fn judgement(&self, of: EntryId) -> Option<&Judgement> {
        let path = self.log().path(self.leaf()?);
        let marks = self.log().marks_on(&path);
        marks.into_iter().rev().find_map(|id| {
            let Mark::Judgement { of: judged, judgement } = self.log().mark_of(id)? else { return None };
            (*judged == of).then_some(judgement)
        })
    }
}
