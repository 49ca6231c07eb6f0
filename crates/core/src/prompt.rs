//! What a summariser is told to do. The texts are the operator's; these are their places.

use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The prompts of one policy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prompts {
    /// The summariser's system prompt.
    pub system: Arc<str>,
    /// For a first summary.
    pub first: Arc<str>,
    /// For bringing the summary made before up to date.
    pub update: Arc<str>,
    /// For the beginning of a turn whose end stays in view.
    pub prefix: Arc<str>,
    /// For a branch that is being left.
    pub branch: Arc<str>,
}
