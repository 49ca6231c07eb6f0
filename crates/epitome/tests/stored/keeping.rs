//! Retention, and a look at whether the store is well.

use crate::desk::{Desk, talk};
use epitome_engine::store::SessionId;
use epitome_store::StoreAddress;
use serde_json::json;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Three sessions, of which the first was changed 100 days ago, the second 2 days ago, the third now.
fn three(desk: Desk) -> Desk {
    for turns in 2..5 {
        desk.import(&format!("talk-{turns}.json"), talk(turns));
    }
    for (session, days) in [(1, 100_i64), (2, 2)] {
        desk.sql(&format!(
            "UPDATE sessions SET changed_ms = changed_ms - {days} * CAST(86400000 AS BIGINT) WHERE session = {session}"
        ));
    }
    desk
}

fn left(desk: &Desk) -> Vec<String> {
    let listing = desk.json(&["sessions", "--stored", "--json"]);
    let rows = listing["stored"]["sessions"].as_array().expect("a list");
    rows.iter().map(|row| row["session"].as_str().expect("an id").to_owned()).collect()
}

#[test]
fn old_sessions_go_whole_and_that_is_written_down() {
    for desk in Desk::of_each_kind().map(three) {
        let planned = desk.json(&["expire", "--older-than", "90d", "--dry-run", "--json"]);
        assert_eq!(
            (&planned["outcome"], planned["sessions"].as_array().map(Vec::len)),
            (&json!("planned"), Some(1))
        );
        assert_eq!(left(&desk), ["s0003", "s0002", "s0001"]);
        let gone = desk.json(&["expire", "--older-than", "90d", "--json"]);
        assert_eq!((&gone["outcome"], &gone["sessions"][0]["session"]), (&json!("expired"), &json!("s0001")));
        assert_eq!(left(&desk), ["s0003", "s0002"]);
        let events = desk.json(&["audit", "--kind", "expired", "--json"])["events"].take();
        assert_eq!(events.as_array().map(Vec::len), Some(1));
        assert_eq!((&events[0]["session"], &events[0]["entries"]), (&json!("s0001"), &json!(5)));
        assert!(!events.to_string().contains("point 0"), "nothing of what was said is left: {events}");
        let again = desk.json(&["expire", "--older-than", "90d", "--json"]);
        assert_eq!(again, json!({"outcome": "noop", "sessions": [], "bytes": 0, "held": []}));
        // Gone, the file is new to the store.
        assert_eq!(desk.json(&["import", "talk-2.json", "--json"])["outcome"], "imported");
    }
}

#[test]
fn what_was_changed_in_the_last_day_goes_only_on_a_word() {
    for desk in Desk::of_each_kind().map(three) {
        let ran = desk.run(&["expire", "--larger-than", "1B"]);
        assert_eq!(ran.code, Some(1));
        assert_eq!(
            ran.err,
            "epitome: 1 session of these changed in the last day; nothing was deleted, --yes deletes them all the same\n"
        );
        let order: Vec<&str> =
            ran.out.lines().skip(1).take(3).filter_map(|line| line.split(' ').next()).collect();
        assert_eq!(order, ["s0001", "s0002", "s0003"], "the oldest first: {}", ran.out);
        assert_eq!(left(&desk).len(), 3);
        desk.printed(&["expire", "--larger-than", "1B", "--yes"]);
        assert_eq!(left(&desk), Vec::<String>::new());
        let usage = desk.run(&["expire"]);
        assert_eq!(usage.code, Some(2), "{}", usage.err);
    }
}

