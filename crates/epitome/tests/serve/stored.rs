//! A server that is restarted in the middle of conversations, by itself or by a kill: on the same store, nobody notices. Where
//! that store is, and what becomes of a server that finds none.

use crate::stage::{Proxy, Speech, Stage, Talk, words};
use epitome_testbed::TestStore;
use serde_json::Value;
use std::fs;
use std::io::Write as _;
use std::net::TcpStream;
use std::time::{Duration, Instant};

const MODEL: &str = "claude-haiku-4-5";
/// Enough for three compactions of a window of 20,000 tokens.
const TURNS: usize = 60;
/// The store is the default one.
const ARGS: [&str; 2] = ["--window", "20000"];

/// So long a server that does not answer is waited for.
const LEASE_TIME: Duration = Duration::from_secs(10);

/// How a server ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Asked,
    Killed,
}

fn serve<'s>(stage: &'s Stage, place: &TestStore) -> Proxy<'s> {
    stage.serve(&[&ARGS[..], &["--store", place.address()]].concat())
}

fn restart<'s>(stage: &'s Stage, proxy: Proxy<'s>, end: End, place: &TestStore) -> Proxy<'s> {
    match end {
        End::Asked => assert!(proxy.interrupt(), "it ends well"),
        // Killed when it is dropped.
        End::Killed => drop(proxy),
    }
    serve(stage, place)
}

fn talk() -> Talk {
    Talk::new(Speech::Anthropic, MODEL).with("x-api-key", "a-clients-key")
}

/// What the provider was sent in a conversation of so many turns, with the server restarted before each of `restarts`, and how
/// many compactions there were.
fn sent(place: &TestStore, restarts: &[usize], end: End) -> (Vec<Vec<Value>>, usize) {
    let stage = Stage::new("");
    let mut proxy = serve(&stage, place);
    let mut talk = talk();
    for turn in 0..TURNS {
        if restarts.contains(&turn) {
            proxy = restart(&stage, proxy, end, place);
        }
        talk.say(&proxy, &words(turn));
    }
    let compactions = proxy.compactions().iter().filter(|record| record["outcome"] == "compacted").count();
    (stage.arrived(), compactions)
}

#[test]
fn a_server_restarted_again_and_again_sends_what_one_that_never_was_sends() {
    let (unbroken, compactions) = sent(&TestStore::sqlite(), &[], End::Asked);
    assert!(compactions >= 3, "{compactions}");
    let [file, database] = TestStore::of_each_kind();
    // What a killed server held in a database is had when its lease is over, after ten seconds: once is enough.
    let ends: [(&TestStore, End, &[usize]); 4] = [
        (&file, End::Asked, &[7, 20, 21, 40, 59]),
        (&file.another(), End::Killed, &[7, 20, 21, 40, 59]),
        (&database, End::Asked, &[7, 20, 21, 40, 59]),
        (&database.another(), End::Killed, &[40]),
    ];
    for (place, end, restarts) in ends {
        let place_name = place.address();
        let (restarted, made) = sent(place, restarts, end);
        assert_eq!(made, compactions, "{end:?} {place_name}");
        for (turn, (with, without)) in restarted.iter().zip(&unbroken).enumerate() {
            assert_eq!(with.len(), without.len(), "{end:?} {place_name}, request {turn}");
        }
        let changes = restarted.windows(2).filter(|pair| !pair[1].starts_with(&pair[0])).count();
        assert_eq!(
            changes, compactions,
            "{end:?} {place_name}: each request extends the last, but at a compaction"
        );
    }
}

