//! Connections to a database, each with limits of its own on how long it waits and is waited for. What may be done twice is done
//! once more where a connection was lost on the way.

use super::address::PostgresAddress;
use super::failure::PostgresFailure;
use deadpool_postgres::{
    ClientWrapper, Hook, HookError, Manager, ManagerConfig, Object, Pool, RecyclingMethod, Runtime,
};
use epitome_engine::store::{FaultKind, StoreError, StoreFault};
use std::sync::Arc;
use std::time::Duration;
use tokio_postgres::NoTls;
use tokio_postgres::config::SslMode;
use tokio_postgres_rustls::MakeRustlsConnect;

/// A connection, with the statements it knows.
pub(super) type Client = ClientWrapper;
/// The same, taken from those that are free.
pub(super) type Connection = Arc<Object>;

/// A database may be at a checkpoint, or another machine may just have taken over from it.
const CONNECT_TIME: Duration = Duration::from_secs(5);
/// Longer than any statement may take by [`SETTINGS`]: past it nobody is there.
const ANSWER_TIME: Duration = Duration::from_secs(40);
/// Between a lost connection and the next try.
const RETRY_PAUSE: Duration = Duration::from_millis(200);
/// What every connection begins with. A transaction that its replica does not go on with ends before the replica's leases do:
/// others could not take them over while it locks the session.
///
/// Statements go by key, whatever their values: they are planned once for each connection. Planned anew at each call, as PostgreSQL
/// would by its estimate of ten elements for any array, a commit takes three times as long; and a plan made while tables are small must be one
/// for large ones, so that a table is read whole only where it has no index for what is asked.
const SETTINGS: &str = "SET search_path = epitome; SET statement_timeout = '30s'; SET lock_timeout = '10s';
    SET idle_in_transaction_session_timeout = '5s'; SET default_transaction_isolation = 'read committed';
    SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET jit = off";

/// The way to a database.
pub(super) struct Database {
    pool: Pool,
    place: String,
}

impl Database {
    /// A database, not looked at yet.
    pub(super) fn new(address: &PostgresAddress, connections_max: usize) -> Result<Self, StoreError> {
        let mut config = address.config().clone();
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIME);
        }
        config.keepalives_idle(Duration::from_secs(15)).tcp_user_timeout(ANSWER_TIME);
        if config.get_application_name().is_none() {
            config.application_name("epitome");
        }
        let ways = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let settings = Hook::async_fn(|client: &mut Client, _| {
            Box::pin(async move { client.batch_execute(SETTINGS).await.map_err(HookError::Backend) })
        });
        let connections = match config.get_ssl_mode() {
            SslMode::Require => Manager::from_config(config, encryption()?, ways),
            // What a server offers by itself is mostly a certificate that nobody can check.
            _ => Manager::from_config(config, NoTls, ways),
        };
        let pool = Pool::builder(connections)
            .max_size(connections_max)
            .wait_timeout(Some(ANSWER_TIME))
            .create_timeout(Some(CONNECT_TIME * 2))
            .runtime(Runtime::Tokio1)
            .post_create(settings)
            .build();
        let what = |error| format!("no connections to {address} can be made ({error})");
        let pool = pool.map_err(|error| StoreFault { kind: FaultKind::Other, what: what(error) })?;
        Ok(Self { pool, place: address.to_string() })
    }

    /// Where it is, without the password.
    pub(super) fn place(&self) -> &str {
        &self.place
    }

    /// Does what may be done twice, and does it once more where that may help.
    pub(super) async fn repeat<T, F>(&self, act: impl Fn(Connection) -> F) -> Result<T, PostgresFailure>
    where
        F: Future<Output = Result<T, PostgresFailure>>,
    {
        match self.once(&act).await {
            Err(failure) if failure.is_passing() => {
                tokio::time::sleep(RETRY_PAUSE).await;
                self.once(&act).await
            }
            other => other,
        }
    }

    /// Does something.
    pub(super) async fn once<T, F>(&self, act: impl FnOnce(Connection) -> F) -> Result<T, PostgresFailure>
    where
        F: Future<Output = Result<T, PostgresFailure>>,
    {
        let within = async |work: F| {
            let acted = tokio::time::timeout(ANSWER_TIME, work).await;
            acted.unwrap_or(Err(PostgresFailure::Silence(ANSWER_TIME)))
        };
        self.on_connection(|client| within(act(client))).await
    }

    /// Does something that may take any time, as tables that are changed.
    pub(super) async fn patiently<T, F>(
        &self,
        act: impl FnOnce(Connection) -> F,
    ) -> Result<T, PostgresFailure>
    where
        F: Future<Output = Result<T, PostgresFailure>>,
    {
        self.on_connection(act).await
    }

    async fn on_connection<T, F>(&self, act: impl FnOnce(Connection) -> F) -> Result<T, PostgresFailure>
    where
        F: Future<Output = Result<T, PostgresFailure>>,
    {
        let client = Arc::new(self.pool.get().await?);
        let acted = act(client.clone()).await;
        match acted {
            Ok(_) | Err(PostgresFailure::Refusal(_)) => {}
            // It may be lost, in the middle of a transaction, or at a server that is none to write to any more.
            Err(_) => drop(Arc::into_inner(client).map(Object::take)),
        }
        acted
    }

    /// Closes all connections.
    pub(super) fn close(&self) {
        self.pool.close();
    }
}

/// Encryption to servers whose certificate this machine trusts.
fn encryption() -> Result<MakeRustlsConnect, StoreFault> {
    let trusted = MakeRustlsConnect::with_native_certs();
    let (connect, _unreadable) = trusted.map_err(|_| StoreFault {
        kind: FaultKind::Other,
        what: "this machine trusts no certificates, and sslmode=require needs some (SSL_CERT_FILE names a file of them)".into(),
    })?;
    Ok(connect)
}
