//! What was wrong with a try of a summary call, for the record and for the model that is asked again.

use crate::Tokens;

/// What was wrong with the last try.
#[derive(Clone, Debug)]
pub(super) enum Complaint {
    /// An answer of no use; the model is told why.
    Answer(String),
    /// No answer. Why not is the provider's word, and no business of the model's: it may name keys and accounts.
    NoAnswer(String),
}

impl Complaint {
    /// For the record.
    pub(super) fn why(&self) -> &str {
        match self {
            Self::Answer(why) | Self::NoAnswer(why) => why,
        }
    }

    /// For the model.
    pub(super) fn told(&self) -> &str {
        match self {
            Self::Answer(why) => why,
            Self::NoAnswer(_) => "no answer came",
        }
    }
}

/// What was wrong with a call.
pub(super) enum CallProblem {
    Stopped,
    TooLong(Option<Tokens>),
    /// Asked otherwise, there may be one.
    Failed(Complaint),
    /// However it is asked, there will be no answer.
    Hopeless(String),
}
