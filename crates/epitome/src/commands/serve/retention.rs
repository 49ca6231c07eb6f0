//! Retention while a server runs: at its start and then from time to time, what is too old or too much goes, and the log says which.
//! What was changed in the last day stays, whatever the limits say; that is said too.

use super::log::ServerLog;
use crate::clock::WallClock;
use crate::{bytes_text, draw};
use epitome_engine::Clock as _;
use epitome_engine::store::{SessionId, StoreError};
use epitome_server::NoticeLevel;
use epitome_settings::StoreSettings;
use epitome_store::{RetentionLimits, RetentionPlan, SessionStore};
use std::sync::Arc;
use std::time::Duration;

/// How often is looked; limits speak of hours and days.
const LOOK_EVERY: Duration = Duration::from_secs(3_600);
/// So long servers have to give up sessions that they are not at work on, this one among them; they look ten times a second.
const HOLDERS_TIME: Duration = Duration::from_secs(1);

/// Looks after a store for as long as it is polled; without limits nothing goes.
pub(super) async fn watch(store: Arc<dyn SessionStore>, settings: StoreSettings, log: ServerLog) {
    let limits = RetentionLimits { age_max_ms: settings.expire_after_ms, bytes_max: settings.size_max_bytes };
    if limits.is_none() {
        return;
    }
    let clock = WallClock::start();
    loop {
        match expire(&*store, limits, clock.unix_ms().unwrap_or_default()).await {
            Ok(passed) => passed.tell(log),
            Err(error) => log.say(NoticeLevel::Warn, &format!("old sessions could not be deleted: {error}")),
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// What came of one look.
struct RetentionPass {
    plan: RetentionPlan,
    /// Sessions that would go and stay, as they were changed in the last day.
    fresh: Vec<SessionId>,
}

async fn expire(
    store: &dyn SessionStore,
    limits: RetentionLimits,
    now_ms: u64,
) -> Result<RetentionPass, StoreError> {
    let mut plan = RetentionPlan::of(store, limits, now_ms).await?;
    if !plan.held.is_empty() {
        for &session in &plan.held {
            store.want(session).await?;
        }
        tokio::time::sleep(HOLDERS_TIME).await;
        for &session in &plan.held {
            store.want_no_more(session).await?;
        }
        plan = RetentionPlan::of(store, limits, now_ms).await?;
    }
    let fresh = plan.going.iter().filter(|one| one.is_fresh).map(|one| one.session).collect();
    plan.going.retain(|one| !one.is_fresh);
    plan.carry_out(store, now_ms).await?;
    Ok(RetentionPass { plan, fresh })
}

impl RetentionPass {
    fn tell(&self, log: ServerLog) {
        let Self { plan, fresh } = self;
        for one in &plan.going {
            let (entries, bytes) = (draw::entries(one.entries), bytes_text::size(one.bytes));
            log.say(
                NoticeLevel::Warn,
                &format!("{} was deleted, {entries}, {bytes}: it was too old, or too much", one.session),
            );
        }
        let list =
            |sessions: &[SessionId]| sessions.iter().map(SessionId::to_string).collect::<Vec<_>>().join(", ");
        if !fresh.is_empty() {
            log.say(
                NoticeLevel::Info,
                &format!("{} would go and stays, changed in the last day", list(fresh)),
            );
        }
        if !plan.held.is_empty() {
            log.say(
                NoticeLevel::Info,
                &format!("{} would go and stays, as it is worked on", list(&plan.held)),
            );
        }
    }
}
