//! A replica: the way to the database, what it knows without asking, and its acts that are more than one statement's.

use super::commit::{BEGIN_ASYNC, Commit};
use super::database::{Client, Database};
use super::failure::PostgresFailure;
use super::holder::Holder;
use super::schema::Installation;
use super::sql::{self, hot, wide};
use super::{number, read};
use crate::batch::BatchRows;
use crate::live::LiveRow;
use crate::tenants::TenantTable;
use epitome_engine::store::{
    ChainHash, CommitBatch, EventPosition, Lease, MessageLocation, SessionId, StoreError, StoredEvent,
    TenantId,
};
use futures_util::future::try_join3;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Mutex as AsyncMutex;

/// This replica: the way to the database, and what it knows without asking.
pub(super) struct Replica {
    pub(super) database: Arc<Database>,
    pub(super) installation: Installation,
    pub(super) holder: Arc<Holder>,
    tenants: Mutex<TenantTable>,
    /// Held by whoever takes a lease, one for many sessions.
    asking: [AsyncMutex<()>; 64],
    /// The number of the last commit made here.
    committed: AtomicI64,
    /// The next commit is this attempt of the replica's.
    attempts: AtomicI64,
}

/// What was committed here is shown here as soon as nothing that began earlier is under way: mostly commits, of milliseconds.
/// Something longer is not waited for.
const EVENTS_WAIT: Duration = Duration::from_secs(2);
const EVENTS_PAUSE: Duration = Duration::from_millis(5);

impl Replica {
    pub(super) fn new(database: Arc<Database>, installation: Installation, holder: Arc<Holder>) -> Self {
        let (tenants, asking) = (Mutex::default(), std::array::from_fn(|_| AsyncMutex::default()));
        Self {
            database,
            installation,
            holder,
            tenants,
            asking,
            committed: AtomicI64::new(0),
            attempts: AtomicI64::new(1),
        }
    }

