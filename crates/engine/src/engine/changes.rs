//! What people say of a path, each an act of its own: undo and redo, pins, labels, judgements, a closed breaker.

use super::{Checkout, Engine, PreparedSession};
use crate::error::EngineError;
use crate::session::Session;
use epitome_core::{EntryId, Judgement};

impl Engine {
    /// Takes a compaction or edit back on this path.
    pub async fn undo(&self, checkout: &Checkout, of: EntryId) -> Result<PreparedSession, EngineError> {
        self.change(checkout, |session| session.undo(of)).await
    }

    /// Uses one again that was taken back.
    pub async fn redo(&self, checkout: &Checkout, of: EntryId) -> Result<PreparedSession, EngineError> {
        self.change(checkout, |session| session.redo(of)).await
    }

    /// Never supersedes a message of the path; one that is out of view comes back into it.
    pub async fn pin(&self, checkout: &Checkout, of: EntryId) -> Result<PreparedSession, EngineError> {
        self.change(checkout, |session| session.pin(of)).await
    }

    /// Lets a pinned message go again.
    pub async fn unpin(&self, checkout: &Checkout, of: EntryId) -> Result<PreparedSession, EngineError> {
        self.change(checkout, |session| session.unpin(of)).await
    }

    /// Gives the end of the path a name.
    pub async fn label(&self, checkout: &Checkout, text: &str) -> Result<PreparedSession, EngineError> {
        self.change(checkout, |session| session.label(text)).await
    }

    /// Asks for a compaction at the end of the turn that runs on this path.
    pub async fn request_compaction(&self, checkout: &Checkout) -> Result<PreparedSession, EngineError> {
        self.change(checkout, Session::request_compaction).await
    }

    /// Keeps what a person thinks of a compaction.
    pub async fn judge(
        &self,
        checkout: &Checkout,
        of: EntryId,
        judgement: Judgement,
    ) -> Result<PreparedSession, EngineError> {
        self.change(checkout, |session| session.judge(of, judgement)).await
    }

    /// Closes the breaker of a path.
    pub async fn reset_breaker(&self, checkout: &Checkout) -> Result<PreparedSession, EngineError> {
        self.change(checkout, Session::reset_breaker).await
    }

    pub(super) async fn change(
        &self,
        checkout: &Checkout,
        change: impl FnOnce(&mut Session) -> Result<(), EngineError>,
    ) -> Result<PreparedSession, EngineError> {
        self.act(checkout, async |_, session| {
            change(session)?;
            Ok(session.step(None))
        })
        .await
    }
}
