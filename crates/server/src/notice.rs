//! What an operator is told while the server runs.

use epitome_core::{EntryId, Tokens};
use epitome_engine::store::SessionId;
use std::fmt;

/// Something that happened to a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperatorNotice(NoticeKind);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NoticeKind {
    /// Its context was rebuilt.
    Compacted { session: SessionId, before: Tokens, after: Tokens },
    /// A compaction that was made for another request, or another branch, was put to use.
    Applied { session: SessionId, of: EntryId, before: Tokens, after: Tokens },
    /// The provider refused it as too long.
    TooLong { session: SessionId },
    /// What there is to know beside the figures.
    Remark { session: SessionId, what: String },
    /// It could not be compacted.
    Failed { session: SessionId, why: String },
    /// A request went out as it came, because something in it was not understood or failed.
    PassedOn { why: String },
}

impl From<NoticeKind> for OperatorNotice {
    fn from(what: NoticeKind) -> Self {
        Self(what)
    }
}

impl fmt::Display for OperatorNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            NoticeKind::Compacted { session, before, after } => {
                write!(f, "{session}: compacted from {before} to {after} tokens")
            }
            NoticeKind::Applied { session, of, before, after } => {
                write!(f, "{session}: {of} put to use again, from {before} to {after} tokens")
            }
            NoticeKind::TooLong { session } => write!(f, "{session}: too long for the provider"),
            NoticeKind::Remark { session, what } => write!(f, "{session}: {what}"),
            NoticeKind::Failed { session, why } => write!(f, "{session}: not compacted: {why}"),
            NoticeKind::PassedOn { why } => write!(f, "passed on untouched: {why}"),
        }
    }
}