    fn tenants(&self) -> MutexGuard<'_, TenantTable> {
        self.tenants.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) async fn leave(&self) -> Result<(), PostgresFailure> {
        let holder = &self.holder;
        self.database.once(|client| async move { holder.leave(&client).await }).await
    }

    /// The number of a tenant; none where nothing is kept for it.
    pub(super) async fn tenant(&self, tenant: TenantId) -> Result<Option<i64>, PostgresFailure> {
        if let Some(number) = self.tenants().number(tenant) {
            return Ok(Some(number));
        }
        let found =
            self.database.repeat(|client| async move { tenant_number(&client, tenant).await }).await?;
        if let Some(number) = found {
            self.tenants().remember(tenant, number);
        }
        Ok(found)
    }

    /// The number of the tenant of a session.
    pub(super) async fn tenant_of(&self, session: SessionId) -> Result<i64, PostgresFailure> {
        if let Some(number) = self.tenants().of_session(session) {
            return Ok(number);
        }
        let found = self.database.repeat(|client| async move { tenant_of(&client, session).await }).await?;
        let found = found.ok_or(StoreError::NoSession(session))?;
        self.tenants().remember_session(session, found);
        Ok(found)
    }

    pub(super) async fn create(&self, tenant: TenantId) -> Result<SessionId, PostgresFailure> {
        let number = self.find_or_make_tenant(tenant).await?;
        // One that is made and not answered for is a session in which nothing was said.
        let made = self.database.repeat(|client| async move { create(&client, number, None).await });
        let Lease { session, .. } = made.await?;
        self.tenants().remember_session(session, number);
        Ok(session)
    }

    /// Makes a session that this replica holds.
    pub(super) async fn begin(&self, tenant: TenantId) -> Result<Lease, PostgresFailure> {
        let number = self.find_or_make_tenant(tenant).await?;
        let holder = &self.holder;
        let made = self.database.repeat(|client| async move {
            if !holder.is_sure() {
                holder.renew(&client).await?;
            }
            create(&client, number, Some(holder.number())).await
        });
        let lease = made.await?;
        self.tenants().remember_session(lease.session, number);
        self.holder.take(lease);
        Ok(lease)
    }

    /// The number of a tenant, which is made where nothing is kept for it yet.
    async fn find_or_make_tenant(&self, tenant: TenantId) -> Result<i64, PostgresFailure> {
        if let Some(number) = self.tenant(tenant).await? {
            return Ok(number);
        }
        self.database.repeat(|client| async move { make_tenant(&client, tenant).await }).await?;
        self.tenant(tenant).await?.ok_or_else(|| PostgresFailure::damaged("a tenant was not made"))
    }

    pub(super) async fn find(
        &self,
        tenant: TenantId,
        chain: &[ChainHash],
    ) -> Result<Option<MessageLocation>, PostgresFailure> {
        let Some(number) = self.tenant(tenant).await? else { return Ok(None) };
        let found =
            self.database.repeat(|client| async move { read::find(&client, number, chain).await }).await?;
        if let Some(place) = found {
            self.tenants().remember_session(place.session, number);
        }
        Ok(found)
    }

    pub(super) async fn trace(
        &self,
        tenant: TenantId,
        chain: &[ChainHash],
    ) -> Result<Vec<Option<MessageLocation>>, PostgresFailure> {
        let Some(number) = self.tenant(tenant).await? else { return Ok(vec![None; chain.len()]) };
        self.database.repeat(|client| async move { read::trace(&client, number, chain).await }).await
    }

    pub(super) async fn commit(
        &self,
        lease: Lease,
        expected: usize,
        batch: CommitBatch,
    ) -> Result<EventPosition, PostgresFailure> {
        let Installation { secret, commit_offset: offset } = self.installation;
        let tenant = self.tenant_of(lease.session).await?;
        let (durability, attempt) = (batch.durability, self.attempts.fetch_add(1, Ordering::Relaxed));
        let rows = Arc::new(BatchRows::new(&secret, batch));
        let commit = Commit { tenant, lease, expected, rows, durability, offset, attempt };
        let committed = commit.carry_out(&self.database).await;
        match &committed {
            Ok(position) => {
                self.committed.fetch_max(position.commit as i64, Ordering::AcqRel);
            }
            Err(PostgresFailure::Refusal(StoreError::Fenced(_) | StoreError::NoSession(_))) => {
                self.holder.lose(lease);
            }
            Err(_) => {}
        }
        committed
    }

    /// Takes the lease of a session, where it is free.
    pub(super) async fn lease(&self, session: SessionId) -> Result<Option<Lease>, PostgresFailure> {
        let tenant = self.tenant_of(session).await?;
        // One of this replica at a time: a second would take a lease that the first is about to be told of.
        let _asking = self.asking[session.0 as usize % self.asking.len()].lock().await;
        let holder = &self.holder;
        let taken = self.database.repeat(|client| async move {
            if !holder.is_sure() {
                holder.renew(&client).await?;
            }
            take_lease(&client, tenant, session, holder).await
        });
        let lease = taken.await?.map(|fence| Lease { session, fence });
        if let Some(lease) = lease {
            self.holder.take(lease);
        }
        Ok(lease)
    }

    /// Nobody else can have what this replica holds while it is sure to be taken for alive.
    pub(super) async fn hold(&self, lease: Lease) -> Result<bool, PostgresFailure> {
        if self.holder.is_sure_of(lease) {
            return Ok(true);
        }
        let tenant = self.tenant_of(lease.session).await?;
        let holder = &self.holder;
        let fence = self.database.repeat(|client| async move {
            holder.renew(&client).await?;
            read::fence(&client, tenant, lease.session).await
        });
        let is_held = fence.await? == Some(lease.fence);
        if is_held {
            self.holder.take(lease);
        }
        Ok(is_held)
    }

    pub(super) async fn release(&self, lease: Lease) -> Result<(), PostgresFailure> {
        self.holder.lose(lease);
        let tenant = self.tenant_of(lease.session).await?;
        self.database.repeat(|client| async move { release(&client, tenant, lease).await }).await
    }

    pub(super) async fn events(&self, since: EventPosition) -> Result<Vec<StoredEvent>, PostgresFailure> {
        let (begun, own) = (Instant::now(), self.committed.load(Ordering::Acquire));
        let offset = self.installation.commit_offset;
        loop {
            let (events, horizon) = self
                .database
                .repeat(|client| async move { read::events(&client, since, offset).await })
                .await?;
            let is_all = horizon > own || since.commit as i64 > own;
            if is_all || begun.elapsed() > EVENTS_WAIT {
                return Ok(events);
            }
            tokio::time::sleep(EVENTS_PAUSE).await;
        }
    }

    pub(super) async fn remove(&self, session: SessionId) -> Result<(), PostgresFailure> {
        let tenant = self.tenant_of(session).await?;
        self.tenants().forget_session(session);
        self.database.repeat(|client| async move { remove(&client, tenant, session).await }).await
    }
}

