//! The tables of a file: made where it is new, brought forward where an earlier version wrote it, refused where a later did.
//! Migrations only go forward; each is one transaction with the number that says it was made.

use crate::fault::of_sqlite;
use crate::hash::Secret;
use epitome_engine::store::{FaultKind, StoreError, StoreFault};
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior};

/// What each version changed, oldest first. What stands here was released: later changes are new migrations.
const MIGRATIONS: &[&str] =
    &[include_str!("../../schema/sqlite/0001.sql"), include_str!("../../schema/sqlite/0002.sql")];

/// Brings a file's tables to this version; its secret.
pub(super) fn migrate(connection: &mut Connection) -> Result<Secret, StoreError> {
    if version(connection)? < MIGRATIONS.len() {
        // Others may be at it: whoever comes second finds it done.
        let transaction =
            connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(of_sqlite)?;
        for (at, sql) in MIGRATIONS.iter().enumerate().skip(version(&transaction)?) {
            transaction.execute_batch(sql).map_err(of_sqlite)?;
            transaction.pragma_update(None, "user_version", at as i64 + 1).map_err(of_sqlite)?;
        }
        make_secret(&transaction)?;
        transaction.commit().map_err(of_sqlite)?;
    }
    stored_secret(connection)?.ok_or_else(no_secret)
}

/// The secret of a file whose tables are of this version; nothing is brought forward.
pub(super) fn secret_of_current(connection: &Connection) -> Result<Secret, StoreError> {
    let version = version(connection)?;
    if version < MIGRATIONS.len() {
        let what = format!(
            "the store is of version {version}, and must be written once to be of {}",
            MIGRATIONS.len()
        );
        return Err(StoreError::Fault(StoreFault { kind: FaultKind::ReadOnly, what }));
    }
    stored_secret(connection)?.ok_or_else(no_secret)
}

fn no_secret() -> StoreError {
    let what = "the store has no secret, so nothing in it can be found".into();
    StoreError::Fault(StoreFault { kind: FaultKind::Damaged, what })
}

/// The version of a file's tables.
pub(super) fn version(connection: &Connection) -> Result<usize, StoreError> {
    let version: i64 =
        connection.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(of_sqlite)?;
    match usize::try_from(version) {
        Ok(version) if version <= MIGRATIONS.len() => Ok(version),
        Ok(_) | Err(_) => Err(StoreError::Fault(StoreFault {
            kind: FaultKind::Newer,
            what: format!("the store is of version {version}, and this program knows {}", MIGRATIONS.len()),
        })),
    }
}

fn make_secret(transaction: &Transaction<'_>) -> Result<(), StoreError> {
    if stored_secret(transaction)?.is_none() {
        let secret = Secret::new()?;
        transaction
            .execute("INSERT INTO installation (name, value) VALUES ('secret', ?1)", [secret.0])
            .map_err(of_sqlite)?;
    }
    Ok(())
}

fn stored_secret(connection: &Connection) -> Result<Option<Secret>, StoreError> {
    let found: Option<Vec<u8>> = connection
        .query_row("SELECT value FROM installation WHERE name = 'secret'", [], |row| row.get(0))
        .optional()
        .map_err(of_sqlite)?;
    Ok(found.map(|bytes| Secret::stored(&bytes)).transpose()?)
}
