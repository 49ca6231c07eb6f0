//! A stored session opened to be changed by hand, and what is told of the change.

use super::print_json;
use crate::cli::{ReadArgs, StoreArgs};
use crate::columns;
use crate::output::Page;
use crate::store_place::OpenStore;
use crate::stored_session::quiet_driver;
use crate::transcript_file::{OpenConversation, TranscriptFile};
use anyhow::{Context as _, Result};
use epitome_core::{EntryId, Tokens};
use epitome_engine::store::SessionId;
use epitome_engine::{Checkout, Engine, EngineError, Session, SessionOptions};
use serde::Serialize;

/// A stored session, and the engine that acts on it.
pub struct StoredAct {
    open: OpenStore,
    opened: OpenConversation,
}

/// What was done to a session.
#[derive(Serialize)]
pub struct ActLine {
    pub outcome: &'static str,
    pub session: SessionId,
    /// What it was done to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<EntryId>,
    /// Where the session is now, where that is what was done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leaf: Option<EntryId>,
    /// The message that tells of a branch that was left, where one was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<EntryId>,
    /// The context before and after, as a request.
    #[serde(flatten, serialize_with = "write_sizes", skip_serializing_if = "Option::is_none")]
    pub sizes: Option<(Tokens, Tokens)>,
    /// In words.
    #[serde(skip)]
    pub what: String,
}

fn write_sizes<S: serde::Serializer>(sizes: &Option<(Tokens, Tokens)>, to: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct SizePair {
        tokens_before: Tokens,
        tokens_after: Tokens,
    }
    sizes.map(|(tokens_before, tokens_after)| SizePair { tokens_before, tokens_after }).serialize(to)
}

impl ActLine {
    /// Nothing was to be done.
    pub fn nothing(session: SessionId, what: &str) -> Self {
        Self {
            outcome: "noop",
            session,
            entry: None,
            leaf: None,
            summary: None,
            sizes: None,
            what: what.to_owned(),
        }
    }
}

impl StoredAct {
    /// Opens a session of a store.
    pub fn open(store: &StoreArgs, session: SessionId, read: &ReadArgs) -> Result<Self> {
        let open = store.open()?;
        open.ask_for(session)?;
        Self::of(open, session, read)
    }

    /// The same session opened once more where it is now: what its provider counted is of the path it is on.
    pub fn anew(self, session: SessionId, read: &ReadArgs) -> Result<Self> {
        self.close(session)?;
        Self::of(self.open, session, read)
    }

    fn of(open: OpenStore, session: SessionId, read: &ReadArgs) -> Result<Self> {
        let file = TranscriptFile::of_stored(&open, session, read)?;
        let place = file.stored().context("a stored session has a place")?;
        let opened = file.open_stored(place, SessionOptions::default(), quiet_driver());
        file.calibrate(place.number, &opened.opening.assembly)?;
        Ok(Self { open, opened })
    }

    pub fn engine(&self) -> &Engine {
        &self.opened.engine
    }

    pub fn checkout(&self) -> &Checkout {
        &self.opened.opening
    }

    /// The session as it is.
    pub fn look(&self) -> Result<Session> {
        self.run(self.engine().look(self.checkout()))
    }

    /// Does something to it.
    pub fn run<T>(&self, act: impl Future<Output = Result<T, EngineError>>) -> Result<T> {
        self.open.waiting.to_the_end(async { Ok(act.await?) })
    }

    /// What its context takes as a request.
    pub fn tokens(&self, session: &Session) -> Tokens {
        session.budget().request(session.context().tokens())
    }

    fn close(&self, session: SessionId) -> Result<()> {
        self.open.waiting.to_the_end(async {
            self.engine().close(session).await;
            Ok(())
        })
    }

    /// Gives the session back, and tells what was done.
    pub fn tell(&self, line: &ActLine, json: bool) -> Result<()> {
        self.close(line.session)?;
        if json {
            return print_json(line);
        }
        let mut text = format!("{}: ", line.session);
        if let Some(entry) = line.entry {
            text += &format!("{entry} ");
        }
        text += &line.what;
        if let Some((before, after)) = line.sizes {
            text += &format!("; context {before} → {after} tokens");
        }
        let mut page = Page::default();
        writeln!(page, "{}", columns::wrap(&text, columns::of_stdout(), 2));
        page.print()
    }
}
