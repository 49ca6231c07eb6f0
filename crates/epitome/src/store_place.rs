//! Which store is meant, and opening it: the one place that knows where it is by default. A command that only looks makes
//! none where there is none.

use crate::agents::home;
use crate::cli::StoreArgs;
use crate::runner::Runner;
use crate::shell_word::shell_word;
use anyhow::{Context as _, Result, anyhow, bail};
use epitome_engine::store::{FaultKind, SessionId, StoreError};
use epitome_store::{ListedSession, NoStoreAddress, SessionFilter, SessionStore, StoreAddress};
use std::fmt;
use std::fs::DirBuilder;
use std::io;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// The file of the default store, in the platform's folder for data.
const FILE: &str = "epitome.db";

/// So long a server has to give up a session that it is not at work on; it looks ten times a second.
const HOLDER_TIME: Duration = Duration::from_secs(2);
/// Then it is looked again.
const HOLDER_PAUSE: Duration = Duration::from_millis(50);
/// How `serve` is told to keep nothing.
const MEMORY: &str = "memory";

/// A store as people name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreName {
    /// None: what a server holds ends with it.
    Memory,
    /// One that lasts.
    At(StoreAddress),
}

impl FromStr for StoreName {
    type Err = NoStoreAddress;
    fn from_str(text: &str) -> Result<Self, NoStoreAddress> {
        match text {
            MEMORY => Ok(Self::Memory),
            address => address.parse().map(Self::At),
        }
    }
}

impl fmt::Display for StoreName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory => f.write_str(MEMORY),
            Self::At(address) => address.fmt(f),
        }
    }
}

/// A store, and the waiting for it.
pub struct OpenStore {
    pub store: Arc<dyn SessionStore>,
    pub waiting: Runner,
    /// What to add to a command that means it.
    pub flag: String,
    /// Why it can only be looked at; none where it can be written.
    pub refused: Option<StoreError>,
}

impl StoreArgs {
    /// Where the store is.
    pub fn address(&self) -> Result<StoreAddress> {
        match &self.store {
            Some(StoreName::At(stated)) => Ok(stated.clone()),
            Some(StoreName::Memory) => bail!(
                "`memory` keeps sessions of a running `serve` and no others; name a store with --store sqlite:PATH"
            ),
            None => {
                let folder = home::data().context(
                    "there is no home to keep sessions in; name a store with --store, or set HOME",
                )?;
                Ok(StoreAddress::Sqlite(folder.join(FILE)))
            }
        }
    }

    /// Whether somebody named a store that lasts.
    pub fn is_named(&self) -> bool {
        matches!(self.store, Some(StoreName::At(_)))
    }

    /// The store that is there.
    pub fn open(&self) -> Result<OpenStore> {
        match self.find()? {
            Some(open) => Ok(open),
            None => bail!(
                "there is no store at {} yet; `epitome import FILE` or `epitome serve` makes one, and --store names another",
                self.address()?
            ),
        }
    }

    /// The store; none where there is none yet.
    pub fn find(&self) -> Result<Option<OpenStore>> {
        if self.store == Some(StoreName::Memory) {
            return Ok(None);
        }
        let address = self.address()?;
        if address.file().is_some_and(|file| !file.exists()) {
            return Ok(None);
        }
        self.open_at(&address).map(Some)
    }

    /// The store, made where there is none yet.
    pub fn open_or_make(&self) -> Result<OpenStore> {
        let address = self.address()?;
        make_room(&address)?;
        self.open_at(&address)
    }

    /// What to add to a command that means the same store.
    pub fn flag(&self) -> String {
        let stated = self.store.as_ref().map(|address| shell_word(&address.to_string()));
        stated.map(|address| format!(" --store {address}")).unwrap_or_default()
    }

    fn open_at(&self, address: &StoreAddress) -> Result<OpenStore> {
        let waiting = Runner::default();
        let opened = waiting.to_the_end(async {
            match address.open().await {
                // Whoever only looks need not be able to write; whoever acts is told by the act.
                Err(refused) if is_unwritable(&refused) => match address.look().await {
                    Ok(store) => Ok((store, Some(refused))),
                    Err(_) => Err(refused.into()),
                },
                opened => Ok((opened?, None)),
            }
        });
        let (store, refused) = opened.with_context(|| format!("cannot open the store {address}"))?;
        Ok(OpenStore { store, waiting, flag: self.flag(), refused })
    }
}

/// Whether a file is there that may be read and not written, or that lies in such a folder.
fn is_unwritable(error: &StoreError) -> bool {
    let StoreError::Fault(fault) = error else { return false };
    match fault.kind {
        FaultKind::ReadOnly | FaultKind::Gone | FaultKind::Full => true,
        FaultKind::Busy | FaultKind::Newer | FaultKind::Damaged | FaultKind::Other => false,
    }
}

/// Makes the folder that the file of a store lies in, where it lies in one.
pub fn make_room(address: &StoreAddress) -> Result<()> {
    let folder =
        address.file().and_then(|file| file.parent()).filter(|folder| !folder.as_os_str().is_empty());
    let Some(folder) = folder else { return Ok(()) };
    make_folder(folder).with_context(|| format!("cannot make the folder {}", folder.display()))
}

/// Makes a folder for sessions, which are nobody's but their owner's to read.
fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

impl Drop for OpenStore {
    fn drop(&mut self) {
        // What was held is given back while the runtime lives: nobody waits for its end. Where the store does not answer any
        // more, others find out by time.
        drop(self.wait(self.store.close()));
    }
}

impl OpenStore {
    /// A session in it.
    pub fn listed(&self, session: SessionId) -> Result<ListedSession> {
        let filter = SessionFilter { session: Some(session), ..SessionFilter::default() };
        let found = self.wait(self.store.list(&filter))?;
        found.into_iter().next().ok_or_else(|| self.no_session(session))
    }

    /// Asks whoever holds a session to give it up, and waits until they have. A server does so as soon as it is not at work on it;
    /// where nobody answers, the session is as it was, and whoever acts on it is told.
    pub fn ask_for(&self, session: SessionId) -> Result<()> {
        if !self.listed(session)?.is_held {
            return Ok(());
        }
        self.ask_for_all(&[session])
    }

    /// The same for several that are held, in one time.
    pub fn ask_for_all(&self, sessions: &[SessionId]) -> Result<()> {
        for &session in sessions {
            self.wait(self.store.want(session))?;
        }
        let until = Instant::now() + HOLDER_TIME;
        while self.is_any_held(sessions)? && Instant::now() < until {
            thread::sleep(HOLDER_PAUSE);
        }
        sessions.iter().try_for_each(|&session| self.wait(self.store.want_no_more(session)))
    }

    fn is_any_held(&self, sessions: &[SessionId]) -> Result<bool> {
        for &session in sessions {
            if self.listed(session)?.is_held {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// All sessions, the one changed last first.
    pub fn sessions(&self) -> Result<Vec<ListedSession>> {
        self.wait(self.store.list(&SessionFilter::default()))
    }

    /// Waits for the store.
    pub fn wait<T>(&self, work: impl Future<Output = Result<T, StoreError>>) -> Result<T> {
        self.waiting.to_the_end(async { Ok(work.await?) })
    }

    fn no_session(&self, session: SessionId) -> anyhow::Error {
        anyhow!(
            "there is no session {session} in {}; `epitome sessions` lists those there are",
            self.store.place()
        )
    }
}
