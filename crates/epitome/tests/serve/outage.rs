//! A store that fails in the middle of a conversation: no call of a client fails by it, every request goes on from the one before, and
//! what was said meanwhile is stored once the store takes it again.

use crate::stage::{Proxy, Speech, Stage, Talk, words};
use epitome_testbed::{TestPostgres, TestStore};
use rusqlite::Connection;
use serde_json::Value;
use std::cell::Cell;
use std::process::Command;
use std::time::Duration;

const MODEL: &str = "claude-haiku-4-5";
const WINDOW: [&str; 2] = ["--window", "14000"];
/// Enough for a compaction in each part of a conversation of three: before the store fails, while it does, and behind that.
const TURNS: usize = 22;
/// It has been compacted five times by then, which leaves enough out of view, and is not to be again for some turns.
const COMPACTED: usize = 43;
/// More do not fit the window.
const TURNS_IN_VIEW_MAX: usize = 18;
/// Longer than a store that failed is left alone.
const RETRY: Duration = Duration::from_millis(2_100);
/// What a conversation is told by once its store fails, and once it answers.
const FAILS: &str = "until then conversations are kept in memory alone";
const ANSWERS: &str = "the store answers again; ";

/// What becomes of a store in the middle of a conversation.
struct Outage<'o> {
    begin: &'o dyn Fn(&Proxy<'_>),
    end: &'o dyn Fn(&Proxy<'_>),
}

fn serve<'s>(stage: &'s Stage, address: &str) -> Proxy<'s> {
    stage.serve(&[&WINDOW[..], &["--store", address]].concat())
}

/// What the messages of a request body say.
fn texts(messages: &[Value]) -> Vec<String> {
    let text = |content: &Value| match content {
        Value::String(text) => text.clone(),
        blocks => blocks[0]["text"].as_str().expect("words alone").to_owned(),
    };
    messages.iter().map(|message| text(&message["content"])).collect()
}

/// What a command prints of the store.
fn told(stage: &Stage, address: &str, args: &[&str]) -> Value {
    let output = stage.command(&[args, &["--json", "--store", address]].concat()).output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// What the messages of the only session of a store say, in their order.
fn stored_texts(stage: &Stage, address: &str) -> Vec<String> {
    let sessions = told(stage, address, &["sessions", "--stored"]);
    assert_eq!(sessions["stored"]["found"], 1, "{sessions}");
    let history = told(stage, address, &["history", "s0001"]);
    let rows = history["entries"].as_array().expect("a list").iter();
    let messages = rows.filter(|row| ["user", "reply"].contains(&row["kind"].as_str().expect("a kind")));
    let ids: Vec<&str> = messages.map(|row| row["id"].as_str().expect("an id")).collect();
    let shown = told(stage, address, &[&["show", "s0001"], &ids[..]].concat());
    let text =
        |shown: &Value| shown["message"]["blocks"][0]["text"].as_str().expect("words alone").to_owned();
    shown.as_array().expect("a list").iter().map(text).collect()
}

/// Where two lists of texts begin to differ, and the texts there.
fn first_difference(one: &[String], other: &[String]) -> Option<(usize, Option<String>, Option<String>)> {
    let brief = |text: &String| text.chars().take(60).collect();
    let differs = |&at: &usize| one.get(at) != other.get(at);
    let at = (0..one.len().max(other.len())).find(differs)?;
    Some((at, one.get(at).map(brief), other.get(at).map(brief)))
}

/// Holds a server to a conversation through an outage; `is_restarted` says whether it has what came before from the store alone.
fn hold_through(address: &str, is_restarted: bool, outage: &Outage<'_>) {
    let stage = Stage::new("");
    let mut proxy = serve(&stage, address);
    let mut talk = Talk::new(Speech::Anthropic, MODEL).with("x-api-key", "a-clients-key");
    let turn = Cell::new(0);
    let talk_on = |talk: &mut Talk, proxy: &Proxy<'_>, turns: usize| {
        for at in turn.get()..turn.get() + turns {
            talk.say(proxy, &words(at));
        }
        turn.set(turn.get() + turns);
    };
    let compactions =
        |proxy: &Proxy<'_>| proxy.compactions().iter().filter(|one| one["outcome"] == "compacted").count();
    talk_on(&mut talk, &proxy, TURNS);
    if is_restarted {
        assert!(proxy.interrupt(), "it ends well");
        proxy = serve(&stage, address);
        talk_on(&mut talk, &proxy, 1);
    }
    let before = compactions(&proxy);
    (outage.begin)(&proxy);
    talk_on(&mut talk, &proxy, TURNS);
    let during = compactions(&proxy);
    assert!(during > before && before > 0, "{before} compactions before and {during} in all");
    (outage.end)(&proxy);
    std::thread::sleep(RETRY);
    talk_on(&mut talk, &proxy, TURNS);
    let after = compactions(&proxy);
    let log = stage.told();
    let of_store = |line: &&str| !line.contains(": compacted from ");
    let of_store: Vec<&str> = log.lines().filter(of_store).collect();
    assert!(
        matches!(of_store[..], [fails, answers] if fails.ends_with(FAILS) && answers.starts_with(ANSWERS)),
        "{log}"
    );
    assert!(proxy.interrupt(), "it ends well");
    let (stored, said) = (stored_texts(&stage, address), texts(&talk.messages));
    assert_eq!(first_difference(&stored, &said), None, "each message once, in its place: {log}");
    assert_eq!(told(&stage, address, &["doctor"])["problems"], serde_json::json!([]));
    // Whoever goes on from the store alone sends what follows.
    talk_on(&mut talk, &serve(&stage, address), 1);
    let arrived = stage.arrived();
    let changes = arrived.windows(2).filter(|pair| !pair[1].starts_with(&pair[0])).count();
    assert_eq!((arrived.len(), changes), (turn.get(), after), "each extends the last, but at a compaction");
}

