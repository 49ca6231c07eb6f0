//! Where a server keeps its sessions: the store that was named, else the file that the other commands look at. A server that
//! nobody told where to keep them serves all the same where that file cannot be had, and says so.

use super::log::ServerLog;
use crate::cli::StoreArgs;
use crate::store_place::{StoreName, make_room};
use anyhow::{Context as _, Result};
use epitome_core::KeptBodies;
use epitome_engine::store::{FaultKind, StoreError};
use epitome_server::{NoticeLevel, ServerStore};
use epitome_store::{SessionStore, StandbyNotice, StandbyStore};
use std::fmt;
use std::sync::Arc;

/// Where sessions are kept.
pub(super) enum SessionPlace {
    Memory,
    Lasting {
        store: Arc<dyn SessionStore>,
        /// The same as the server uses it: calls go on where it does not.
        standby: Arc<StandbyStore>,
    },
}

impl SessionPlace {
    /// Opens the store, or makes it.
    pub(super) async fn open(args: &StoreArgs, log: ServerLog) -> Result<Self> {
        if args.store == Some(StoreName::Memory) {
            return Ok(Self::Memory);
        }
        match open(args).await {
            Ok(store) => {
                let tell = move |notice: &StandbyNotice| log.say(NoticeLevel::Warn, &notice.to_string());
                let standby = Arc::new(StandbyStore::new(store.clone(), Arc::new(tell)));
                Ok(Self::Lasting { store, standby })
            }
            Err(error) if !args.is_named() && is_out_of_reach(&error) => {
                log.say(
                    NoticeLevel::Warn,
                    &format!("{error:#}; sessions are kept in memory; --store names a place for them"),
                );
                Ok(Self::Memory)
            }
            Err(error) => Err(error),
        }
    }

    /// What the server stores by; none where all is in memory.
    pub(super) fn server_store(&self, keep: KeptBodies) -> Option<ServerStore> {
        let Self::Lasting { store, standby } = self else { return None };
        Some(ServerStore { store: standby.clone(), key: store.chain_key(), keep })
    }

    /// The store itself; none where all is in memory.
    pub(super) fn lasting(&self) -> Option<Arc<dyn SessionStore>> {
        match self {
            Self::Memory => None,
            Self::Lasting { store, .. } => Some(store.clone()),
        }
    }

    /// Stores what waits, and gives back what was held, so that the next replica need not wait for its end.
    pub(super) async fn close(self, log: ServerLog) {
        let Self::Lasting { store, standby } = self else { return };
        standby.close().await;
        if let Err(error) = store.close().await {
            let text = format!("sessions stay held for a while, as they could not be given back: {error}");
            log.say(NoticeLevel::Warn, &text);
        }
    }
}

/// A sentence for whoever starts the server.
impl fmt::Display for SessionPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory => f.write_str("sessions are kept in memory, until it stops"),
            Self::Lasting { store, .. } => write!(f, "sessions are kept in {}", store.place()),
        }
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
