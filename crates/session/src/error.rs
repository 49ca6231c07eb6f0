//! How building a session and acting on it fail. What is expected is no error: a compaction that is not needed, or that
//! came to nothing, is an outcome in its record.

use epitome_engine::{EngineError, NoWindow};
use epitome_settings::SettingsError;
use epitome_wire::encode::EncodeError;
use epitome_wire::overflow::OverflowClass;
use epitome_wire::{Format, ReadError};
use std::io;
use std::sync::Arc;

/// A session that could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A preset or setting that cannot be used.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// Two policies, one of them in parts.
    #[error("a policy was handed in, and settings beside it; put what they say into the policy")]
    PolicyAndSettings,
    /// Nobody knows how large the model's window is.
    #[error(transparent)]
    NoWindow(#[from] NoWindow),
    /// The summariser would be told nothing.
    #[error(
        "there is no prompt `{name}` for the summariser; hand in its text with `SessionBuilder::prompts`"
    )]
    NoPrompt {
        /// What the policy calls it.
        name: String,
    },
    /// There is no runtime to keep time.
    #[error("no tokio runtime runs here; build the session inside one, or hand in `SessionBuilder::ports`")]
    NoRuntime,
    /// What was saved cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// What was read is not what a session saves.
    #[error(
        "this is a file with {conversations} conversations, written by {from}; a session goes on from what `save_to` wrote"
    )]
    NotSaved {
        /// Whose form the file's messages have.
        from: Format,
        /// How many conversations it holds.
        conversations: usize,
    },
    /// A file that is not whole.
    #[error(
        "the file is not whole: {first} ({count} such problems); read what there is with `SessionBuilder::salvage`"
    )]
    Damaged {
        /// What was met first.
        first: String,
        /// How many problems there are.
        count: usize,
    },
    /// What was saved makes no session.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// An act that failed. The session stays as it was, or as far as it got; it can be worked on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The engine could not do it.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The context cannot be written as a request.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// The provider refused a request, and a smaller one would not help or was tried.
    #[error("the provider refused the request: {why}; it said: {said}")]
    Refused {
        /// What its error means for the size of the request.
        class: OverflowClass,
        /// Why nothing more is done about it.
        why: String,
        /// Its own words, as they came.
        said: Arc<str>,
    },
    /// A reply that broke off, or in which an error came.
    #[error(
        "the provider broke off its reply, and nothing of it was taken up; send the request again; it said: {said}"
    )]
    BrokenReply {
        /// Its own words, as they came; empty where nothing did.
        said: Arc<str>,
    },
    /// Work on a thread of the runtime had no end.
    #[error(
        "work on the session was lost: it panicked, or its runtime was shut down; nothing of it was taken up"
    )]
    Lost,
    /// What was to be saved could not be written.
    #[error("the session could not be saved; cut the file to its former length and save again")]
    Save(#[source] io::Error),
}
