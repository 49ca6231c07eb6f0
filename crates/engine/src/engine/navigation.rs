//! Moving a session to another of its paths, with or without a word on the one it leaves.

use super::act::Reach;
use super::tree::SessionTree;
use super::{Checkout, Engine};
use crate::branch::{BranchExit, NavigationOutcome};
use crate::error::EngineError;
use crate::session::Session;
use crate::store::SessionId;
use epitome_core::EntryId;

impl Engine {
    /// Moves a session to another path, with or without a word on the one it leaves.
    pub async fn navigate(
        &self,
        checkout: &Checkout,
        target: EntryId,
        exit: BranchExit,
    ) -> Result<NavigationOutcome, EngineError> {
        let tree = self.tree(checkout.session).await?;
        let _writer = tree.writer().await;
        let mut session = self.check_out(&tree, checkout, Reach::Whole).await?;
        let mut moved = self.go_to(&tree, checkout, &mut session, target, exit).await;
        let mut step = session.step(None);
        let time_ms = checkout.driver.ports().clock.unix_ms();
        let committed = tree.commit(&*self.store, &mut session, &mut step, time_ms).await;
        let renumbering = self.forget_unless_stored(&tree, committed).await?;
        if let Ok(NavigationOutcome::There { summary }) = &mut moved {
            *summary = summary.map(|id| renumbering.id(id));
        }
        if let (Ok(NavigationOutcome::There { .. }), Some(leaf)) = (&moved, session.leaf()) {
            let done = tree.move_leaf(&*self.store, leaf, time_ms).await;
            self.forget_unless_stored(&tree, done).await?;
        }
        tree.put_back(&session);
        moved
    }

    /// Moves a path that is checked out, with the originals at hand that this reads.
    pub(super) async fn go_to(
        &self,
        tree: &SessionTree,
        checkout: &Checkout,
        session: &mut Session,
        target: EntryId,
        exit: BranchExit,
    ) -> Result<NavigationOutcome, EngineError> {
        if session.log().item(target).is_none() {
            return Err(EngineError::NoEntry(target));
        }
        let leaving = session.leaving(target)?.messages;
        let read = [session.log().path(target), leaving].concat();
        tree.read_all(&*self.store, session, &read).await?;
        checkout.driver.navigate(session, target, exit).await
    }

    /// Moves a session back, or to any other place, and does nothing else.
    pub async fn rollback(&self, session: SessionId, leaf: EntryId) -> Result<(), EngineError> {
        self.rollback_at(session, leaf, None).await
    }

    /// The same at a time, in milliseconds since 1970: that is when the session was changed last.
    pub async fn rollback_at(
        &self,
        session: SessionId,
        leaf: EntryId,
        time_ms: Option<u64>,
    ) -> Result<(), EngineError> {
        let tree = self.tree(session).await?;
        let _writer = tree.writer().await;
        if !tree.has_path(Some(leaf)) {
            tree.open_whole(&*self.store).await?;
        }
        let done = tree.move_leaf(&*self.store, leaf, time_ms).await;
        self.forget_unless_stored(&tree, done).await
    }
}
