-- Sessions of agents. Every key begins with the tenant and the session. Times are milliseconds since 1970.

-- What this installation is: its secret.
CREATE TABLE installation (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;

-- The last number given to a session and to a commit with events: none is given twice, whatever is deleted.
CREATE TABLE numbers (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO numbers VALUES ('session', 0), ('commit', 0);

-- Whose sessions there are. Other tables go by the number: a name of 32 bytes in each key would be most of it.
CREATE TABLE tenants (tenant INTEGER PRIMARY KEY, name BLOB NOT NULL UNIQUE);

-- Processes that hold leases. One that has not renewed itself by `until_ms` holds none any more.
-- A number is given once: a session that names one that is gone is free.
CREATE TABLE holders (holder INTEGER PRIMARY KEY AUTOINCREMENT, process TEXT NOT NULL, until_ms INTEGER NOT NULL);

CREATE TABLE sessions (
    tenant INTEGER NOT NULL,
    session INTEGER NOT NULL,
    entries INTEGER NOT NULL DEFAULT 0,
    leaf INTEGER,
    created_ms INTEGER NOT NULL,
    changed_ms INTEGER NOT NULL,
    about BLOB NOT NULL,
    -- So many of its entries can be looked for.
    indexed INTEGER NOT NULL DEFAULT 0,
    -- The number of the last input that was queued.
    inputs INTEGER NOT NULL DEFAULT 0,
    -- Larger for each later holder.
    fence INTEGER NOT NULL DEFAULT 0,
    holder INTEGER,
    PRIMARY KEY (tenant, session)
) WITHOUT ROWID;
-- For people, who name a session and not its tenant.
CREATE UNIQUE INDEX sessions_by_number ON sessions (session);

-- `said` holds what a message says, or the hash it lies under.
CREATE TABLE entries (
    tenant INTEGER NOT NULL,
    session INTEGER NOT NULL,
    entry INTEGER NOT NULL,
    parent INTEGER,
    kind INTEGER NOT NULL,
    time_ms INTEGER,
    body BLOB NOT NULL,
    said BLOB,
    PRIMARY KEY (tenant, session, entry)
) WITHOUT ROWID;

-- What is live of a session's first entries, so that the rest need not be read; and what all its messages take.
CREATE TABLE live (
    tenant INTEGER NOT NULL,
    session INTEGER NOT NULL,
    entries INTEGER NOT NULL,
    body BLOB NOT NULL,
    sizes BLOB,
    PRIMARY KEY (tenant, session)
);

-- What was said, once for each tenant, however many entries say it.
CREATE TABLE bodies (
    tenant INTEGER NOT NULL,
    hash BLOB NOT NULL,
    uses INTEGER NOT NULL,
    body BLOB NOT NULL,
    UNIQUE (tenant, hash)
);

-- How a request finds what it goes on from.
CREATE TABLE chains (
    tenant INTEGER NOT NULL,
    hash BLOB NOT NULL,
    session INTEGER NOT NULL,
    entry INTEGER NOT NULL,
    PRIMARY KEY (tenant, hash)
) WITHOUT ROWID;

-- The file a session was read from, in pieces.
CREATE TABLE files (
    tenant INTEGER NOT NULL,
    session INTEGER NOT NULL,
    chunk INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (tenant, session, chunk)
);

-- What was said while others were at work on a session, until it is delivered.
CREATE TABLE inputs (
    tenant INTEGER NOT NULL,
    session INTEGER NOT NULL,
    number INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (tenant, session, number)
) WITHOUT ROWID;

CREATE TABLE events (
    tenant INTEGER NOT NULL,
    session INTEGER NOT NULL,
    number INTEGER NOT NULL,
    place INTEGER NOT NULL,
    time_ms INTEGER,
    body BLOB NOT NULL,
    PRIMARY KEY (tenant, session, number, place)
) WITHOUT ROWID;
CREATE UNIQUE INDEX events_in_order ON events (number, place);

-- What was learned of providers' endpoints, and what else is to be found again.
CREATE TABLE memos (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;

-- What can be looked for. Terms are made by us and stand with a space between them; what was said is in its body.
CREATE TABLE indexed (
    place INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL,
    session INTEGER NOT NULL,
    entry INTEGER NOT NULL,
    time_ms INTEGER
);
CREATE INDEX indexed_sessions ON indexed (tenant, session);
CREATE VIRTUAL TABLE terms USING fts5 (
    said, tools, files,
    content = '', contentless_delete = 1, tokenize = "ascii tokenchars '_'"
);
