//! Requests read with what is known of their lists, beside the same requests read alone.

use crate::body::{Body, BodyText};
use crate::books::BookLimits;
use crate::request::ReadBody;
use crate::seen_lists::{CHUNK_BYTES, ENDS_MAX, LIST_BYTES_MIN, SeenLists, WEIGHT_MAX};
use crate::server_state::ServerState;
use crate::walk::tests::state;
use crate::work_count::{self, WorkCount};
use epitome_engine::store::ChainHash;
use epitome_wire::Protocol;
use serde_json::{Value, json};
use std::sync::Arc;

/// What a request is found by and cut from, or why it is none.
type Reading = Result<(Vec<String>, usize, Vec<ChainHash>), String>;

fn server() -> Arc<ServerState> {
    state(BookLimits::default(), |notice| panic!("{notice}"))
}

/// Reads a body as the router does, with the lists that `lists` has seen.
fn read(state: &ServerState, lists: &SeenLists, protocol: Protocol, body: &str, key: &str) -> Reading {
    let tenant = state.key.tenant([key.as_bytes()].into_iter());
    let recall = |list: &str| lists.recall(&state.key, tenant, protocol, list.as_bytes());
    let read = Body::read(protocol, BodyText::from(body), recall);
    let read = read.and_then(|body| ReadBody::new(state, protocol, body));
    read.map_err(|error| error.to_string()).map(|ReadBody { body, opening, hashes, .. }| {
        ((0..body.len()).map(|at| body.element(at).to_owned()).collect(), opening, hashes)
    })
}

/// A body of so many turns, about a kilobyte each.
fn body(protocol: Protocol, turns: usize) -> String {
    let message = |turn: usize| {
        let role = if turn.is_multiple_of(2) { "user" } else { "assistant" };
        json!({"role": role, "content": format!("turn {turn}: {}", "a line of it\n".repeat(turn % 7 * 20))})
    };
    let system = (protocol == Protocol::OpenaiChat).then(|| json!({"role": "system", "content": "be brief"}));
    let list: Vec<Value> = system.into_iter().chain((0..turns).map(message)).collect();
    let field = if protocol == Protocol::OpenaiResponses { "input" } else { "messages" };
    json!({"model": "m", field: list, "max_tokens": 9}).to_string()
}

const PROTOCOLS: [Protocol; 3] = [Protocol::Anthropic, Protocol::OpenaiChat, Protocol::OpenaiResponses];

#[tokio::test]
async fn what_is_known_of_a_list_changes_nothing_of_how_it_is_read() {
    for protocol in PROTOCOLS {
        let warm = server();
        let mut bodies: Vec<String> = (1..80).step_by(13).map(|turns| body(protocol, turns)).collect();
        let whole = bodies.last().expect("bodies").clone();
        // Cut short, edited, with more or less space, with another end, and with things behind the list.
        for at in (0..whole.len()).step_by(whole.len() / 41) {
            bodies.push(whole[..at].to_owned());
            bodies.push(format!("{}x{}", &whole[..at], &whole[at..]));
            bodies.push(format!("{}{}", &whole[..at], &whole[at + 1..]));
        }
        bodies.push(whole.replace("},{", "} , {"));
        bodies.push(whole.replace("]", ",]"));
        bodies.push(whole.replace("]", "}]"));
        bodies.push(format!("{whole} "));
        bodies.push(format!("{whole}x"));
        bodies.push(whole.clone());
        for body in &bodies {
            let with_known = read(&warm, &warm.lists, protocol, body, "a key");
            assert_eq!(with_known, read(&warm, &SeenLists::default(), protocol, body, "a key"));
        }
    }
}

/// What reading takes when a body comes: bytes parsed and hashed.
fn work_on(state: &ServerState, body: &str) -> WorkCount {
    work_count::take();
    read(state, &state.lists, Protocol::Anthropic, body, "a key").expect("a request");
    work_count::take()
}

#[tokio::test]
async fn a_request_costs_what_is_new_in_it_at_the_thousandth_turn_as_at_the_hundredth() {
    let state = server();
    let mut seen = Vec::new();
    for turn in 1..=1_000 {
        let work = work_on(&state, &body(Protocol::Anthropic, turn));
        // What is new, and the few fields around the list; short lists are not looked up.
        let (new, around) = (1_800, 64);
        let is_new = work.parsed <= new + around && work.hashed <= new;
        assert!(is_new || work.parsed <= LIST_BYTES_MIN + new + around, "turn {turn}: {work:?}");
        seen.push(work);
    }
    // Two turns of the same length, of the seven there are.
    assert_eq!(seen[102], seen[998]);
    assert!(seen[998].hashed > 1_000, "{:?}", seen[998]);
}

#[tokio::test]
async fn what_is_sent_again_costs_nothing_and_a_last_message_that_changes_a_chunk_at_most() {
    let state = server();
    let (whole, list_fields) = (body(Protocol::Anthropic, 400), 64);
    work_on(&state, &whole);
    let again = work_on(&state, &whole);
    assert!(again.parsed <= list_fields && again.hashed == 0, "{again:?}");
    for minute in 0..2 * ENDS_MAX {
        let trailer = format!(r#"{{"role":"user","content":"it is 12:0{minute}"}}],"max_tokens""#);
        let edited = whole.replace(r#"],"max_tokens""#, &format!(",{trailer}"));
        let work = work_on(&state, &edited);
        assert!(work.parsed <= CHUNK_BYTES + list_fields && work.hashed <= CHUNK_BYTES, "{work:?}");
    }
}

#[tokio::test]
async fn nobody_is_helped_by_what_another_has_sent() {
    let state = server();
    let whole = body(Protocol::Anthropic, 100);
    work_on(&state, &whole);
    read(&state, &state.lists, Protocol::Anthropic, &whole, "another key").expect("a request");
    assert!(work_count::take().hashed > whole.len() / 2);
}

#[tokio::test]
async fn the_lists_of_a_day_take_no_more_than_their_share() {
    let state = server();
    let words = r#",{"role":"user","content":"a"}"#.repeat(5_000);
    for number in 0..40 {
        let talk = format!(r#"{{"messages":[{{"role":"user","content":"talk {number}"}}{words}]}}"#);
        work_on(&state, &talk);
        let weight = state.lists.trie().weight;
        assert!(weight <= WEIGHT_MAX, "{weight}");
        let chunks: usize = state.lists.trie().chunks.values().map(super::ListChunk::weight).sum();
        assert_eq!(chunks, weight, "all of it is counted");
    }
    assert!(state.lists.trie().weight > WEIGHT_MAX / 2);
}
