//! Names: of sessions and their owners, of places in them, of events.

use epitome_core::EntryId;
use serde::Serialize;
use std::fmt;
use std::str::FromStr;

/// The name of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId(pub u64);

impl SessionId {
    /// The name of a memo that belongs to the session, and is forgotten with it; with nothing behind it, what the names of all of them
    /// begin with.
    pub fn memo_name(self, what: &str) -> String {
        format!("of {self} {what}")
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s{:04}", self.0)
    }
}

impl FromStr for SessionId {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let digits = text.strip_prefix('s').filter(|digits| digits.bytes().all(|one| one.is_ascii_digit()));
        let number = digits.and_then(|digits| digits.parse().ok());
        number.map(Self).ok_or_else(|| format!("`{text}` is no session; one looks like s0001"))
    }
}

impl serde::Serialize for SessionId {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

/// Whose sessions these are: an authenticated principal, or the keyed hash of a credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TenantId(pub [u8; 32]);

impl TenantId {
    /// Whoever works on files of this machine.
    pub const LOCAL: Self = Self([0; 32]);
}

/// Everything said on a path up to one message, as one keyed hash: how a request finds the session it goes on with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ChainHash(pub [u8; 32]);

/// A place in a stored session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageLocation {
    /// The session.
    pub session: SessionId,
    /// The message.
    pub entry: EntryId,
    /// How many of the hashes asked for it stands for.
    pub depth: usize,
}

/// Where an event stands among all events of a store: by the commit it came with, and its place in that. Commits are
/// numbered in the order in which they can be seen, with gaps; before the first stands the default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct EventPosition {
    /// The commit.
    pub commit: u64,
    /// The event's place in it, counted from 1; 0 stands before all of them.
    pub index: u32,
}

impl fmt::Display for EventPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.commit, self.index)
    }
}

impl Serialize for EventPosition {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl FromStr for EventPosition {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let (commit, index) = text.split_once('.').unwrap_or((text, "0"));
        match (commit.parse(), index.parse()) {
            (Ok(commit), Ok(index)) => Ok(Self { commit, index }),
            (Err(_), _) | (_, Err(_)) => {
                Err(format!("`{text}` is no position; one looks like 12.1, and 0 is before all"))
            }
        }
    }
}
