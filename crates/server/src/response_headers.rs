//! Headers of a reply that say what was done to its request. All of them are ours and say what we know before the provider has
//! answered, so that a stream has them too. A reply to a request that passed through has none.

use crate::totals::RequestSize;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use epitome_core::{Outcome, Record, Tokens};
use epitome_engine::store::SessionId;

/// The session that the request was taken up by.
const SESSION: HeaderName = HeaderName::from_static("x-epitome-session");
/// What was sent, by our count.
const INPUT: HeaderName = HeaderName::from_static("x-epitome-input-tokens");
/// What the request has as its client sent it.
pub(crate) const ORIGINAL: HeaderName = HeaderName::from_static("x-epitome-original-input-tokens");
/// The compaction that was made for the request, or that it is shown by.
const COMPACTION: HeaderName = HeaderName::from_static("x-epitome-compaction");
/// What was done after a refusal.
const RECOVERY: HeaderName = HeaderName::from_static("x-epitome-recovery");
/// That nothing was done, and the others say what would have been.
const OBSERVE: HeaderName = HeaderName::from_static("x-epitome-observe");

/// What was done to a request. Nothing, where it went out as it came without being taken up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DoneHeaders {
    /// The session it was taken up by, and what it has.
    pub(crate) taken_up: Option<(SessionId, RequestSize)>,
    pub(crate) compaction: CompactionUse,
    /// What was done after a refusal.
    pub(crate) recovery: Option<&'static str>,
    pub(crate) is_observing: bool,
}

/// What a compaction has to do with a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum CompactionUse {
    /// There is none.
    #[default]
    None,
    /// An earlier one is in use.
    InUse,
    /// One was made for it.
    Made { before: Tokens, after: Tokens },
    /// One made for another request was put to use for it.
    Applied { before: Tokens, after: Tokens },
}

impl CompactionUse {
    /// What a record says was done; nothing where it changed nothing.
    pub(crate) fn of(record: &Record) -> Option<Self> {
        let (before, after) = (record.tokens_before, record.tokens_after);
        match record.outcome {
            Outcome::Compacted(_) | Outcome::Pruned(_) => Some(Self::Made { before, after }),
            Outcome::Applied { .. } => Some(Self::Applied { before, after }),
            Outcome::Recorded
            | Outcome::Noop { .. }
            | Outcome::Vetoed { .. }
            | Outcome::Abandoned { .. }
            | Outcome::Impossible(_) => None,
        }
    }

    fn text(self, size: RequestSize, is_observing: bool) -> Option<String> {
        let shown = if is_observing { size.observed } else { size.sent };
        let (word, before, after) = match self {
            Self::None => return None,
            Self::InUse => ("in-use", size.whole, shown),
            Self::Made { before, after } => ("made", before, after),
            Self::Applied { before, after } => ("applied", before, after),
        };
        Some(format!("{word}; before={}; after={}", before.0, after.0))
    }
}

impl DoneHeaders {
    /// What is said of a request that was refused and is sent once more. A compaction made for its first sending was made for this
    /// request, though the second one finds it in use.
    pub(crate) fn after_refusal(self, first: &Self, recovery: &'static str) -> Self {
        let compaction = match (self.compaction, first.compaction) {
            (CompactionUse::InUse, made @ (CompactionUse::Made { .. } | CompactionUse::Applied { .. })) => {
                made
            }
            (compaction, _) => compaction,
        };
        Self { compaction, recovery: Some(recovery), ..self }
    }

    /// Puts them among the headers of a reply, in place of any of these names that a provider may have sent.
    pub(crate) fn write(&self, headers: &mut HeaderMap) {
        for name in [SESSION, INPUT, ORIGINAL, COMPACTION, RECOVERY, OBSERVE] {
            headers.remove(name);
        }
        let mut put = |name: HeaderName, value: String| {
            headers.extend(HeaderValue::from_str(&value).ok().map(|value| (name, value)));
        };
        if let Some((session, size)) = self.taken_up {
            put(SESSION, session.to_string());
            put(INPUT, size.sent.0.to_string());
            put(ORIGINAL, size.whole.0.to_string());
            self.compaction.text(size, self.is_observing).into_iter().for_each(|text| put(COMPACTION, text));
        }
        self.recovery.into_iter().for_each(|recovery| put(RECOVERY, recovery.to_owned()));
        if self.is_observing {
            put(OBSERVE, "true".to_owned());
        }
    }
}
