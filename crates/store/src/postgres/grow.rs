//! The statement that grows a session: it checks what must hold, moves the session's row and appends entries, or does nothing. One
//! with scalars for a batch of one entry, one with arrays for all others.

use super::commit::Commit;
use super::database::Client;
use super::failure::PostgresFailure;
use super::number;
use super::sql::hot;
use crate::batch::{BatchRows, EntryRow, Support};
use crate::hash::BodyHash;
use epitome_core::EntryId;
use epitome_engine::BoxFuture;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, Row};

/// A statement that grows a session, ready to be sent: a row where it did.
pub(super) type GrowStatement<'a> = BoxFuture<'a, Result<Option<Row>, Error>>;

/// The one entry of a batch, with all that is said in it.
pub(super) struct SingleEntry<'a> {
    row: &'a EntryRow,
    /// The kinds its parent may be of, a bit for each.
    parent_kinds: i64,
    apart: Option<&'a (BodyHash, Vec<u8>)>,
}

impl<'a> SingleEntry<'a> {
    /// Of a batch; none where it has other than one entry, or that leans on another than its parent.
    pub(super) fn of(rows: &'a BatchRows, supports: &[Support]) -> Option<Self> {
        let ([row], []) = (&rows.entries[..], rows.bodies.get(1..).unwrap_or_default()) else { return None };
        let parent_kinds = match (supports, row.parent) {
            ([], None) => 0,
            ([support], Some(parent)) if support.entry == parent && row.names.is_none() => support.kinds(),
            _ => return None,
        };
        Some(Self { row, parent_kinds, apart: rows.bodies.first() })
    }
}

/// Grows the session by the one entry of a batch, and keeps what is said in it.
pub(super) async fn grow_by_one<'a>(
    commit: &'a Commit,
    client: &'a Client,
    single: SingleEntry<'a>,
) -> Result<GrowStatement<'a>, PostgresFailure> {
    let SingleEntry { row, parent_kinds, apart } = single;
    let statement = if apart.is_some() { hot::GROW_BY_ONE_APART } else { hot::GROW_BY_ONE };
    let sql = client.prepare_cached(statement).await?;
    let Commit { tenant, lease, expected, rows, offset, attempt, .. } = commit;
    let (session, fence, expected) = (number(lease.session), lease.fence as i64, *expected as i64);
    let place = |entry: Option<EntryId>| entry.map(|EntryId(entry)| i64::from(entry));
    let (leaf, parent, kind) = (place(rows.leaf), place(row.parent), row.kind as i16);
    Ok(Box::pin(async move {
        let (about, changed_ms) = (&rows.about, &rows.time_ms);
        let (time_ms, body, said) = (&row.time_ms, &row.body, &row.said);
        let entry: [&(dyn ToSql + Sync); 15] = [
            tenant,
            &session,
            &fence,
            &expected,
            &leaf,
            changed_ms,
            about,
            offset,
            attempt,
            &parent,
            &parent_kinds,
            &kind,
            time_ms,
            body,
            said,
        ];
        match apart {
            None => client.query_opt(&sql, &entry).await,
            Some((hash, text)) => {
                let hash = hash.as_slice();
                let mut all = entry.to_vec();
                all.extend([&hash as &(dyn ToSql + Sync), text]);
                client.query_opt(&sql, &all).await
            }
        }
    }))
}

/// Grows the session by all entries of a batch and appends the first of them; nothing comes of it where it is refused.
pub(super) async fn grow<'a>(
    commit: &'a Commit,
    client: &'a Client,
    supports: &[Support],
    first: &'a [EntryRow],
) -> Result<GrowStatement<'a>, PostgresFailure> {
    let sql = client.prepare_cached(hot::GROW).await?;
    let Commit { tenant, lease, expected, rows, offset, attempt, .. } = commit;
    let (session, fence) = (number(lease.session), lease.fence as i64);
    let (expected, added) = (*expected as i64, rows.entries.len() as i64);
    let leaf = rows.leaf.map(|leaf| i64::from(leaf.0));
    let asked: Vec<i64> = supports.iter().map(|support| i64::from(support.entry.0)).collect();
    let kinds: Vec<i64> = supports.iter().map(Support::kinds).collect();
    let columns = EntryColumns::of(first);
    Ok(Box::pin(async move {
        let EntryColumns { ids, parents, kinds: own, bodies, said, times } = &columns;
        let (about, time_ms) = (&rows.about, &rows.time_ms);
        client
            .query_opt(
                &sql,
                &[
                    tenant, &session, &fence, &expected, &added, &leaf, time_ms, about, offset, attempt,
                    &asked, &kinds, ids, parents, own, bodies, said, times,
                ],
            )
            .await
    }))
}

/// Entries as statements take them: an array for each column.
pub(super) struct EntryColumns<'a> {
    pub(super) ids: Vec<i64>,
    pub(super) parents: Vec<Option<i64>>,
    pub(super) kinds: Vec<i16>,
    pub(super) bodies: Vec<&'a [u8]>,
    pub(super) said: Vec<Option<&'a [u8]>>,
    pub(super) times: Vec<Option<i64>>,
}

impl<'a> EntryColumns<'a> {
    pub(super) fn of(rows: &'a [EntryRow]) -> Self {
        Self {
            ids: rows.iter().map(|row| i64::from(row.id.0)).collect(),
            parents: rows.iter().map(|row| row.parent.map(|EntryId(parent)| i64::from(parent))).collect(),
            kinds: rows.iter().map(|row| row.kind as i16).collect(),
            bodies: rows.iter().map(|row| row.body.as_slice()).collect(),
            said: rows.iter().map(|row| row.said.as_deref()).collect(),
            times: rows.iter().map(|row| row.time_ms).collect(),
        }
    }
}