/// Has files of a server grow no further than so many bytes, as on a disk that is full.
fn limit_files(proxy: &Proxy<'_>, bytes: &str) {
    let limit = [format!("--pid={}", proxy.process()), format!("--fsize={bytes}")];
    assert!(Command::new("prlimit").args(limit).status().expect("it runs").success());
}

#[test]
fn a_conversation_goes_on_while_there_is_no_room_for_its_file() {
    for is_restarted in [false, true] {
        let place = TestStore::sqlite();
        // The server's own log is shorter than that, and what is in the store longer.
        let begin = |proxy: &Proxy<'_>| limit_files(proxy, "40000:unlimited");
        let end = |proxy: &Proxy<'_>| limit_files(proxy, "unlimited");
        hold_through(place.address(), is_restarted, &Outage { begin: &begin, end: &end });
    }
}

#[test]
fn a_conversation_goes_on_while_another_process_writes_to_its_file() {
    let place = TestStore::sqlite();
    let path = place.address().trim_start_matches("sqlite:");
    let other: Cell<Option<Connection>> = Cell::default();
    let begin = |_: &Proxy<'_>| {
        let connection = Connection::open(path).expect("it is there");
        connection.execute_batch("BEGIN IMMEDIATE").expect("nobody writes for long");
        other.set(Some(connection));
    };
    let end = |_: &Proxy<'_>| drop(other.take());
    hold_through(place.address(), false, &Outage { begin: &begin, end: &end });
}

#[test]
fn a_conversation_goes_on_while_its_database_is_stopped() {
    let postgres = TestPostgres::start(&[]);
    for is_restarted in [false, true] {
        let outage = Outage { begin: &|_| postgres.stop(), end: &|_| postgres.start_again() };
        hold_through(&postgres.database(), is_restarted, &outage);
    }
}

/// What a compaction reads is not at hand, so that none can be made in the session itself.
#[test]
fn a_session_that_is_known_in_part_goes_on_anew_in_memory_until_its_database_answers() {
    let (postgres, stage) = (TestPostgres::start(&[]), Stage::new(""));
    let address = postgres.database();
    // Whoever writes summaries beforehand reads all of a session.
    stage.settings("[speculate]\nenabled = false\n");
    let mut talk = Talk::new(Speech::Anthropic, MODEL).with("x-api-key", "a-clients-key");
    let proxy = serve(&stage, &address);
    // Right behind its fifth compaction.
    (0..COMPACTED).for_each(|turn| talk.say(&proxy, &words(turn)));
    assert!(proxy.interrupt(), "it ends well");
    let proxy = serve(&stage, &address);
    talk.say(&proxy, &words(COMPACTED));
    postgres.stop();
    (0..TURNS).for_each(|turn| talk.say(&proxy, &words(COMPACTED + 1 + turn)));
    postgres.start_again();
    std::thread::sleep(RETRY);
    (0..2).for_each(|turn| talk.say(&proxy, &words(COMPACTED + TURNS + 1 + turn)));
    let longest = stage.arrived().iter().map(Vec::len).max();
    assert!(longest < Some(TURNS_IN_VIEW_MAX * 2), "{longest:?} messages do not fit: {}", stage.told());
    assert!(proxy.interrupt(), "it ends well");
    assert_eq!(first_difference(&stored_texts(&stage, &address), &texts(&talk.messages)), None);
}