#[test]
fn a_server_deletes_what_is_too_old_or_too_much_says_so_and_leaves_what_is_new() {
    for desk in Desk::of_each_kind().map(three) {
        let limits = [("EPITOME_STORE__EXPIRE_AFTER", "90d"), ("EPITOME_STORE__SIZE_MAX", "1B")];
        let planned =
            desk.command(&["expire", "--dry-run", "--json"]).envs(limits).output().expect("it runs");
        let planned: serde_json::Value = serde_json::from_slice(&planned.stdout).expect("one document");
        assert_eq!(planned["sessions"].as_array().map(Vec::len), Some(3), "{planned}");
        let log = std::fs::File::create(desk.path("log")).expect("there is room");
        let mut serving = desk.command(&["serve", "--listen", "127.0.0.1:0"]);
        let mut server = serving.envs(limits).stderr(log).stdout(Stdio::null()).spawn().expect("it runs");
        let until = Instant::now() + Duration::from_secs(30);
        let told = || String::from_utf8(desk.bytes("log")).expect("it is text");
        while !told().contains("stays") {
            assert!(Instant::now() < until, "{}", told());
            std::thread::sleep(Duration::from_millis(50));
        }
        server.kill().and_then(|()| server.wait()).expect("it ends");
        let lines: Vec<String> = told()
            .lines()
            .map(|line| line.split_whitespace().skip(2).collect::<Vec<_>>().join(" "))
            .collect();
        let is_gone =
            |session: &str| lines.iter().any(|line| line.starts_with(&format!("{session} was deleted, ")));
        assert!(is_gone("s0001") && is_gone("s0002") && !is_gone("s0003"), "{lines:?}");
        assert!(lines.contains(&"s0003 would go and stays, changed in the last day".to_owned()), "{lines:?}");
        assert_eq!(left(&desk), ["s0003"]);
        let events = desk.json(&["audit", "--kind", "expired", "--json"])["events"].take();
        assert_eq!(events.as_array().map(Vec::len), Some(2));
    }
}

#[test]
fn a_store_that_is_well_says_so_and_one_that_is_not_says_what_to_do() {
    for desk in Desk::of_each_kind().map(three) {
        let report = desk.json(&["doctor", "--json"]);
        assert_eq!(
            (&report["exists"], &report["problems"], &report["held"]),
            (&json!(true), &json!([]), &json!([]))
        );
        assert_eq!((&report["figures"]["sessions"], &report["figures"]["entries"]), (&json!(3), &json!(21)));
        assert!(desk.printed(&["doctor"]).ends_with("all is well\n"));
        desk.sql("DELETE FROM entries WHERE session = 2 AND entry = 3");
        let ran = desk.run(&["doctor", "--json"]);
        assert_eq!((ran.code, &*ran.err), (Some(1), "epitome: 1 problem found\n"));
        let report: serde_json::Value = serde_json::from_str(&ran.out).expect("one document");
        assert_eq!(report["problems"][0]["session"], "s0002");
        assert!(
            report["problems"][0]["remedy"].as_str().is_some_and(|remedy| !remedy.is_empty()),
            "{report}"
        );
    }
}

/// Of a file alone, as the next but one: a database is one or does not answer.
#[test]
fn a_file_that_is_no_store_is_told_and_not_touched() {
    let desk = Desk::new();
    desk.put("notes.txt", "these are not the bytes of a database, and there are more than a hundred of them here, so that it is read");
    let ran = desk.run(&["doctor", "--store", "notes.txt"]);
    assert_eq!(ran.code, Some(1), "{}", ran.out);
    assert!(ran.out.contains("file is not a database"), "{}", ran.out);
    assert!(desk.bytes("notes.txt").starts_with(b"these are not"));
}

#[test]
fn a_damaged_store_is_told_with_what_can_be_read_and_what_to_do() {
    let desk = three(Desk::new());
    let mut bytes = std::fs::read(desk.store()).expect("it is there");
    let pages = bytes.len() / 4_096;
    assert!(pages > 4, "{pages} pages");
    bytes[4_096..].fill(0xff);
    std::fs::write(desk.store(), &bytes).expect("there is room");
    for (name, store) in [("broken", desk.store()), ("notes", desk.path("notes.txt"))] {
        if name == "notes" {
            desk.put(
                "notes.txt",
                "these are no bytes of a database, and enough of them to be looked at as one ".repeat(3),
            );
        }
        let path = store.to_str().expect("UTF-8");
        let ran = desk.run(&["doctor", "--json", "--store", path]);
        assert_eq!((ran.code, &*ran.err), (Some(1), "epitome: 1 problem found\n"), "{name}");
        let report: serde_json::Value = serde_json::from_str(&ran.out).expect("one document");
        let [what, remedy] =
            ["what", "remedy"].map(|key| report["problems"][0][key].as_str().expect("it is told"));
        assert!(what.contains("can be read"), "{name}: {what}");
        assert_eq!(
            remedy,
            format!(
                "export what can be read with `epitome export`, copy the file before anything else is tried (cp {path} {path}.copy), recover what SQLite finds in the copy (sqlite3 {path}.copy .recover | sqlite3 {path}.recovered), and begin a new store meanwhile with --store"
            )
        );
    }
}

