//! What an operator is told while the server runs: what happened, of which conversation and model, and how much it
//! matters. Writing it down, with the time, is whoever listens'.

use crate::prefix_watch::PrefixPart;
use epitome_core::{Change, Dollars, EntryId, Record, Tokens, Trigger};
use epitome_engine::store::SessionId;
use serde::Serialize;
use std::fmt;

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OperatorNotice {
    #[serde(flatten)]
    kind: NoticeKind,
    /// The model of the conversation it happened to, where it happened to one.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
}

/// How much a notice matters, least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum NoticeLevel {
    /// Things go as they should.
    Info,
    /// Something did not, and was made good or passed over.
    Warn,
    /// Requests fail.
    Error,
}

impl NoticeLevel {
    /// All of them, least first.
    pub const ALL: [Self; 3] = [Self::Info, Self::Warn, Self::Error];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub(crate) enum NoticeKind {
    /// Its context was rebuilt.
    Compacted {
        session: SessionId,
        before: Tokens,
        after: Tokens,
        trigger: Trigger,
        /// Who wrote the summary, where there is one.
        by: Option<String>,
        #[serde(flatten)]
        shown: ShownCounts,
        cost: Dollars,
        duration_ms: u64,
    },
    /// Its context would have been rebuilt, and was not.
    Observed { session: SessionId, before: Tokens, after: Tokens, trigger: Trigger },
    /// Its refused request would have been sent once more, and was not.
    WouldResend { session: SessionId, recovery: &'static str },
    /// A compaction that was made for another request, or another branch, was put to use.
    Applied { session: SessionId, of: EntryId, before: Tokens, after: Tokens },
    /// The provider refused it as too long.
    TooLong { session: SessionId },
    /// What there is to know beside the figures.
    Remark { session: SessionId, what: String },
    /// Its requests begin with something else each time.
    VolatilePrefix { session: SessionId, part: PrefixPart },
    /// It could not be compacted.
    Failed { session: SessionId, why: String },
    /// A request went out as it came, because something in it was not understood or failed.
    PassedOn { why: String },
    /// A request was not sent at all: its path, its key or the upstream does not go with the others.
    Refused { why: String },
    /// The base URL that an agent was given is wrong in a way that can be put right.
    BaseUrl { asked: String, fault: &'static str, served: String },
    /// A provider is not there; said once for each outage.
    Unreachable { upstream: String, why: String },
    /// It may be there, and gives no answer; the same.
    Unanswered { upstream: String, why: String },
    /// It answers again.
    Reachable { upstream: String },
}

/// How many messages a compaction shows otherwise than they were, or no more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct ShownCounts {
    /// Cut to head and tail.
    reduced: usize,
    /// With a pointer in place of their bulk.
    pruned: usize,
    /// Out of view, and covered by no summary.
    dropped: usize,
}

impl ShownCounts {
    fn of(change: &Change) -> Self {
        let Change { reduced, pruned, dropped, .. } = change;
        Self { reduced: reduced.len(), pruned: pruned.len(), dropped: dropped.len() }
    }
}

/// What was done to make room where nothing was summarised.
impl fmt::Display for ShownCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let done = [
            (self.reduced, "cut to head and tail"),
            (self.pruned, "pruned to a pointer"),
            (self.dropped, "dropped"),
        ];
        let done = done
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, how)| format!("{count} message{} {how}", if count == 1 { "" } else { "s" }));
        let done: Vec<String> = done.collect();
        f.write_str(if done.is_empty() { "no summary" } else { "" })?;
        f.write_str(&done.join(", "))
    }
}

impl NoticeKind {
    /// A compaction, as its record tells of it.
    pub(crate) fn compacted(session: SessionId, record: &Record) -> Self {
        Self::Compacted {
            session,
            before: record.tokens_before,
            after: record.tokens_after,
            trigger: record.trigger,
            by: record.change().and_then(|change| change.summarizer.clone()),
            shown: record.change().map(ShownCounts::of).unwrap_or_default(),
            cost: record.cost,
            duration_ms: record.duration_ms,
        }
    }

    /// A compaction that was not made, as its record tells of it.
    pub(crate) fn observed(session: SessionId, record: &Record) -> Self {
        let (before, after, trigger) = (record.tokens_before, record.tokens_after, record.trigger);
        Self::Observed { session, before, after, trigger }
    }

