//! What people say of a session, as marks on its path: undo and redo, pins, labels, judgements, a closed breaker. What
//! a mark does to the context is derived by the core.

use super::Session;
use crate::error::EngineError;
use crate::event::Event;
use epitome_core::{EntryId, Judgement, Mark, pinned_by};

impl Session {
    /// Takes a compaction or edit back on this path, by its own mark or by one that puts it to use.
    pub fn undo(&mut self, of: EntryId) -> Result<(), EngineError> {
        let of = self.log().pass_of(of);
        if self.context().is_undone(of) {
            return Err(EngineError::Unchanged { of, standing: "undone already" });
        }
        self.mark(Mark::Undo { of })?;
        self.state.events.push(Event::Undone { of });
        Ok(())
    }

    /// Uses one again that was taken back.
    pub fn redo(&mut self, of: EntryId) -> Result<(), EngineError> {
        let of = self.log().pass_of(of);
        let is_pass = self.log().mark_of(of).is_some_and(|mark| mark.record().is_some());
        if is_pass && !self.context().is_undone(of) {
            return Err(EngineError::Unchanged { of, standing: "not undone" });
        }
        self.mark(Mark::Redo { of })?;
        self.state.events.push(Event::Redone { of });
        Ok(())
    }

    /// Never supersedes a message from here on; one that is out of view comes back into it. A message that is pinned
    /// stays as it is.
    pub fn pin(&mut self, of: EntryId) -> Result<(), EngineError> {
        if self.is_pinned(of) { Ok(()) } else { self.mark(Mark::Pin { of }).map(drop) }
    }

    /// Lets a pinned message go again; one that is not pinned stays as it is.
    pub fn unpin(&mut self, of: EntryId) -> Result<(), EngineError> {
        let is_loose = self.history().binary_search(&of).is_ok() && !self.is_pinned(of);
        if is_loose { Ok(()) } else { self.mark(Mark::Unpin { of }).map(drop) }
    }

    /// Whether a message was pinned itself, and not as a part of an exchange.
    fn is_pinned(&self, of: EntryId) -> bool {
        let marks = self.log().marks_on(&self.log().path_of(self.leaf()));
        pinned_by(self.log(), &marks).contains(&of)
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
        let of = self.log().pass_of(of);
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