#[cfg(unix)]
#[test]
fn a_store_is_for_its_owner_alone_and_one_that_is_not_is_told() {
    use std::os::unix::fs::PermissionsExt as _;
    let desk = Desk::new();
    desk.put("talk.json", talk(2));
    desk.printed(&["import", "talk.json", "--store", "own.db"]);
    let mode =
        |name: &str| std::fs::metadata(desk.path(name)).expect("it is there").permissions().mode() & 0o777;
    assert_eq!(mode("own.db"), 0o600);
    assert_eq!(desk.json(&["doctor", "--json", "--store", "own.db"])["notes"], json!([]));
    // One that was made otherwise stays as it is.
    std::fs::set_permissions(desk.path("own.db"), std::fs::Permissions::from_mode(0o644))
        .expect("it is ours");
    desk.printed(&["import", "talk.json", "--again", "--store", "own.db"]);
    assert_eq!(mode("own.db"), 0o644);
    let notes = &desk.json(&["doctor", "--json", "--store", "own.db"])["notes"];
    assert_eq!(
        *notes,
        json!([
            "other users may read own.db (mode 644), and every conversation in it; chmod 600 own.db makes it yours alone"
        ])
    );
}

#[test]
fn a_session_that_somebody_works_on_is_looked_at_and_left_alone() {
    for desk in Desk::of_each_kind().map(three) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("it can be made");
        let address: StoreAddress = desk.address().parse().expect("an address");
        let store = runtime.block_on(address.open()).expect("it is a store");
        let lease = runtime.block_on(store.lease(SessionId(1))).expect("it is there").expect("it is free");
        assert_eq!(
            desk.refusal(&["rollback", "s0001", "m0002"]),
            "epitome: another process works on s0001; try again when it is done\n"
        );
        assert_eq!(desk.json(&["history", "s0001", "--json"])["leaf"], "m0004");
        let gone = desk.json(&["expire", "--older-than", "1d", "--json"]);
        assert_eq!((&gone["held"], &gone["sessions"][0]["session"]), (&json!(["s0001"]), &json!("s0002")));
        assert_eq!(desk.json(&["doctor", "--json"])["held"], json!(["s0001"]));
        runtime.block_on(store.release(lease));
        desk.printed(&["rollback", "s0001", "m0002"]);
        assert_eq!(desk.json(&["history", "s0001", "--json"])["leaf"], "m0002");
    }
}

/// Of a file alone. A folder in the place of SQLite's shared memory keeps everybody from writing, whoever they are.
#[test]
fn a_store_that_can_only_be_looked_at_is_not_well() {
    let desk = three(Desk::new());
    let store = desk.store().to_str().expect("UTF-8").to_owned();
    drop(std::fs::remove_file(format!("{store}-shm")));
    std::fs::create_dir(format!("{store}-shm")).expect("there is room");
    assert!(desk.printed(&["history", "s0001"]).starts_with("id "), "it can be looked at");
    let ran = desk.run(&["doctor", "--json"]);
    assert_eq!((ran.code, &*ran.err), (Some(1), "epitome: 1 problem found\n"), "{}", ran.out);
    let report: serde_json::Value = serde_json::from_str(&ran.out).expect("one document");
    let [what, remedy] =
        ["what", "remedy"].map(|key| report["problems"][0][key].as_str().expect("it is told"));
    assert!(what.starts_with("it can be looked at and not written: "), "{what}");
    assert_eq!(remedy, format!("make {store} and its folder writable, or name another store with --store"));
}

#[test]
fn a_store_that_cannot_be_opened_does_not_hide_the_tools_sessions() {
    let desk = Desk::new();
    std::fs::create_dir_all(desk.path("data/epitome")).expect("there is room");
    desk.put(
        "data/epitome/epitome.db",
        "no database at all, and long enough to be looked at as one by whoever opens it ".repeat(3),
    );
    let ran = desk.run(&["sessions", "--json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.err.starts_with("note: cannot open the store sqlite:"), "{}", ran.err);
    let listing: serde_json::Value = serde_json::from_str(&ran.out).expect("one document");
    assert_eq!(listing["stored"]["store"], json!(null));
}

/// Of a database alone: what is held in a file is given back by whoever finds that the process has ended.
#[test]
fn whoever_has_ended_holds_nothing_in_a_database() {
    let [_, desk] = Desk::of_each_kind().map(three);
    for args in [&["rollback", "s0001", "m0002"][..], &["sessions", "--stored"], &["history", "s0001"]] {
        desk.printed(args);
        desk.sql("DO $$ BEGIN ASSERT (SELECT count(*) FROM holders WHERE ends > clock_timestamp()) = 0, 'somebody has not left'; END $$");
    }
}
