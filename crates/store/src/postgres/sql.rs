//! The statements. Those on a request's way name the tenant they are for, and the session where the table has one: on a database
//! that is sharded by tenant each goes to one shard. A test looks at every one of them.
//!
//! Small tables beside the sessions (tenants, holders) are the same on every shard.

/// What is on the way of a request.
pub(super) mod hot {
    /// The number of a tenant. Asked once for each, as it never changes.
    pub(in crate::postgres) const TENANT: &str = "SELECT tenant FROM tenants WHERE name = $1";

    pub(in crate::postgres) const MAKE_TENANT: &str =
        "INSERT INTO tenants (name) VALUES ($1) ON CONFLICT (name) DO NOTHING";

    /// A session that nobody holds, or that `$2` holds from the beginning.
    pub(in crate::postgres) const CREATE: &str = "
        INSERT INTO sessions (tenant, session, created_ms, changed_ms, about, holder, fence)
        SELECT $1, nextval('session_numbers'), now.ms, now.ms, '{}', $2::bigint, CASE WHEN $2 IS NULL THEN 0 ELSE 1 END
        FROM (SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS ms) AS now
        RETURNING session, fence";

    pub(in crate::postgres) const FIND: &str = "
        SELECT asked.depth, chains.session, chains.entry
        FROM unnest($2::bytea[]) WITH ORDINALITY AS asked (hash, depth)
        JOIN chains ON chains.tenant = $1 AND chains.hash = asked.hash
        ORDER BY asked.depth DESC LIMIT 1";

    /// Where each of the hashes leads that lead somewhere.
    pub(in crate::postgres) const TRACE: &str = "
        SELECT asked.place, chains.session, chains.entry
        FROM unnest($2::bytea[]) WITH ORDINALITY AS asked (hash, place)
        JOIN chains ON chains.tenant = $1 AND chains.hash = asked.hash";

    pub(in crate::postgres) const SESSION: &str =
        "SELECT leaf, about FROM sessions WHERE tenant = $1 AND session = $2";

    pub(in crate::postgres) const LOG: &str = "
        SELECT entry, parent, kind, body FROM entries WHERE tenant = $1 AND session = $2 ORDER BY entry";

    pub(in crate::postgres) const LIVE: &str =
        "SELECT entries, body FROM live WHERE tenant = $1 AND session = $2";

    /// Entries behind those that the live part is of; all of them where there is none.
    pub(in crate::postgres) const LOG_BEHIND_LIVE: &str = "
        SELECT entry, parent, kind, body FROM entries WHERE tenant = $1 AND session = $2 AND entry >= coalesce(
            (SELECT live.entries FROM live WHERE live.tenant = $1 AND live.session = $2), 0)
        ORDER BY entry";

    pub(in crate::postgres) const SIZES: &str = "SELECT sizes FROM live WHERE tenant = $1 AND session = $2";

    /// Kept where nobody else has had the session since; its row is locked, so that nobody takes or removes it meanwhile.
    pub(in crate::postgres) const KEEP_LIVE: &str = "
        INSERT INTO live (tenant, session, entries, body, sizes)
        SELECT $1, $2, $4, $5, $6 FROM sessions
        WHERE tenant = $1 AND session = $2 AND fence = $3 AND entries >= $4 FOR SHARE
        ON CONFLICT (tenant, session) DO UPDATE SET entries = excluded.entries, body = excluded.body,
            sizes = coalesce(excluded.sizes, live.sizes)";

    /// The first byte of `said` tells a hash.
    pub(in crate::postgres) const ORIGINALS: &str = "
        SELECT entries.entry, entries.said, bodies.body, entries.kind
        FROM entries LEFT JOIN bodies ON bodies.tenant = $1 AND bodies.hash = substr(entries.said, 2)
            AND get_byte(entries.said, 0) = 255
        WHERE entries.tenant = $1 AND entries.session = $2 AND entries.entry = ANY ($3)";

