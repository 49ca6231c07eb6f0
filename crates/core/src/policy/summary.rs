//! The settings of `summary` and `branch`: how a summary is asked for, and what it is made from.

use super::Threshold;
use crate::Tokens;
use serde::{Deserialize, Serialize};

/// How a summary is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SummaryRule {
    /// Who writes it: `embedded`, `session` (the session's own model), `none`, or the name of a model.
    pub by: Writer,
    /// What a model is asked for, where one writes.
    pub parts: Parts,
    /// The prompt's name, or its path (`project:/…`, `config:/…`).
    pub prompt: String,
    /// The shape the messages are given in.
    pub input: Input,
    /// How they are marked where they are given as text.
    pub markers: Markers,
    /// How many of the oldest messages in view one summary covers; all in front of the cut where it is not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span_messages: Option<u32>,
    /// A tool result longer than this many characters is cut for the summariser.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_chars_max: Option<u32>,
    /// What of a long result is left.
    pub clip: Clip,
    /// Whether thinking is shown to the summariser.
    pub thinking: bool,
    /// What the summariser sees of pictures.
    pub images: Pictures,
    /// What becomes of the summary that was made before.
    pub previous: Previous,
    /// Into how many parts of equal count the messages are split.
    pub chunks: u32,
    /// What to do where the messages do not fit the summariser's window.
    pub oversize: Oversize,
    /// How the two calls of a cut turn are made.
    pub split: Split,
    /// The answer's limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_max: Option<Tokens>,
    /// The answer's limit for the beginning of a cut turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix_output_max: Option<Tokens>,
    /// An answer shorter than this is asked for again, once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_min: Option<Tokens>,
    /// The limit of a second summary of a line or two, for lists; none is made where it is not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub short_max: Option<Tokens>,
    /// How often it is asked again, each time differently.
    pub retries: u32,
    /// Lengths to which tool results are cut, one after another, before anything else is tried.
    pub shrink_results: Vec<u32>,
    /// Whether fewer and fewer of the newest messages are kept after that.
    pub shrink_keep: bool,
    /// Whether the embedded summariser writes the summary where the model does not.
    pub else_embedded: bool,
    /// How often that is done at most; until none is left where it is not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shrink_keep_max: Option<u32>,
}

impl Default for SummaryRule {
    fn default() -> Self {
        Self {
            by: Writer::Embedded,
            parts: Parts::Prose,
            prompt: "default".into(),
            input: Input::Cheaper,
            markers: Markers::Ids,
            span_messages: None,
            result_chars_max: Some(4_000),
            clip: Clip::Ends,
            thinking: false,
            images: Pictures::Label,
            previous: Previous::Update,
            chunks: 1,
            oversize: Oversize::Fold,
            split: Split::Sequence,
            output_max: None,
            prefix_output_max: None,
            size_min: None,
            short_max: None,
            retries: 1,
            shrink_results: vec![1_000, 200],
            shrink_keep: false,
            else_embedded: true,
            shrink_keep_max: None,
        }
    }
}

/// Who writes summaries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Writer {
    /// The embedded summariser.
    Embedded,
    /// The session's own model.
    Session,
    /// Nobody: only what needs no summary is done.
    Nobody,
    /// A model by its name among the aliases.
    Alias(String),
}

impl From<String> for Writer {
    fn from(name: String) -> Self {
        match name.as_str() {
            "embedded" => Self::Embedded,
            "session" => Self::Session,
            "none" => Self::Nobody,
            _ => Self::Alias(name),
        }
    }
}

impl From<Writer> for String {
    fn from(writer: Writer) -> Self {
        match writer {
            Writer::Embedded => "embedded".into(),
            Writer::Session => "session".into(),
            Writer::Nobody => "none".into(),
            Writer::Alias(name) => name,
        }
    }
}

/// What of a summary a model writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Parts {
    /// What a machine cannot: what is meant, how problems were solved, where the work stands. The embedded summariser
    /// writes the rest within the same budget.
    Prose,
    /// All of it, in the sections of the prompt.
    All,
}

/// The shape in which messages are given to a summariser.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Input {
    /// As the session's own last request while that is cached and cheaper to read so, else as one text.
    Cheaper,
    /// As one text.
    Text,
    /// As messages.
    Messages,
    /// As the session's own last request, while the provider still has it in its cache.
    Prefix,
}

impl Input {
    /// Whether the session's own last request may be gone on with.
    pub fn may_extend(self) -> bool {
        match self {
            Self::Cheaper | Self::Prefix => true,
            Self::Text | Self::Messages => false,
        }
    }
}

/// How messages are marked in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Markers {
    /// `[m0123 user]`, ids included; nothing in it looks like a tool call.
    Ids,
    /// `[USER]`, `[ASSISTANT]`, `[TOOL_RESULT]`, with dividers between.
    Upper,
    /// `[User]:`, `[Assistant]:`, `[Assistant tool calls]:`, `[Tool result]:`.
    Colon,
    /// `[Think]`, `[Tool Call]`, `[Tool Result]`.
    Short,
}

/// What is left of a long tool result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Clip {
    /// Its beginning.
    Head,
    /// Its beginning and its end.
    Ends,
}

/// What a summariser sees of pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pictures {
    /// A label with the type.
    Label,
    /// Nothing.
    Dropped,
    /// The picture.
    Sent,
}

/// What becomes of the summary that was made before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Previous {
    /// It is handed over with a prompt that asks to bring it up to date.
    Update,
    /// It is one of the messages to be summarised.
    Message,
}

/// What to do where the messages do not fit the summariser's window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Oversize {
    /// Part by part, each handed the summary so far; half as much where even that is refused.
    Fold,
    /// Leave out the oldest exchanges until it fits, at most so many times.
    DropOldest(u32),
    /// Send it all the same, and go on to what the retries say.
    Send,
    /// Go on to the next strategy.
    Fail,
}

/// How the two calls of a cut turn are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Split {
    /// One after the other.
    Sequence,
    /// At once, where the model takes that.
    Parallel,
}

/// How a branch that is left is summarised.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BranchRule {
    /// The point in the summariser's window up to which the newest of the branch is read.
    pub at: Threshold,
    /// The answer's limit.
    pub output_max: Tokens,
}

impl Default for BranchRule {
    fn default() -> Self {
        Self { at: Threshold::Remaining(Tokens(16_384)), output_max: Tokens(2_048) }
    }
}