/// The sessions that `epitome sessions` finds in the default store.
fn stored(stage: &Stage) -> Vec<Value> {
    let output = stage.command(&["sessions", "--stored", "--json"]).output().expect("the program runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let listed: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    listed["stored"]["sessions"].as_array().expect("a list").clone()
}

#[test]
fn sessions_are_kept_where_the_other_commands_look_unless_somebody_says_otherwise() {
    let stage = Stage::new("");
    let file = stage.path("data/epitome/epitome.db");
    let proxy = stage.serve(&["--store", "memory"]);
    assert_eq!(proxy.kept, "sessions are kept in memory, until it stops");
    talk().say(&proxy, "hello");
    drop(proxy);
    assert!(!file.exists(), "nothing is kept");
    let proxy = stage.serve(&[]);
    assert_eq!(proxy.kept, format!("sessions are kept in sqlite:{}", file.display()));
    talk().say(&proxy, "hello");
    // Nobody waits for what the client will say again: it is stored a moment later.
    let until = Instant::now() + LEASE_TIME;
    while stored(&stage)[0]["entries"] == 0 && Instant::now() < until {}
    let sessions = stored(&stage);
    let seen =
        sessions.iter().map(|one| (one["session"].clone(), one["model"].clone(), one["is_held"].clone()));
    assert_eq!(seen.collect::<Vec<_>>(), [("s0001".into(), MODEL.into(), true.into())]);
    assert!(proxy.interrupt(), "it ends well");
    assert_eq!(stored(&stage)[0]["is_held"], false);
    let elsewhere = stage.serve(&["--store", "elsewhere.db"]);
    assert_eq!(elsewhere.kept, "sessions are kept in sqlite:elsewhere.db");
}

/// What `epitome cost` says of the default store.
fn cost(stage: &Stage) -> Value {
    let output = stage.command(&["cost", "--json"]).output().expect("the program runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// The provider's counts are a few tokens beside ours.
#[test]
fn what_was_saved_is_the_same_to_whoever_asks_the_server_or_the_store() {
    let stage = Stage::new("");
    let proxy = stage.serve(&ARGS);
    let mut talk = talk();
    (0..TURNS).for_each(|turn| talk.say(&proxy, &words(turn)));
    let stats = proxy.get("/api/v1/stats");
    assert!(proxy.interrupt(), "it ends well");
    let saved = cost(&stage)["total"]["saved"].clone();
    let counted = |name: &str| stats[name].as_f64().expect("a number");
    let served = [counted("tokens_without") - counted("tokens_sent"), counted("dollars_saved")];
    for (served, name) in served.into_iter().zip(["tokens", "dollars"]) {
        let stored = saved[name].as_f64().expect("a number");
        assert!((stored / served - 1.0).abs() < 0.1, "{name}: {stored} beside {served}");
    }
}

/// Looks until something is so, or for as long as a server is waited for.
fn until(mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + LEASE_TIME;
    while !is_so() && Instant::now() < until {}
}

#[test]
fn the_last_reply_and_one_that_stands_alone_are_stored_when_they_end() {
    let stage = Stage::new("");
    let proxy = stage.serve(&ARGS);
    let mut talked = talk();
    (0..3).for_each(|turn| talked.say(&proxy, &words(turn)));
    talk().say(&proxy, "a title for this");
    until(|| cost(&stage)["total"]["primary"]["calls"] == 4);
    let told = cost(&stage);
    assert_eq!(told["total"]["primary"]["calls"], 4, "while the server runs: {told}");
    // A message and its reply for each call, and what the provider said of it. Replies are stored behind their clients' backs, so that
    // either session may be the one that changed last.
    let mut entries: Vec<(String, Value)> =
        stored(&stage).iter().map(|one| (one["session"].to_string(), one["entries"].clone())).collect();
    entries.sort_by(|(one, _), (other, _)| one.cmp(other));
    let entries: Vec<Value> = entries.into_iter().map(|(_, entries)| entries).collect();
    assert_eq!(entries, [9, 3], "each reply is there once");
    talked.say(&proxy, &words(3));
    // At the end nothing is waited for.
    assert!(proxy.interrupt(), "it ends well");
    let told = cost(&stage);
    assert_eq!((&told["total"]["primary"]["calls"], stored(&stage).len()), (&5.into(), 2));
}

#[test]
fn a_reply_that_comes_back_in_other_words_is_one_call() {
    let stage = Stage::new("");
    let proxy = stage.serve(&ARGS);
    let mut talk = talk();
    for turn in 0..4 {
        talk.say(&proxy, &words(turn));
        until(|| cost(&stage)["total"]["primary"]["calls"] == turn + 1);
        // The client says less of it than came.
        let reply = talk.messages.last_mut().expect("it was answered");
        reply["content"] = "as you wish".into();
    }
    assert!(proxy.interrupt(), "it ends well");
    assert_eq!((&cost(&stage)["total"]["primary"]["calls"], stored(&stage).len()), (&4.into(), 1));
}

#[test]
fn a_server_told_twice_to_stop_ends_at_once_and_keeps_what_was_answered() {
    let stage = Stage::new("");
    let mut proxy = stage.serve(&ARGS);
    talk().say(&proxy, "hello");
    stage.plan("chat:*=slow=60000");
    let address = proxy.address().strip_prefix("http://").expect("an address").to_owned();
    let mut client = TcpStream::connect(&address).expect("it listens");
    let mut slow = talk();
    slow.messages.push(serde_json::json!({"role": "user", "content": "and now?"}));
    let body = slow.body().to_string();
    let head =
        format!("POST /v1/messages HTTP/1.1\r\nhost: {address}\r\ncontent-length: {}\r\n\r\n", body.len());
    client.write_all(format!("{head}{body}").as_bytes()).expect("it reads");
    until(|| stage.report().requests == 2);
    proxy.signal();
    std::thread::sleep(Duration::from_millis(700));
    assert!(proxy.is_running(), "a request under way is finished");
    proxy.signal();
    let told = Instant::now();
    assert!(proxy.interrupt(), "it ends well");
    assert!(told.elapsed() < Duration::from_secs(5), "{:?}", told.elapsed());
    assert_eq!(
        (&cost(&stage)["total"]["primary"]["calls"], &stored(&stage)[0]["is_held"]),
        (&1.into(), &false.into())
    );
}

#[test]
fn the_other_commands_see_a_session_as_the_server_sent_it() {
    let stage = Stage::new("");
    let proxy = stage.serve(&ARGS);
    let mut talk = talk();
    (0..TURNS).for_each(|turn| talk.say(&proxy, &words(turn)));
    let sent = stage.arrived().pop().expect("a request");
    assert!(proxy.interrupt(), "it ends well");
    let output = stage.command(&["context", "--session", "s0001"]).output().expect("the program runs");
    let body: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(
        body["messages"].as_array().map(Vec::len),
        Some(sent.len() + 2),
        "with the reply, and a word to go on"
    );
    let undo = ["undo", "--session", "s0001", "--json"];
    let output = stage.command(&undo).output().expect("the program runs");
    let line: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert!(line["tokens_after"].as_u64() > line["tokens_before"].as_u64(), "{line}");
}

#[test]
fn where_there_is_no_place_for_a_store_that_nobody_named_it_is_served_from_memory_and_said() {
    let stage = Stage::new("");
    stage.put("data", "no folder");
    let proxy = stage.serve(&[]);
    assert_eq!(proxy.kept, "sessions are kept in memory, until it stops");
    talk().say(&proxy, "hello");
    let folder = stage.path("data/epitome");
    let told = format!("cannot make the folder {}: ", folder.display());
    let rest = "; sessions are kept in memory; --store names a place for them";
    let is_told = |line: &str| line.starts_with(&told) && line.ends_with(rest);
    assert!(stage.told().lines().any(is_told), "{}", stage.told());
    drop(proxy);
    let named = stage.command(&["serve", "--listen", "0", "--store", "data/epitome/here.db"]);
    let output = { named }.output().expect("the program runs");
    let refused = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && refused.starts_with("epitome: cannot make the folder"), "{refused}");
}

#[test]
fn what_lies_in_the_place_of_the_store_and_is_none_is_refused() {
    let stage = Stage::new("");
    stage.put("data/epitome/epitome.db", &"no store ".repeat(600));
    let output = stage.command(&["serve", "--listen", "0"]).output().expect("the program runs");
    let refused = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        !output.status.success() && refused.contains("`epitome doctor` tells what can be read"),
        "{refused}"
    );
    let kept = fs::read_to_string(stage.path("data/epitome/epitome.db")).expect("it is text");
    assert_eq!(kept, "no store ".repeat(600));
}

#[test]
fn memory_is_a_store_of_no_command_but_serve() {
    let stage = Stage::new("");
    let output = stage.command(&["sessions", "--stored", "--store", "memory"]).output().expect("it runs");
    let told = "epitome: `memory` keeps sessions of a running `serve` and no others; name a store with --store sqlite:PATH\n";
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(1), told));
    let mut listing = stage.command(&["sessions", "--json"]);
    let output = listing.env("EPITOME_STORE", "memory").output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_conversation_goes_from_server_to_server_without_waiting_for_a_lease() {
    let stage = Stage::new("");
    let servers = [stage.serve(&ARGS), stage.serve(&ARGS)];
    let mut talk = talk();
    let begun = Instant::now();
    for turn in 0..TURNS / 2 {
        talk.say(&servers[turn % 2], &words(turn));
    }
    let each = begun.elapsed() / (TURNS / 2) as u32;
    assert!(each < LEASE_TIME / 4, "each turn took {each:?}");
    let arrived = stage.arrived();
    let compacted = |server: &Proxy<'_>| {
        server.compactions().iter().filter(|record| record["outcome"] == "compacted").count()
    };
    let changes = arrived.windows(2).filter(|pair| !pair[1].starts_with(&pair[0])).count();
    assert!(changes >= 1, "nothing was compacted");
    assert_eq!(changes, servers.iter().map(compacted).max().expect("there are two"));
    let sessions = stored(&stage);
    assert_eq!(sessions.len(), 1, "it is one session: {sessions:?}");
}