    /// A holder whose time is over holds nothing; nor does this one under a fence that it was never told, as the answer was lost
    /// on the way (`$4` is the one it knows of). The time is looked up by a scalar query, as that is done again for a row that
    /// others changed meanwhile: a join would not be.
    pub(in crate::postgres) const LEASE: &str = "
        UPDATE sessions SET fence = fence + 1, holder = $3
        WHERE tenant = $1 AND session = $2 AND (holder IS NULL OR (holder = $3 AND fence <> $4) OR coalesce(
            (SELECT ends FROM holders WHERE holders.holder = sessions.holder), '-infinity') <= clock_timestamp())
        RETURNING fence";

    pub(in crate::postgres) const FENCE: &str =
        "SELECT fence FROM sessions WHERE tenant = $1 AND session = $2";

    pub(in crate::postgres) const RELEASE: &str = "
        UPDATE sessions SET holder = NULL, fence = fence + 1 WHERE tenant = $1 AND session = $2 AND fence = $3";

    /// Grows a session and appends the first of the entries, where it has as many entries as its writer saw, under the writer's
    /// fence, and those that the new ones lean on are of the kinds they must be (`$12` has a bit for each). The number of the
    /// commit is the transaction's, moved on where the database was restored elsewhere.
    ///
    /// One look into the index for each entry that is leaned on: a join may be planned as a walk through the whole session.
    pub(in crate::postgres) const GROW: &str = "
        WITH grown AS (
            UPDATE sessions SET entries = entries + $5, leaf = coalesce($6, leaf), changed_ms = coalesce($7, changed_ms),
                about = coalesce($8, about), number = pg_current_xact_id()::text::bigint + $9, attempt = $10
            WHERE tenant = $1 AND session = $2 AND fence = $3 AND entries = $4 AND NOT EXISTS (
                SELECT 1 FROM unnest($11::bigint[], $12::bigint[]) AS asked (entry, kinds)
                WHERE coalesce((SELECT asked.kinds >> kind & 1 FROM entries
                    WHERE entries.tenant = $1 AND entries.session = $2 AND entries.entry = asked.entry LIMIT 1), 0) = 0)
            RETURNING number),
        appended AS (
            INSERT INTO entries (tenant, session, entry, parent, kind, time_ms, body, said)
            SELECT $1, $2, row.entry, row.parent, row.kind, row.time_ms, row.body, row.said
            FROM grown, unnest($13::bigint[], $14::bigint[], $15::smallint[], $16::bytea[], $17::bytea[], $18::bigint[])
                AS row (entry, parent, kind, body, said, time_ms))
        SELECT number FROM grown";

