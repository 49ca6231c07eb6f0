//! What a store keeps of a session beside its entries, for those who look for one.

use serde::{Deserialize, Serialize};

/// What is known of a session. What nobody said is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct SessionAbout {
    /// How it came into the store.
    pub origin: SessionOrigin,
    /// What it is called.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// The model of its newest call.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// The agent it is of, as a path of names.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub agent: String,
    /// The protocol or the transcript format it came in.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub form: String,
    /// The folder it was worked in.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub project: String,
    /// What the proxy keeps of it beside its entries, in a form of its own.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub proxy_state: String,
    /// What one conversation of many in its file it is, where it is of a file with several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation: Option<usize>,
    /// The session that keeps the file it was read from, where that is another: of the conversations of one file, one does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_in: Option<u64>,
    /// Where it was forked from, where it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fork: Option<ForkOrigin>,
}

/// The session that another began as, and how much of it: what was spent there was paid there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForkOrigin {
    /// The session's number.
    pub session: u64,
    /// So many entries were taken over.
    pub entries: usize,
}

/// How a session came into a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SessionOrigin {
    /// By an agent's requests, through the proxy.
    Proxy,
    /// From a transcript.
    Import,
    /// By whoever embeds the library, or the API.
    #[default]
    Api,
}
