//! The summary call as data: the request, its reply or failure, and what it cost. Writing one is
//! `machine::wording`'s, sending it a `Model`'s of the engine.

use crate::{Author, Dollars, Measure, Message, Opaque, Role, Tokens};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// One call of a model for a summary. No tools are offered with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SummaryRequest {
    /// What it is for.
    pub purpose: Purpose,
    /// The summariser's own system prompt; empty where the session's own is used.
    pub system: Arc<str>,
    /// What is to be summarised, and how.
    pub body: SummaryInput,
    /// The answer's limit.
    pub output_max: Tokens,
    /// How many calls of this plan went before it; no two of them are alike.
    pub attempt: u32,
}

impl SummaryRequest {
    /// What is to be sent behind the system prompt, oldest first.
    pub fn messages(&self) -> Vec<Arc<Message>> {
        let said = |text: &Arc<str>| Arc::new(Message::text(Role::User, Author::Harness, text.clone()));
        match &self.body {
            SummaryInput::Text(text) => vec![said(text)],
            SummaryInput::Messages { messages, instruction }
            | SummaryInput::Prefix { messages, instruction } => {
                messages.iter().cloned().chain([said(instruction)]).collect()
            }
        }
    }

    /// What it takes, by this count.
    pub fn tokens(&self, measure: &dyn Measure) -> Tokens {
        measure.text(&self.system) + self.body.tokens(measure)
    }
}

/// What a summary call is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// Everything that leaves view, or its oldest part where a turn is cut.
    History,
    /// The beginning of a turn whose end stays in view.
    TurnPrefix,
    /// One part of several; each is handed the summary so far.
    Part {
        /// Its number, from 1.
        number: u32,
        /// How many there are, as far as is known.
        of: u32,
    },
    /// A branch that is being left.
    Branch,
    /// A line or two for people who look at a list.
    Short,
    /// The provider's own compaction.
    Native,
}

/// What is to be summarised, in the shape the model is given it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SummaryInput {
    /// Everything as the text of one user message.
    Text(Arc<str>),
    /// The messages themselves, and what to do with them as one more user message.
    Messages {
        /// Oldest first.
        messages: Vec<Arc<Message>>,
        /// The last user message.
        instruction: Arc<str>,
    },
    /// The session's own last request, byte for byte, and one more user message.
    Prefix {
        /// What that request showed of the history.
        messages: Vec<Arc<Message>>,
        /// The last user message.
        instruction: Arc<str>,
    },
}

impl SummaryInput {
    /// What it takes, by this count.
    pub fn tokens(&self, measure: &dyn Measure) -> Tokens {
        match self {
            Self::Text(text) => measure.text(text),
            Self::Messages { messages, instruction } | Self::Prefix { messages, instruction } => {
                let said: Tokens = messages.iter().map(|message| measure.sizes(message).total()).sum();
                said + measure.text(instruction)
            }
        }
    }
}

/// A summary call that has ended, well or not; either way it may have cost something.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallResult {
    /// What came back.
    pub result: Result<SummaryReply, Failure>,
    /// What it took.
    pub spent: CallCost,
}

/// A call that brought nothing and cost nothing.
impl From<Failure> for CallResult {
    fn from(failure: Failure) -> Self {
        Self { result: Err(failure), spent: CallCost::default() }
    }
}

/// What a model wrote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SummaryReply {
    /// Its text, without reasoning.
    pub text: String,
    /// Why it stopped.
    pub stop: Stop,
    /// The provider's own compaction item, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<Opaque>,
}

/// Why a model stopped writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stop {
    /// It was done.
    End,
    /// It reached the answer's limit.
    Length,
    /// It called a tool instead.
    Call,
    /// It, or its provider, would not answer.
    Refusal,
    /// The window was full.
    Window,
}

/// Why a call brought no answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub enum Failure {
    /// The request was too long for the model.
    #[error("the request was too long for the summariser{}", over.map(|over| format!(" by {over} tokens")).unwrap_or_default())]
    TooLong {
        /// By how much, where the provider said.
        over: Option<Tokens>,
    },
    /// Too many requests; waiting was tried.
    #[error("the summariser is throttled: {0}")]
    Throttled(String),
    /// The provider failed or broke off; trying again was tried.
    #[error("the summariser failed: {0}")]
    Broken(String),
    /// No answer within the deadline.
    #[error("the summariser gave no answer in time")]
    TimedOut,
    /// Someone asked to stop.
    #[error("the call was cancelled")]
    Cancelled,
    /// The provider refused the request for good.
    #[error("the summariser refused the request: {0}")]
    Refused(String),
    /// The provider refuses the key, or has no such model: no request of ours would fare better.
    #[error("the summariser refuses the key or the model: {0}")]
    Denied(String),
    /// No connection could be made: nobody is there to be asked differently.
    #[error("the summariser cannot be reached: {0}")]
    Unreachable(String),
    /// There is nobody to ask.
    #[error("{0}")]
    Unavailable(String),
    /// Whoever waits for the summary may wait no longer.
    #[error("there was no summary within the {seconds} s that a request may wait (`guard.wait_seconds_max`)")]
    Late {
        /// So long they may.
        seconds: u64,
    },
}

/// What one or more calls took. Kept apart from what the session itself spends.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CallCost {
    /// How many calls were made.
    pub calls: u32,
    /// Prompt tokens, cached ones included.
    pub input: Tokens,
    /// Of these, read from the provider's cache.
    pub cache_read: Tokens,
    /// Of these, written to it.
    pub cache_write: Tokens,
    /// Tokens of the answer, reasoning included.
    pub output: Tokens,
    /// Of these, reasoning.
    pub reasoning: Tokens,
    /// The price, where the catalog knows it and the provider told what to multiply it with.
    pub dollars: Dollars,
}

impl CallCost {
    /// Adds what another call took.
    pub fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.input += other.input;
        self.cache_read += other.cache_read;
        self.cache_write += other.cache_write;
        self.output += other.output;
        self.reasoning += other.reasoning;
        self.dollars += other.dollars;
    }
}
