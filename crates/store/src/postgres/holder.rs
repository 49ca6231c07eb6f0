//! Leases, as a replica holds them: it says from time to time that it lives, in one row for all its sessions, and they are its
//! own while it does. Time is the database's, so that replicas need not agree on it; how long a replica may be sure is counted
//! by its own clock, from before it asked.

use super::database::{Client, Database};
use super::failure::PostgresFailure;
use super::sql;
use epitome_engine::store::{Lease, SessionId};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

/// This replica among those that hold leases.
#[derive(Debug)]
pub(super) struct Holder {
    number: i64,
    /// Who it is, for whoever looks at the table.
    process: String,
    lease_time: Duration,
    hold: Mutex<Hold>,
}

/// What a replica may be sure of.
#[derive(Debug)]
struct Hold {
    until: Instant,
    fences: HashMap<SessionId, u64>,
}

impl Holder {
    /// Enters this replica.
    pub(super) async fn enter(client: &Client, lease_time: Duration) -> Result<Self, PostgresFailure> {
        client.execute(sql::holder::STRIKE, &[]).await?;
        let until = Instant::now() + lease_time;
        let process = format!("{} {}", host(), std::process::id());
        let row = client.query_one(sql::holder::ENTER, &[&process, &milliseconds(lease_time)]).await?;
        let hold = Mutex::new(Hold { until, fences: HashMap::new() });
        Ok(Self { number: row.try_get(0)?, process, lease_time, hold })
    }

    pub(super) fn number(&self) -> i64 {
        self.number
    }

    /// It says so this often that it lives: two may go amiss.
    pub(super) fn renewal_time(&self) -> Duration {
        self.lease_time * 3 / 10
    }

    /// Whether it is certain to be taken for alive.
    pub(super) fn is_sure(&self) -> bool {
        Instant::now() + self.renewal_time() < self.hold().until
    }

    /// Whether a lease is certain to be its own still, without asking anybody.
    pub(super) fn is_sure_of(&self, lease: Lease) -> bool {
        self.is_sure() && self.hold().fences.get(&lease.session) == Some(&lease.fence)
    }

    /// The fence of the lease that somebody of this replica has on a session.
    pub(super) fn fence(&self, session: SessionId) -> Option<u64> {
        self.hold().fences.get(&session).copied()
    }

    /// Takes note of a lease that was taken.
    pub(super) fn take(&self, lease: Lease) {
        self.hold().fences.insert(lease.session, lease.fence);
    }

    /// Takes note of a lease that is not its own any more.
    pub(super) fn lose(&self, lease: Lease) {
        let fences = &mut self.hold().fences;
        if fences.get(&lease.session) == Some(&lease.fence) {
            fences.remove(&lease.session);
        }
    }

    /// Says that it lives.
    pub(super) async fn renew(&self, client: &Client) -> Result<(), PostgresFailure> {
        let until = Instant::now() + self.lease_time;
        let renew = client.prepare_cached(sql::holder::RENEW).await?;
        client.execute(&renew, &[&self.number, &self.process, &milliseconds(self.lease_time)]).await?;
        self.renewed(until);
        Ok(())
    }

    fn renewed(&self, until: Instant) {
        let mut hold = self.hold();
        if hold.until < Instant::now() {
            // Others may have taken any of them meanwhile.
            hold.fences.clear();
        }
        hold.until = until;
    }

    /// Gives everything back.
    pub(super) async fn leave(&self, client: &Client) -> Result<(), PostgresFailure> {
        *self.hold() = Hold { until: Instant::now(), fences: HashMap::new() };
        client.execute(sql::holder::LEAVE, &[&self.number]).await?;
        Ok(())
    }

    fn hold(&self) -> MutexGuard<'_, Hold> {
        self.hold.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Renews a holder for as long as somebody has the store open. What fails is tried again next time: leases last three times
/// as long.
pub(super) async fn renew_always(database: Database, holder: Weak<Holder>) {
    while let Some(holder) = holder.upgrade() {
        let this = &holder;
        drop(database.once(|client| async move { this.renew(&client).await }).await);
        let pause = holder.renewal_time();
        drop(holder);
        tokio::time::sleep(pause).await;
    }
}

fn milliseconds(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

fn host() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.trim().to_owned()
}