    /// Grows a session by one entry that leans on its parent alone, as most batches do: no arrays, and half the work of `GROW`. `$10` is
    /// the parent, `$11` has a bit for each kind it may be of.
    macro_rules! grown_by_one {
        () => {
            "WITH grown AS (
                UPDATE sessions SET entries = entries + 1, leaf = coalesce($5, leaf), changed_ms = coalesce($6, changed_ms),
                    about = coalesce($7, about), number = pg_current_xact_id()::text::bigint + $8, attempt = $9
                WHERE tenant = $1 AND session = $2 AND fence = $3 AND entries = $4 AND ($10::bigint IS NULL OR (
                    SELECT $11::bigint >> kind & 1 FROM entries
                    WHERE entries.tenant = $1 AND entries.session = $2 AND entries.entry = $10) = 1)
                RETURNING session)"
        };
    }
    macro_rules! one_appended {
        () => {
            "INSERT INTO entries (tenant, session, entry, parent, kind, time_ms, body, said)
            SELECT $1, $2, $4, $10, $12::smallint, $13::bigint, $14::bytea, $15::bytea FROM grown
            RETURNING pg_current_xact_id()::text::bigint + $8"
        };
    }
    pub(in crate::postgres) const GROW_BY_ONE: &str = concat!(grown_by_one!(), " ", one_appended!());

    /// The same for an entry whose text lies apart, `$17` under its hash `$16`.
    pub(in crate::postgres) const GROW_BY_ONE_APART: &str = concat!(
        grown_by_one!(),
        ", apart AS (
            INSERT INTO bodies (tenant, hash, uses, body) SELECT $1, $16::bytea, 1, $17::bytea FROM grown
            ON CONFLICT (tenant, hash) DO UPDATE SET uses = bodies.uses + 1) ",
        one_appended!()
    );

    /// This and what follows goes out behind `GROW`, before anybody knows what came of that: it does nothing unless the session
    /// has the number of this very transaction. `$3` is what is added to that.
    pub(in crate::postgres) const INSERT_ENTRIES: &str = "
        INSERT INTO entries (tenant, session, entry, parent, kind, time_ms, body, said)
        SELECT $1, $2, row.entry, row.parent, row.kind, row.time_ms, row.body, row.said
        FROM sessions, unnest($4::bigint[], $5::bigint[], $6::smallint[], $7::bytea[], $8::bytea[], $9::bigint[])
            AS row (entry, parent, kind, body, said, time_ms)
        WHERE sessions.tenant = $1 AND sessions.session = $2
            AND sessions.number = pg_current_xact_id()::text::bigint + $3";

    pub(in crate::postgres) const INSERT_BODIES: &str = "
        INSERT INTO bodies (tenant, hash, uses, body)
        SELECT $1, row.hash, row.uses, row.body
        FROM sessions, unnest($4::bytea[], $5::bigint[], $6::bytea[]) AS row (hash, uses, body)
        WHERE sessions.tenant = $1 AND sessions.session = $2
            AND sessions.number = pg_current_xact_id()::text::bigint + $3
        ON CONFLICT (tenant, hash) DO UPDATE SET uses = bodies.uses + excluded.uses";

    /// Keeps what was said in entries that were stored without; of what lies apart, as much as is leaned on by that.
    pub(in crate::postgres) const INSERT_LATE: &str = "
        WITH kept AS (
            UPDATE entries SET said = row.said FROM sessions, unnest($4::bigint[], $5::bytea[]) AS row (entry, said)
            WHERE sessions.tenant = $1 AND sessions.session = $2
                AND sessions.number = pg_current_xact_id()::text::bigint + $3
                AND entries.tenant = $1 AND entries.session = $2 AND entries.entry = row.entry
                AND entries.kind = 0 AND entries.said IS NULL
            RETURNING substr(entries.said, 2) AS hash, get_byte(entries.said, 0) AS place)
        INSERT INTO bodies (tenant, hash, uses, body)
        SELECT $1, row.hash, counted.uses, row.body
        FROM unnest($6::bytea[], $7::bytea[]) AS row (hash, body)
            JOIN (SELECT hash, count(*) AS uses FROM kept WHERE place = 255 GROUP BY hash) AS counted
                ON counted.hash = row.hash
        ORDER BY row.hash
        ON CONFLICT (tenant, hash) DO UPDATE SET uses = bodies.uses + excluded.uses";

    /// They are looked for from the first of them on, anew.
    pub(in crate::postgres) const UNINDEX: &str = "
        WITH moved AS (
            UPDATE sessions SET indexed = least(indexed, $4) WHERE tenant = $1 AND session = $2
                AND number = pg_current_xact_id()::text::bigint + $3 RETURNING session)
        DELETE FROM texts USING moved
        WHERE texts.tenant = $1 AND texts.session = $2 AND texts.session = moved.session AND texts.entry >= $4";

    pub(in crate::postgres) const INSERT_HASHES: &str = "
        INSERT INTO chains (tenant, session, hash, entry)
        SELECT $1, $2, row.hash, row.entry FROM sessions, unnest($4::bytea[], $5::bigint[]) AS row (hash, entry)
        WHERE sessions.tenant = $1 AND sessions.session = $2
            AND sessions.number = pg_current_xact_id()::text::bigint + $3
        ON CONFLICT (tenant, hash) DO NOTHING";

    pub(in crate::postgres) const INSERT_FILE: &str = "
        INSERT INTO files (tenant, session, chunk, body)
        SELECT $1, $2, row.chunk, row.body FROM sessions, unnest($4::bigint[], $5::bytea[]) AS row (chunk, body)
        WHERE sessions.tenant = $1 AND sessions.session = $2
            AND sessions.number = pg_current_xact_id()::text::bigint + $3";

    pub(in crate::postgres) const DELIVER: &str = "
        DELETE FROM inputs USING sessions
        WHERE sessions.tenant = $1 AND sessions.session = $2
            AND sessions.number = pg_current_xact_id()::text::bigint + $3
            AND inputs.tenant = $1 AND inputs.session = $2 AND inputs.number = ANY ($4)";

    pub(in crate::postgres) const INSERT_EVENTS: &str = "
        INSERT INTO events (tenant, session, number, place, time_ms, body)
        SELECT $1, $2, sessions.number, row.place, $4, row.body
        FROM sessions, unnest($5::bigint[], $6::bytea[]) AS row (place, body)
        WHERE sessions.tenant = $1 AND sessions.session = $2
            AND sessions.number = pg_current_xact_id()::text::bigint + $3";

    /// Of what kind entries are: why a batch that leans on them was not taken.
    pub(in crate::postgres) const KINDS: &str =
        "SELECT entry, kind FROM entries WHERE tenant = $1 AND session = $2 AND entry = ANY ($3)";

    /// What came of a commit that nobody answered; waits for one that is still under way.
    pub(in crate::postgres) const OUTCOME: &str =
        "SELECT fence, entries, number, attempt FROM sessions WHERE tenant = $1 AND session = $2 FOR UPDATE";

    pub(in crate::postgres) const ENQUEUE: &str = "
        WITH next AS (
            UPDATE sessions SET inputs = inputs + 1 WHERE tenant = $1 AND session = $2 RETURNING inputs)
        INSERT INTO inputs (tenant, session, number, body) SELECT $1, $2, inputs, $3 FROM next RETURNING number";

    pub(in crate::postgres) const QUEUED: &str =
        "SELECT number, body FROM inputs WHERE tenant = $1 AND session = $2 ORDER BY number";

    /// All of these, for the test.
    #[cfg(test)]
    pub(super) const ALL: [&str; 30] = [
        TENANT,
        MAKE_TENANT,
        CREATE,
        FIND,
        TRACE,
        SESSION,
        LOG,
        LIVE,
        LOG_BEHIND_LIVE,
        SIZES,
        KEEP_LIVE,
        ORIGINALS,
        LEASE,
        FENCE,
        RELEASE,
        GROW,
        GROW_BY_ONE,
        GROW_BY_ONE_APART,
        KINDS,
        INSERT_ENTRIES,
        INSERT_BODIES,
        INSERT_LATE,
        UNINDEX,
        INSERT_HASHES,
        INSERT_FILE,
        DELIVER,
        INSERT_EVENTS,
        OUTCOME,
        ENQUEUE,
        QUEUED,
    ];
}