    /// The conversation it is about.
    pub(crate) fn session(&self) -> Option<SessionId> {
        match self {
            Self::Compacted { session, .. }
            | Self::Observed { session, .. }
            | Self::WouldResend { session, .. }
            | Self::Applied { session, .. }
            | Self::TooLong { session }
            | Self::Remark { session, .. }
            | Self::VolatilePrefix { session, .. }
            | Self::Failed { session, .. } => Some(*session),
            Self::PassedOn { .. }
            | Self::Refused { .. }
            | Self::BaseUrl { .. }
            | Self::Unreachable { .. }
            | Self::Unanswered { .. }
            | Self::Reachable { .. } => None,
        }
    }

    /// The same with the model of its conversation.
    pub(crate) fn with_model(self, model: Option<String>) -> OperatorNotice {
        OperatorNotice { kind: self, model }
    }
}

impl From<NoticeKind> for OperatorNotice {
    fn from(kind: NoticeKind) -> Self {
        kind.with_model(None)
    }
}

impl OperatorNotice {
    /// How much it matters.
    pub fn level(&self) -> NoticeLevel {
        match &self.kind {
            NoticeKind::Compacted { .. }
            | NoticeKind::Observed { .. }
            | NoticeKind::Applied { .. }
            | NoticeKind::Reachable { .. } => NoticeLevel::Info,
            NoticeKind::TooLong { .. }
            | NoticeKind::WouldResend { .. }
            | NoticeKind::Remark { .. }
            | NoticeKind::VolatilePrefix { .. }
            | NoticeKind::Failed { .. }
            | NoticeKind::PassedOn { .. }
            | NoticeKind::BaseUrl { .. } => NoticeLevel::Warn,
            NoticeKind::Unreachable { .. } | NoticeKind::Unanswered { .. } | NoticeKind::Refused { .. } => {
                NoticeLevel::Error
            }
        }
    }

    /// The model of the conversation it happened to.
    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }
}

impl fmt::Display for OperatorNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            NoticeKind::Compacted { session, before, after, trigger, by, shown, cost, duration_ms } => {
                write!(
                    f,
                    "{session}: compacted from {before} to {after} tokens ({}",
                    trigger_text(*trigger)
                )?;
                match (by, cost) {
                    (Some(by), Dollars(Some(0.0))) => write!(f, "; by {by}, free")?,
                    (Some(by), cost) => write!(f, "; by {by}, {cost}")?,
                    (None, _) => write!(f, "; {shown}")?,
                }
                write!(f, "; {duration_ms} ms)")
            }
            NoticeKind::Applied { session, of, before, after } => {
                write!(f, "{session}: {of} put to use again, from {before} to {after} tokens")
            }
            NoticeKind::Observed { session, before, after, trigger } => write!(
                f,
                "{session}: would have compacted from {before} to {after} tokens ({}); sent as it came",
                trigger_text(*trigger)
            ),
            NoticeKind::WouldResend { session, recovery } => {
                write!(
                    f,
                    "{session}: refused, and would have been sent once more ({recovery}); passed back as it came"
                )
            }
            NoticeKind::TooLong { session } => write!(f, "{session}: too long for the provider"),
            NoticeKind::Remark { session, what } => write!(f, "{session}: {what}"),
            NoticeKind::VolatilePrefix { session, part } => write!(f, "{session}: {part}"),
            NoticeKind::Failed { session, why } => write!(f, "{session}: not compacted: {why}"),
            NoticeKind::PassedOn { why } => write!(f, "passed on untouched: {why}"),
            // Faults begin with our name, for whoever sees them among a provider's errors.
            NoticeKind::Refused { why } => write!(f, "refused: {}", why.trim_start_matches("epitome: ")),
            NoticeKind::BaseUrl { asked, fault, served } => {
                write!(f, "{asked}: the base URL that the agent was given {fault}; served as {served}")
            }
            NoticeKind::Unreachable { upstream, why } => {
                write!(f, "cannot reach the provider at {upstream}: {why}; check the network and the address")
            }
            NoticeKind::Unanswered { upstream, why } => {
                write!(f, "the provider at {upstream} gave no answer: {why}; it may have taken the request")
            }
            NoticeKind::Reachable { upstream } => write!(f, "the provider at {upstream} answers again"),
        }
    }
}

/// Why a compaction ran, in few words.
fn trigger_text(trigger: Trigger) -> &'static str {
    match trigger {
        Trigger::Manual => "someone asked",
        Trigger::Threshold => "threshold reached",
        Trigger::Overflow => "too long for the provider",
        Trigger::Requested => "a hook or tool asked",
        Trigger::Idle => "idle",
        Trigger::Messages => "too many messages",
        Trigger::Bytes => "too many bytes",
        Trigger::Media => "too many pictures",
        Trigger::Downshift => "a model with a smaller window",
    }
}
