//! How building a session and acting on it fail. What is expected is no error: a compaction that is not needed, or that
//! came to nothing, is an outcome in its record.

use epitome_core::{CallId, Floor, Tokens, WINDOW_MAX, WINDOW_MIN};
use epitome_engine::{EngineError, NoWindow, Step};
use epitome_settings::SettingsError;
use epitome_wire::encode::EncodeError;
use epitome_wire::overflow::{ErrorPlace, OverflowClass};
use epitome_wire::protocol::StrangeReply;
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
    /// No model has such a window.
    #[error(
        "a window of {0} tokens is none: it has {WINDOW_MIN} at least and {WINDOW_MAX} at most; hand in the model's own, \
         or leave `window` out to have it looked up"
    )]
    Window(Tokens),
    /// A session is with a model.
    #[error("the model has no name; name it in `LiveSession::for_model`")]
    NoModel,
    /// An answer of no tokens.
    #[error("`output_max` is 0, and an answer takes some; leave it out to have the model's own")]
    NoOutput,
    /// A tool that cannot be called.
    #[error("tool definition {number} ({beginning}) {why}")]
    Tool {
        /// Its place among the tools, from 1.
        number: usize,
        /// How it begins.
        beginning: String,
        /// What is wrong, and what to do.
        why: &'static str,
    },
    /// A tool's definition, or the value of a field, that no request can hold.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// A field that requests have already.
    #[error("`{name}` is written by the session; {instead}")]
    ReservedField {
        /// Its name.
        name: String,
        /// What to call in its place.
        instead: &'static str,
    },
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
    Read(ReadError),
    /// There is nothing to load.
    #[error("nothing is saved here yet; `build` begins a new session")]
    NothingSaved,
    /// Bytes that no session has saved.
    #[error(
        "these bytes are not what `save_to` wrote: {why}; hand in all that was saved, from its first line on"
    )]
    NoSession {
        /// What was found instead.
        why: String,
    },
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
    #[error("the file is not whole: {first}{}; `SessionBuilder::salvage` reads what can be read", others(*count))]
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

impl From<ReadError> for BuildError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Empty => Self::NothingSaved,
            ReadError::NotThis { why, .. } => Self::NoSession { why },
            other => Self::Read(other),
        }
    }
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
    /// Nobody waits for a reply.
    #[error("there is nothing to send: {why}; say something first")]
    NothingToSend {
        /// What the newest thing said is.
        why: &'static str,
    },
    /// What is always sent is larger than the window: no compaction makes this request fit.
    #[error("the next request {floor}")]
    NoRoom {
        /// What takes the room.
        floor: Floor,
        /// What was appended and told all the same.
        step: Box<Step>,
    },
    /// A result of a call that does not wait for one.
    #[error("call `{call}` waits for no result; {}", still_open(open))]
    NoSuchCall {
        /// What the result says it answers.
        call: CallId,
        /// The calls that do wait.
        open: Vec<CallId>,
    },
    /// Two results of one call.
    #[error("call `{call}` is answered twice; nothing was taken up, hand in one result for each call")]
    AnsweredTwice {
        /// The call.
        call: CallId,
    },
    /// Calls without a result.
    #[error(
        "{}; nothing was taken up, hand in the results of all calls at once, or give them up with `end_turn(TurnEnd::Broken)`",
        still_open(open)
    )]
    Unanswered {
        /// These.
        open: Vec<CallId>,
    },
    /// The provider refused a request, and a smaller one would not help or was tried.
    #[error("the provider refused the request: {why}; it said: {said}")]
    Refused {
        /// Where its error stood.
        place: ErrorPlace,
        /// What its error means for the size of the request.
        class: OverflowClass,
        /// Why nothing more is done about it.
        why: String,
        /// Its own words, as they came.
        said: Arc<str>,
    },
    /// An error in a reply's place, or in its midst.
    #[error(
        "the provider broke off its reply, and nothing of it was taken up; send the request again; it said: {said}"
    )]
    BrokenReply {
        /// Its own words, as they came.
        said: Arc<str>,
    },
    /// A reply whose end did not come.
    #[error(
        "the reply ended before its end was told, and nothing of it was taken up; send the request again; as far as it came, it said: {said:?}"
    )]
    CutOff {
        /// The model's words up to there.
        said: String,
    },
    /// A reply of another protocol, or none at all.
    #[error("{0}; nothing of it was taken up, read it in the protocol that `body` was written in")]
    Stranger(StrangeReply),
    /// Work on a thread of the runtime had no end.
    #[error(
        "work on the session was lost: it panicked, or its runtime was shut down; nothing of it was taken up"
    )]
    Lost,
    /// What was to be saved could not be written.
    #[error("the session could not be saved; cut the file to its former length and save again")]
    Save(#[source] io::Error),
}

impl SessionError {
    /// Whether the same request may well be answered when it is sent again, after a while: a rate limit, a provider's
    /// own trouble, a reply that broke off. The session stands as it did before the call.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Refused { place, class, .. } => class.is_passing(*place),
            Self::BrokenReply { .. } | Self::CutOff { .. } => true,
            Self::Engine(_)
            | Self::Encode(_)
            | Self::NothingToSend { .. }
            | Self::NoRoom { .. }
            | Self::NoSuchCall { .. }
            | Self::AnsweredTwice { .. }
            | Self::Unanswered { .. }
            | Self::Stranger(_)
            | Self::Lost
            | Self::Save(_) => false,
        }
    }
}

fn others(count: usize) -> String {
    if count > 1 { format!(" (the first of {count} problems)") } else { String::new() }
}

fn still_open(open: &[CallId]) -> String {
    match open {
        [] => "no call is open".to_owned(),
        [only] => format!("`{only}` still waits for its result"),
        several => {
            let names: Vec<String> = several.iter().map(|id| format!("`{id}`")).collect();
            format!("{} still wait for their results", names.join(", "))
        }
    }
}
