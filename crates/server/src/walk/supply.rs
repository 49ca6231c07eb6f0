//! Giving a session texts that its store leaves to the client: they are read from the request that waits.

use super::{Walk, WalkError};
use crate::books::Book;
use epitome_core::{EntryId, Message};
use epitome_engine::EngineError;
use epitome_engine::store::{SessionId, StoreError};

impl Walk<'_> {
    /// Gives a session texts of this request that its store leaves to the client.
    pub(super) async fn supply(&self, session: SessionId, ids: &[EntryId]) -> Result<(), WalkError> {
        let said = self.read(0)?;
        let find = |book: &mut Book| -> Option<Vec<(EntryId, Message)>> {
            let one = |id: &EntryId| {
                let meant = book.origins.get(id)?;
                let first = said.partition_point(|(origin, _)| origin.element < meant.element);
                let mut there =
                    said[first..].iter().take_while(|(origin, _)| origin.element == meant.element);
                Some((*id, there.find(|(origin, _)| origin.part == meant.part)?.1.clone()))
            };
            ids.iter().map(one).collect()
        };
        let found = self.state.books.with(session, find).flatten();
        // What the request does not say was said on another branch, or by nobody who says it again.
        let found = found.ok_or_else(|| {
            let ids = ids.to_vec();
            EngineError::from(StoreError::NotKept { session, ids })
        })?;
        Ok(self.state.engine.supply(session, found).await?)
    }
}
