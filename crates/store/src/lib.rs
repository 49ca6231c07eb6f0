//! Stores that outlive the process: sessions in one SQLite file, or in a PostgreSQL that several replicas share.
//!
//! Both keep the same tables (`schema/`), and both are held to one suite of tests. Every key begins with the tenant and the
//! session, so that no statement on the way of a request reads another's rows. A batch is one transaction: entries, originals,
//! hashes and events are there together, or none of them is.
//!
//! What is decided about a session is the engine's; here it is kept and found again.

#![warn(missing_debug_implementations)]

mod address;
mod batch;
mod fault;
mod hash;
mod live;
mod packed;
#[cfg(feature = "postgres")]
mod postgres;
mod retention;
mod row;
mod search;
mod session_store;
mod sqlite;
mod standby;
mod tenants;
mod terms;

pub use address::{NoStoreAddress, StoreAddress};
#[cfg(feature = "postgres")]
pub use postgres::{PostgresAddress, PostgresOptions, PostgresStore};
pub use retention::{EXPIRED_MEMOS, ExpiringSession, RetentionLimits, RetentionPlan};
pub use session_store::{
    ListedSession, SessionFilter, SessionStore, StoreFigures, StoreProblem, StoredEntry,
};
pub use sqlite::SqliteStore;
pub use standby::{StandbyNotice, StandbyStore};
