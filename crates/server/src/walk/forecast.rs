//! The body that would be sent for a request if it were sent now, for whoever counts: nothing is made for it and nothing is kept.

use super::{Walk, WalkError};
use crate::checkpoints::ClientLine;
use crate::request::Request;
use crate::server_state::ServerState;
use crate::shown_path::view_slots;
use crate::view::{Origin, ViewSlot};
use crate::{blocking, client_compaction, client_wait};
use bytes::Bytes;
use epitome_core::{Message, Tokens};
use epitome_engine::store::StoreError;
use epitome_engine::{EngineError, Session};
use std::sync::Arc;

/// The body that would be sent for a request if it were sent now; none where that is the one that came.
pub(crate) async fn foresee(state: &Arc<ServerState>, request: &Arc<Request>) -> Option<Bytes> {
    let (_held, client) = ClientLine::new();
    let work = {
        let (state, request) = (state.clone(), request.clone());
        async move || {
            let waiter = client_wait::begin(&state, client.clone());
            let walk = Walk::new(&state, &request, &client, waiter);
            match walk.foresee().await {
                Err(WalkError::Engine(EngineError::Store(
                    StoreError::NotKept { session, ids } | StoreError::OutOfReach { session, ids },
                ))) => {
                    walk.supply(session, &ids).await?;
                    walk.foresee().await
                }
                foreseen => foreseen,
            }
        }
    };
    // What goes wrong here goes wrong when the request is sent, and is told then.
    blocking::run(work).await?.ok().flatten()
}

impl Walk<'_> {
    /// The body as a compaction that is in use shows it, with what is new behind that. None is made for it: whoever
    /// counts asks no model.
    pub(super) async fn foresee(&self) -> Result<Option<Bytes>, WalkError> {
        let Request { tenant, hashes, .. } = self.request;
        let Some(node) = self.state.engine.find(*tenant, hashes).await? else { return Ok(None) };
        self.open_book(node.session).await?;
        self.recognize(node).await?;
        let checkout = self.checkout(node.session, &self.rule(node.session), Some(node.entry))?;
        let path = self.state.engine.look(&checkout).await?;
        let new = self.read(node.depth)?;
        if client_compaction::is_asked(self.request) && self.fits_whole(&path, &new) {
            return Ok(None);
        }
        let slots = self.state.books.with(node.session, |book| view_slots(&path, book));
        let Some(mut slots) = slots.transpose()?.flatten() else { return Ok(None) };
        slots.extend(new.into_iter().map(|(origin, _)| ViewSlot::Message(origin, None)));
        Ok(Some(self.written(&slots)))
    }

    /// Whether all of a history is sent to a client that compacts it by itself, with what is new in its request.
    fn fits_whole(&self, path: &Session, new: &[(Origin, Message)]) -> bool {
        let measure = path.assembly().measure();
        let new: Tokens = new.iter().map(|(_, message)| measure.sizes(message).total()).sum();
        path.budget().fits(path.timeline().whole() + new)
    }
}