/// What concerns this replica and not a session.
pub(super) mod holder {
    pub(in crate::postgres) const ENTER: &str = "
        INSERT INTO holders (process, ends) VALUES ($1, clock_timestamp() + $2::bigint * interval '1 millisecond')
        RETURNING holder";

    /// Others may have struck it out meanwhile, so it is entered anew; but not where it has left.
    pub(in crate::postgres) const RENEW: &str = "
        INSERT INTO holders (holder, process, ends)
        VALUES ($1, $2, clock_timestamp() + $3::bigint * interval '1 millisecond')
        ON CONFLICT (holder) DO UPDATE SET ends = excluded.ends WHERE holders.process <> ''";

    /// The row stays, with no process: a renewal that is still on its way on another connection would enter a deleted one anew.
    pub(in crate::postgres) const LEAVE: &str =
        "UPDATE holders SET ends = clock_timestamp(), process = '' WHERE holder = $1";

    /// Long gone: nobody waits for their leases, and nobody asks for them.
    pub(in crate::postgres) const STRIKE: &str =
        "DELETE FROM holders WHERE ends < clock_timestamp() - interval '1 day'";
}

/// What crosses tenants: for listeners to everything, and for people.
pub(super) mod wide {
    pub(in crate::postgres) const TENANT_OF: &str = "SELECT tenant FROM sessions WHERE session = $1";

