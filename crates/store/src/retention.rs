//! Retention: sessions go from a store whole, the oldest first, by age and by what all of them take. What went is kept for the audit:
//! which, when, how large; nothing of what was said. Sessions that somebody works on stay.

use crate::session_store::{ListedSession, SessionFilter, SessionStore};
use epitome_engine::store::{CommitBatch, SessionId, StoreError};
use serde::Serialize;
use std::collections::HashSet;

/// What names of memos begin with that tell of sessions that went.
pub const EXPIRED_MEMOS: &str = "audit/expired/";
/// Sessions changed so lately are somebody's work; in milliseconds.
const FRESH_MS: u64 = 86_400_000;

/// How long sessions stay, and how much of them. What is not said is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RetentionLimits {
    /// Sessions go that nothing was added to for so long, in milliseconds.
    pub age_max_ms: Option<u64>,
    /// The oldest go until the rest takes no more than this.
    pub bytes_max: Option<u64>,
}

impl RetentionLimits {
    /// Whether there is any.
    pub fn is_none(self) -> bool {
        self == Self::default()
    }
}

/// A session that is to go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ExpiringSession {
    /// It.
    pub session: SessionId,
    /// What it is called.
    pub title: String,
    /// How many entries it has.
    pub entries: usize,
    /// What it takes.
    pub bytes: u64,
    /// When it was changed last, in milliseconds since 1970.
    pub changed_ms: u64,
    /// Whether that was in the last day.
    #[serde(skip)]
    pub is_fresh: bool,
}

/// What is to go, and what would and stays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RetentionPlan {
    /// Sessions that are to go, the oldest first.
    pub going: Vec<ExpiringSession>,
    /// Sessions that would go and stay, because somebody works on them.
    pub held: Vec<SessionId>,
}

impl RetentionPlan {
    /// What is too old or too much in a store.
    ///
    /// # Errors
    /// Where the store does not answer.
    pub async fn of(
        store: &dyn SessionStore,
        limits: RetentionLimits,
        now_ms: u64,
    ) -> Result<Self, StoreError> {
        let mut all = store.list(&SessionFilter::default()).await?;
        all.sort_by_key(|one| (one.changed_ms, one.session));
        let mut sized = Vec::with_capacity(all.len());
        for one in all {
            let bytes = store.session_bytes(one.session).await?;
            sized.push((one, bytes));
        }
        let mut left: u64 = sized.iter().map(|(_, bytes)| bytes).sum();
        let mut plan = Self::default();
        for (listed, bytes) in sized {
            let is_old = limits.age_max_ms.is_some_and(|age| listed.changed_ms.saturating_add(age) <= now_ms);
            let is_over = limits.bytes_max.is_some_and(|limit| left > limit);
            match (is_old || is_over, listed.is_held) {
                (false, _) => {}
                (true, true) => plan.held.push(listed.session),
                (true, false) => {
                    left = left.saturating_sub(bytes);
                    plan.going.push(ExpiringSession::of(listed, bytes, now_ms));
                }
            }
        }
        Ok(plan)
    }

    /// What goes takes so much in all.
    pub fn bytes(&self) -> u64 {
        self.going.iter().map(|one| one.bytes).sum()
    }

    /// Deletes what is to go. A file that others were read from as well is handed on first; that a session went is written down
    /// before, so that nothing goes without a word.
    ///
    /// # Errors
    /// Where the store does not answer; what went until then is gone, and written down.
    pub async fn carry_out(&self, store: &dyn SessionStore, now_ms: u64) -> Result<(), StoreError> {
        let going: HashSet<SessionId> = self.going.iter().map(|one| one.session).collect();
        for one in &self.going {
            hand_on_file(store, one.session, &going).await?;
            let name = format!("{EXPIRED_MEMOS}{now_ms:020}/{}", one.session);
            store.keep_memo(name, Some(one.obituary(now_ms))).await?;
            store.remove(one.session).await?;
        }
        Ok(())
    }
}

impl ExpiringSession {
    fn of(listed: ListedSession, bytes: u64, now_ms: u64) -> Self {
        Self {
            session: listed.session,
            title: listed.about.title,
            entries: listed.entries,
            bytes,
            changed_ms: listed.changed_ms,
            is_fresh: listed.changed_ms.saturating_add(FRESH_MS) > now_ms,
        }
    }

    /// The event that the audit lists of it.
    fn obituary(&self, now_ms: u64) -> Vec<u8> {
        let event = serde_json::json!({
            "event": "session.expired",
            "session": self.session,
            "time_ms": now_ms,
            "entries": self.entries,
            "bytes": self.bytes,
            "changed_ms": self.changed_ms,
        });
        crate::row::json(&event)
    }
}

/// Gives the file that a session keeps to another that was read from it and stays.
async fn hand_on_file(
    store: &dyn SessionStore,
    session: SessionId,
    going: &HashSet<SessionId>,
) -> Result<(), StoreError> {
    let mut others = store.list(&SessionFilter::default()).await?;
    others.retain(|other| other.about.file_in == Some(session.0) && !going.contains(&other.session));
    let Some(keeper) = others.first().map(|other| other.session) else { return Ok(()) };
    let mut file = store.file(session).await?;
    for other in others {
        let mut about = other.about.clone();
        about.file_in = Some(keeper.0).filter(|_| other.session != keeper);
        let file = if other.session == keeper { file.take().map(Into::into) } else { None };
        let batch = CommitBatch { about: Some(about), file, ..CommitBatch::default() };
        commit(store, &other, batch).await?;
    }
    Ok(())
}

async fn commit(
    store: &dyn SessionStore,
    listed: &ListedSession,
    batch: CommitBatch,
) -> Result<(), StoreError> {
    let lease = store.lease(listed.session).await?.ok_or(StoreError::Leased(listed.session))?;
    let done = store.commit(lease, listed.entries, batch).await;
    store.release(lease).await;
    done.map(drop)
}
