//! Where a server keeps its sessions: the store that was named, else the file that the other commands look at. A server that
//! nobody told where to keep them serves all the same where that file cannot be had, and says so.

use super::log::ServerLog;
use crate::cli::StoreArgs;
use crate::store_place::{StoreName, make_room};
use anyhow::{Context as _, Result};
use epitome_engine::store::{FaultKind, StoreError};
use epitome_server::{NoticeLevel, ServerStore};
use epitome_store::{SessionStore, StandbyNotice, StandbyStore};
use std::sync::Arc;

/// Where sessions are kept, and how that is said.
pub(super) struct SessionPlace {
    /// None where they are in memory.
    pub(super) store: Option<ServerStore>,
    /// A sentence for whoever starts the server.
    pub(super) told: String,
}

impl SessionPlace {
    /// Opens the store, or makes it.
    pub(super) async fn open(args: &StoreArgs, log: ServerLog) -> Result<Self> {
        if args.store == Some(StoreName::Memory) {
            return Ok(Self::memory());
        }
        match open(args).await {
            Ok(store) => Ok(Self::lasting(store, log)),
            Err(error) if !args.is_named() && is_out_of_reach(&error) => {
                log.say(
                    NoticeLevel::Warn,
                    &format!("{error:#}; sessions are kept in memory; --store names a place for them"),
                );
                Ok(Self::memory())
            }
            Err(error) => Err(error),
        }
    }

    fn memory() -> Self {
        Self { store: None, told: "sessions are kept in memory, until it stops".to_owned() }
    }

    fn lasting(store: Arc<dyn SessionStore>, log: ServerLog) -> Self {
        let (key, told) = (store.chain_key(), format!("sessions are kept in {}", store.place()));
        let tell = move |notice: &StandbyNotice| log.say(NoticeLevel::Warn, &notice.to_string());
        // Calls go on where the store does not.
        let store = Arc::new(StandbyStore::new(store, Arc::new(tell)));
        Self { store: Some(ServerStore { store, key }), told }
    }
}

async fn open(args: &StoreArgs) -> Result<Arc<dyn SessionStore>> {
    let address = args.address()?;
    make_room(&address)?;
    address.open().await.with_context(|| format!("cannot open the store {address}"))
}

/// Whether there is no place for a file, rather than one that cannot be read: to begin anew beside that would hide it.
fn is_out_of_reach(error: &anyhow::Error) -> bool {
    match error.downcast_ref::<StoreError>() {
        Some(StoreError::Fault(fault)) => match fault.kind {
            FaultKind::Full | FaultKind::ReadOnly | FaultKind::Gone => true,
            FaultKind::Busy | FaultKind::Newer | FaultKind::Damaged | FaultKind::Other => false,
        },
        Some(_) => false,
        // There is no home, or no folder can be made in it.
        None => true,
    }
}