#[test]
fn commands_act_on_a_session_that_a_server_holds() {
    let stage = Stage::new("");
    let proxy = stage.serve(&ARGS);
    let mut talk = talk();
    talk.until_compacted(&proxy);
    let undone = stage.command(&["undo", "--session", "s0001", "--json"]).output().expect("it runs");
    let told: Value = serde_json::from_slice(&undone.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&undone.stderr)));
    assert_eq!((&told["outcome"], &told["session"]), (&"undone".into(), &"s0001".into()));
    let changed = stored(&stage)[0]["changed_ms"].as_u64().expect("a time");
    let moved = stage.command(&["rollback", "s0001", "m0000"]).output().expect("it runs");
    assert!(moved.status.success(), "{}", String::from_utf8_lossy(&moved.stderr));
    let sessions = stored(&stage);
    assert!(sessions[0]["changed_ms"].as_u64() > Some(changed), "a rollback is a change");
    assert_eq!(sessions[0]["leaf"], "m0000");
    talk.say(&proxy, "and on");
    assert_eq!(stored(&stage).len(), 1, "it goes on in the same session");
}

#[test]
fn two_servers_on_one_file_serve_a_conversation_each() {
    let stage = Stage::new("");
    let servers = [stage.serve(&ARGS), stage.serve(&ARGS)];
    let mut talks = [talk(), talk()];
    for turn in 0..TURNS / 2 {
        for (at, talk) in talks.iter_mut().enumerate() {
            talk.say(&servers[at], &format!("conversation {at}: {}", words(turn)));
        }
    }
    for server in &servers {
        assert!(
            server.compactions().iter().any(|record| record["outcome"] == "compacted"),
            "{}",
            server.kept
        );
    }
    let sessions = stored(&stage);
    let entries = |at: usize| sessions[at]["entries"].as_u64().expect("a number");
    assert_eq!(sessions.len(), 2);
    assert!(entries(0) >= TURNS as u64 && entries(1) >= TURNS as u64, "{sessions:?}");
}