    /// Commits whose number is below every transaction under way: none before them can come any more. The last column is
    /// the first number that is not shown yet.
    pub(in crate::postgres) const EVENTS: &str = "
        WITH horizon AS MATERIALIZED (
            SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint + $3::bigint AS number)
        SELECT events.number, place, session, time_ms, body, horizon.number
        FROM horizon LEFT JOIN events
            ON (events.number, place) > ($1::bigint, $2::bigint) AND events.number < horizon.number
        ORDER BY events.number, place";

    pub(in crate::postgres) const MEMOS: &str =
        "SELECT name, value FROM memos WHERE starts_with(name, $1) ORDER BY name";

    pub(in crate::postgres) const KEEP_MEMO: &str = "
        INSERT INTO memos (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value";

    pub(in crate::postgres) const FORGET_MEMO: &str = "DELETE FROM memos WHERE name = $1";

    pub(in crate::postgres) const FORGET_MEMOS: &str = "DELETE FROM memos WHERE starts_with(name, $1)";

    pub(in crate::postgres) const LIST: &str = "
        SELECT session, entries, leaf, created_ms, changed_ms, about,
            (SELECT count(*) FROM entries WHERE entries.tenant = sessions.tenant
                AND entries.session = sessions.session AND kind IN (2, 3)),
            EXISTS (SELECT 1 FROM holders WHERE holders.holder = sessions.holder AND ends > clock_timestamp())
        FROM sessions
        WHERE ($1::bigint IS NULL OR tenant = $1) AND ($2::bigint IS NULL OR session = $2)
        ORDER BY changed_ms DESC, session DESC LIMIT $3";

    pub(in crate::postgres) const ENTRIES: &str = "
        SELECT entry, parent, time_ms, kind, body FROM entries WHERE tenant = $1 AND session = $2 ORDER BY entry";

    /// Kind 3 are compactions and edits.
    pub(in crate::postgres) const RECORDS: &str = "
        SELECT entry, body FROM entries WHERE tenant = $1 AND session = $2 AND kind = 3 ORDER BY entry";

    pub(in crate::postgres) const SESSION_BYTES: &str = "
        SELECT ((SELECT coalesce(sum(length(body) + coalesce(length(said), 0)), 0) FROM entries
                WHERE tenant = $1 AND session = $2)
            + (SELECT coalesce(sum(length(body)), 0) FROM files WHERE tenant = $1 AND session = $2)
            + (SELECT coalesce(sum(length(body)), 0) FROM bodies WHERE tenant = $1 AND hash IN (
                SELECT substr(said, 2) FROM entries
                WHERE tenant = $1 AND session = $2 AND get_byte(said, 0) = 255)))::bigint";

    pub(in crate::postgres) const FILE: &str =
        "SELECT body FROM files WHERE tenant = $1 AND session = $2 ORDER BY chunk";

    pub(in crate::postgres) const FIGURES: &str = "
        SELECT (SELECT count(*) FROM sessions), (SELECT coalesce(sum(entries), 0)::bigint FROM sessions),
            (SELECT count(*) FROM bodies), (SELECT coalesce(sum(length(body)), 0)::bigint FROM bodies),
            (SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class
                WHERE relnamespace = to_regnamespace('epitome') AND relkind = 'r'),
            (SELECT count(*) FROM entries WHERE kind = 0 AND said IS NULL)";

    pub(in crate::postgres) const UNKEPT: &str = "
        SELECT count(*) FROM entries WHERE kind = 0 AND said IS NULL AND ($1::bigint IS NULL OR session = $1)";

    /// Sessions with entries that cannot be looked for yet.
    pub(in crate::postgres) const PENDING: &str = "
        SELECT tenant, session, indexed, entries FROM sessions
        WHERE indexed < entries AND ($1::bigint IS NULL OR tenant = $1) AND ($2::bigint IS NULL OR session = $2)";

    pub(in crate::postgres) const UNINDEXED: &str = "
        SELECT entries.entry, entries.said, bodies.body, entries.time_ms
        FROM entries LEFT JOIN bodies ON bodies.tenant = $1 AND bodies.hash = substr(entries.said, 2)
            AND get_byte(entries.said, 0) = 255
        WHERE entries.tenant = $1 AND entries.session = $2 AND entries.entry >= $3 AND entries.entry < $4
            AND entries.said IS NOT NULL";

    pub(in crate::postgres) const LOCK_SESSION: &str =
        "SELECT session FROM sessions WHERE tenant = $1 AND session = $2 FOR UPDATE";

    /// Nothing is indexed of a session that was removed, or whose entries another replica has indexed.
    pub(in crate::postgres) const INDEX: &str = "
        WITH moved AS (
            UPDATE sessions SET indexed = $4 WHERE tenant = $1 AND session = $2 AND indexed = $3 RETURNING session)
        INSERT INTO texts (tenant, session, entry, part, time_ms, terms)
        SELECT $1, $2, row.entry, row.part, row.time_ms, row.terms::tsvector
        FROM moved, unnest($5::bigint[], $6::bigint[], $7::bigint[], $8::text[]) AS row (entry, part, time_ms, terms)";

    /// The newest that match, ranked: to rank one is to read its vector, which lies apart.
    pub(in crate::postgres) const SEARCH: &str = "
        WITH newest AS MATERIALIZED (
            SELECT tenant, session, entry, part, time_ms FROM texts
            WHERE terms @@ $1::text::tsquery AND ($2::bigint IS NULL OR tenant = $2) AND ($3::bigint IS NULL OR session = $3)
                AND ($4::bigint IS NULL OR time_ms >= $4) AND ($5::bigint IS NULL OR time_ms < $5)
            ORDER BY time_ms DESC NULLS LAST, session DESC, entry DESC LIMIT $7)
        SELECT tenant, session, entry, max(newest.time_ms), max(ts_rank(texts.terms, $1::text::tsquery, 1)) AS rank
        FROM newest JOIN texts USING (tenant, session, entry, part)
        GROUP BY tenant, session, entry
        ORDER BY rank DESC, max(newest.time_ms) DESC NULLS LAST, session DESC, entry DESC LIMIT $6";

    pub(in crate::postgres) const EACH_SESSION: &str =
        "SELECT tenant, session, entries FROM sessions ORDER BY session";
}

/// A session forgotten, in this order: its row first, as a commit does, then bodies in the order of their hashes, as a commit
/// does.
pub(super) const REMOVE: [&str; 10] = [
    "DELETE FROM sessions WHERE tenant = $1 AND session = $2",
    "WITH used AS (
         SELECT substr(said, 2) AS hash, count(*) AS times FROM entries
         WHERE tenant = $1 AND session = $2 AND get_byte(said, 0) = 255 GROUP BY 1),
     locked AS (
         SELECT bodies.hash, used.times FROM bodies JOIN used ON bodies.hash = used.hash
         WHERE bodies.tenant = $1 ORDER BY bodies.hash FOR UPDATE OF bodies)
     UPDATE bodies SET uses = uses - locked.times FROM locked
     WHERE bodies.tenant = $1 AND bodies.hash = locked.hash",
    "DELETE FROM bodies WHERE tenant = $1 AND uses <= 0 AND hash IN (
         SELECT substr(said, 2) FROM entries WHERE tenant = $1 AND session = $2 AND get_byte(said, 0) = 255)",
    "DELETE FROM live WHERE tenant = $1 AND session = $2",
    "DELETE FROM texts WHERE tenant = $1 AND session = $2",
    "DELETE FROM files WHERE tenant = $1 AND session = $2",
    "DELETE FROM inputs WHERE tenant = $1 AND session = $2",
    "DELETE FROM chains WHERE tenant = $1 AND session = $2",
    "DELETE FROM events WHERE tenant = $1 AND session = $2",
    "DELETE FROM entries WHERE tenant = $1 AND session = $2",
];

#[cfg(test)]
mod tests;
