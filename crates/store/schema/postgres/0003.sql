-- Messages whose text was left to whoever said it: how many there are is told with what is looked for.
CREATE INDEX entries_unkept ON entries (tenant, session, entry) WHERE kind = 0 AND said IS NULL;