#[test]
fn a_served_session_is_called_after_what_a_person_said_first() {
    let stage = Stage::new("");
    let proxy = stage.serve(&ARGS);
    let mut talk = talk();
    talk.say(&proxy, "please look at\n  the parser");
    talk.say(&proxy, "and at the walk");
    assert!(proxy.interrupt(), "it ends well");
    let names: Vec<Value> = stored(&stage).iter().map(|one| one["title"].clone()).collect();
    assert_eq!(names, ["please look at the parser"]);
    let shown = stage.command(&["sessions", "--stored"]).output().expect("the program runs");
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(shown.contains("please look at the parser"), "{shown}");
}

#[test]
fn calls_whose_stream_says_nothing_of_what_they_took_are_told_as_our_own_count() {
    let stage = Stage::new("");
    let proxy = stage.serve(&ARGS);
    for (turn, options) in [(0, Value::Null), (1, serde_json::json!({"include_usage": true}))] {
        let messages = serde_json::json!([{"role": "user", "content": words(turn)}]);
        let mut body = serde_json::json!({"model": "gpt-4o", "stream": true, "messages": messages});
        if !options.is_null() {
            body["stream_options"] = options;
        }
        assert_eq!(proxy.try_act(reqwest::Method::POST, "/v1/chat/completions", &body).0, 200);
    }
    until(|| cost(&stage)["total"]["primary"]["calls"] == 2);
    assert!(proxy.interrupt(), "it ends well");
    let total = cost(&stage)["total"]["primary"].clone();
    assert_eq!((&total["calls"], &total["estimated"]), (&2.into(), &1.into()), "{total}");
    let shown = stage.command(&["cost"]).output().expect("the program runs");
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(shown.contains("1 of the calls by our own count: their provider said nothing"), "{shown}");
}
