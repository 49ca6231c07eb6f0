-- What is live of a session's first entries, so that the rest need not be read; and what all its messages take.
CREATE TABLE live (
    tenant BIGINT NOT NULL,
    session BIGINT NOT NULL,
    entries BIGINT NOT NULL,
    body BYTEA NOT NULL,
    sizes BYTEA,
    PRIMARY KEY (tenant, session)
);

-- Which of its holder's attempts the last commit was: a commit goes out in one trip, so that whoever loses the connection
-- meanwhile has not been told its number.
ALTER TABLE sessions ADD COLUMN attempt BIGINT NOT NULL DEFAULT 0;

-- Packed before it comes here: PostgreSQL need not try to make it smaller.
ALTER TABLE live ALTER COLUMN body SET STORAGE EXTERNAL, ALTER COLUMN sizes SET STORAGE EXTERNAL;
ALTER TABLE entries ALTER COLUMN body SET STORAGE EXTERNAL, ALTER COLUMN said SET STORAGE EXTERNAL;
ALTER TABLE events ALTER COLUMN body SET STORAGE EXTERNAL;