async fn tenant_number(client: &Client, tenant: TenantId) -> Result<Option<i64>, PostgresFailure> {
    let sql = client.prepare_cached(hot::TENANT).await?;
    let row = client.query_opt(&sql, &[&tenant.0.as_slice()]).await?;
    Ok(row.map(|row| row.try_get(0)).transpose()?)
}

async fn make_tenant(client: &Client, tenant: TenantId) -> Result<(), PostgresFailure> {
    client.execute(hot::MAKE_TENANT, &[&tenant.0.as_slice()]).await?;
    Ok(())
}

async fn tenant_of(client: &Client, session: SessionId) -> Result<Option<i64>, PostgresFailure> {
    let sql = client.prepare_cached(wide::TENANT_OF).await?;
    let row = client.query_opt(&sql, &[&number(session)]).await?;
    Ok(row.map(|row| row.try_get(0)).transpose()?)
}

/// A new session under its first fence.
async fn create(client: &Client, tenant: i64, holder: Option<i64>) -> Result<Lease, PostgresFailure> {
    let sql = client.prepare_cached(hot::CREATE).await?;
    let row = client.query_one(&sql, &[&tenant, &holder]).await?;
    let (session, fence): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
    Ok(Lease { session: read::session_id(session), fence: fence as u64 })
}

/// The fence of a lease that was free: its session had no holder, or one that is gone.
async fn take_lease(
    client: &Client,
    tenant: i64,
    session: SessionId,
    holder: &Holder,
) -> Result<Option<u64>, PostgresFailure> {
    let sql = client.prepare_cached(hot::LEASE).await?;
    let known = holder.fence(session).map_or(-1, |fence| fence as i64);
    let row = client.query_opt(&sql, &[&tenant, &number(session), &holder.number(), &known]).await?;
    Ok(row.map(|row| row.try_get::<_, i64>(0)).transpose()?.map(|fence| fence as u64))
}

async fn release(client: &Client, tenant: i64, lease: Lease) -> Result<(), PostgresFailure> {
    let sql = client.prepare_cached(hot::RELEASE).await?;
    client.execute(&sql, &[&tenant, &number(lease.session), &(lease.fence as i64)]).await?;
    Ok(())
}

/// Keeps what is live of a session, where nobody else has had it since. It is only a short cut: the disk is not waited for.
pub(super) async fn keep_live(
    client: &Client,
    tenant: i64,
    lease: Lease,
    row: &LiveRow,
) -> Result<(), PostgresFailure> {
    let sql = client.prepare_cached(hot::KEEP_LIVE).await?;
    let (session, fence) = (number(lease.session), lease.fence as i64);
    try_join3(
        client.batch_execute(BEGIN_ASYNC),
        client.execute(&sql, &[&tenant, &session, &fence, &row.entries, &row.body, &row.sizes]),
        client.batch_execute("COMMIT"),
    )
    .await?;
    Ok(())
}

async fn remove(client: &Client, tenant: i64, session: SessionId) -> Result<(), PostgresFailure> {
    client.batch_execute("BEGIN").await?;
    let mut removed = None;
    for sql in sql::REMOVE {
        let rows = client.execute(sql, &[&tenant, &number(session)]).await?;
        removed.get_or_insert(rows);
    }
    client.execute(wide::FORGET_MEMOS, &[&session.memo_name("")]).await?;
    client.batch_execute("COMMIT").await?;
    match removed {
        Some(0) | None => Err(StoreError::NoSession(session).into()),
        Some(_) => Ok(()),
    }
}

pub(super) async fn enqueue(
    client: &Client,
    tenant: i64,
    session: SessionId,
    input: &[u8],
) -> Result<u64, PostgresFailure> {
    let sql = client.prepare_cached(hot::ENQUEUE).await?;
    let row = client.query_opt(&sql, &[&tenant, &number(session), &input]).await?;
    Ok(row.ok_or(StoreError::NoSession(session))?.try_get::<_, i64>(0)? as u64)
}

pub(super) async fn keep_memo(
    client: &Client,
    name: &str,
    value: Option<&[u8]>,
) -> Result<(), PostgresFailure> {
    match value {
        Some(value) => client.execute(wide::KEEP_MEMO, &[&name, &value]).await?,
        None => client.execute(wide::FORGET_MEMO, &[&name]).await?,
    };
    Ok(())
}
