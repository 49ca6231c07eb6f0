//! No statement on a request's way would cross shards.

use super::hot;

/// Tables that are the same on every shard: small, and changed seldom.
const REFERENCE: [&str; 2] = ["tenants", "holders"];

/// The words of a statement, with marks that matter as words of their own.
fn words(sql: &str) -> Vec<String> {
    let spaced = sql.replace('=', " = ").replace('(', " ( ").replace(')', " ) ").replace(',', " , ");
    spaced.split_whitespace().map(str::to_owned).collect()
}

/// The tables that a statement reads or writes.
fn tables(words: &[String]) -> Vec<&str> {
    let names = [
        "sessions", "entries", "bodies", "chains", "live", "files", "inputs", "events", "texts", "tenants",
        "holders",
    ];
    let is_lead = |word: &str| ["FROM", "JOIN", "INTO", "UPDATE", "USING"].contains(&word);
    let pairs = words.windows(2).filter(|pair| is_lead(&pair[0]) && names.contains(&pair[1].as_str()));
    pairs.map(|pair| pair[1].as_str()).collect()
}

/// Whether a statement binds a column of a table to a parameter: by equality, or as what is inserted.
fn binds(words: &[String], table: &str, column: &str, parameter: &str) -> bool {
    let full = format!("{table}.{column}");
    let is_equal = words
        .windows(3)
        .any(|three| (three[0] == column || three[0] == full) && three[1] == "=" && three[2] == parameter);
    let at = words.windows(2).position(|two| two[0] == "INTO" && two[1] == table);
    let columns = at.map(|at| words[at + 3..].iter().take_while(|word| *word != ")").collect::<Vec<_>>());
    let place = columns
        .and_then(|columns| columns.iter().filter(|word| **word != ",").position(|word| *word == column));
    let given =
        at.and_then(|at| words[at..].iter().position(|word| word == "SELECT").map(|select| at + select + 1));
    let is_inserted = match (place, given) {
        (Some(place), Some(given)) => {
            words[given..].split(|word| word == ",").nth(place).is_some_and(|value| value == [parameter])
        }
        (None, _) | (_, None) => false,
    };
    is_equal || is_inserted
}

/// What is wrong with a statement; nothing where it stays on one shard.
fn crossings(sql: &str) -> Vec<String> {
    let words = words(sql);
    let found = tables(&words);
    assert!(!found.is_empty(), "the test sees no table in {sql}");
    let mut crossings = Vec::new();
    for table in found.into_iter().filter(|table| !REFERENCE.contains(table)) {
        if !binds(&words, table, "tenant", "$1") {
            crossings.push(format!("{table} is read or written for no one tenant in {sql}"));
        }
        // Bodies and hashes are of a tenant, whichever session asks; a new session has no number yet.
        let has_session = !["bodies", "chains"].contains(&table) && sql != hot::CREATE;
        if has_session && !binds(&words, table, "session", "$2") {
            crossings.push(format!("{table} is read or written for no one session in {sql}"));
        }
    }
    crossings
}

#[test]
fn no_statement_on_a_requests_way_crosses_shards() {
    let found: Vec<String> = hot::ALL.iter().flat_map(|sql| crossings(sql)).collect();
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn every_statement_on_a_requests_way_is_looked_at() {
    let source = include_str!("../sql.rs");
    let hot_module = source.split("pub(super) mod holder").next().expect("it stands before");
    assert_eq!(hot_module.matches(": &str =").count(), hot::ALL.len());
}

#[test]
fn a_statement_that_would_cross_is_found() {
    for sql in [
        "SELECT leaf FROM sessions WHERE session = $2",
        "SELECT body FROM entries WHERE tenant = $1",
        "UPDATE sessions SET fence = fence + 1 WHERE tenant > $1 AND session = $2",
        "INSERT INTO events (tenant, session) SELECT $3, $2 FROM unnest($4::bigint[])",
        "SELECT 1 FROM entries JOIN bodies ON bodies.hash = entries.said WHERE entries.tenant = $1 AND entries.session = $2",
    ] {
        assert_ne!(crossings(sql), Vec::<String>::new(), "{sql}");
    }
}
