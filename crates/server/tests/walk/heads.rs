//! The head of a compacted list: the bytes that were sent are stored, and whoever goes on with the session begins with them.

use crate::SMALL;
use crate::stage::{Stage, answer, body, history, serve_stored};
use epitome_core::KeptBodies;
use epitome_engine::store::{Memo, MemoryStore, Store as _};
use epitome_server::ServerStore;
use epitome_upstream::Script;
use reqwest::{Client, StatusCode};
use serde_json::Value;
use std::sync::Arc;

/// Sends a history through a server of its own on a store; what reached the provider, as far as its list goes.
async fn send(stage: &Stage, store: &ServerStore, messages: &[Value]) -> String {
    let (url, running) = serve_stored(&stage.upstream.base_url, SMALL, store.clone()).await;
    let request = Client::new().post(format!("{url}/v1/messages")).header("x-api-key", "a key");
    assert_eq!(answer(request.body(body(messages, false))).await.0, StatusCode::OK);
    running.stop().await;
    let sent = stage.arrived().pop().expect("a request").1;
    sent.strip_suffix("]}").expect("the list is last").to_owned()
}

/// The heads that are stored.
async fn heads(memory: &MemoryStore) -> Vec<Memo> {
    let memos = memory.memos("of ").await.expect("memos");
    memos.into_iter().filter(|memo| memo.name.contains(" head ")).collect()
}

#[tokio::test]
async fn whoever_goes_on_with_a_session_sends_the_head_that_was_stored_and_writes_none_anew() {
    let stage = Stage::new(Script { tool_rounds: 0, ..Script::default() }, SMALL).await;
    let memory = Arc::new(MemoryStore::default());
    let store = ServerStore { store: memory.clone(), key: [7; 32], keep: KeptBodies::All };
    let all = history(60, "the parser");
    let first = send(&stage, &store, &all[..all.len() - 4]).await;
    assert!(first.contains("<epitome-summary"), "{first}");
    let second = send(&stage, &store, &all[..all.len() - 2]).await;
    assert!(second.starts_with(&first), "as it was sent:\n{first}\n{second}");
    // Another version would write this in other words.
    let heads = heads(&memory).await;
    let [head] = &heads[..] else { panic!("one head: {}", heads.len()) };
    let other = |text: &str| text.replace("<epitome-summary", "<epitome-digest");
    let value = other(std::str::from_utf8(&head.value).expect("JSON")).into_bytes();
    memory.keep_memo(head.name.clone(), Some(value)).await.expect("kept");
    let third = send(&stage, &store, &all).await;
    assert!(third.starts_with(&other(&second)), "as it was stored:\n{second}\n{third}");
}

#[tokio::test]
async fn a_branch_that_shares_the_compaction_is_sent_none_of_what_the_other_said_behind_it() {
    let stage = Stage::new(Script { tool_rounds: 0, ..Script::default() }, SMALL).await;
    let memory = Arc::new(MemoryStore::default());
    let store = ServerStore { store: memory.clone(), key: [7; 32], keep: KeptBodies::All };
    let all = history(60, "the parser");
    let sent: Value =
        serde_json::from_str(&format!("{}]}}", send(&stage, &store, &all).await)).expect("JSON");
    let sent = sent["messages"].as_array().expect("messages");
    let whole = sent.iter().rev().zip(all.iter().rev()).take_while(|(sent, said)| sent == said).count();
    // The message that the summary is joined to, and all behind it, in other words.
    let said = |words: &str| -> Vec<Value> {
        let mut other = all.clone();
        for message in &mut other[all.len() - whole - 1..] {
            *message = serde_json::from_str(&message.to_string().replace("the parser", words)).expect("JSON");
        }
        other
    };
    let alpha = send(&stage, &store, &said("ALPHA")).await;
    let bravo = send(&stage, &store, &said("BRAVO")).await;
    let has = |sent: &str| ["<epitome-summary", "ALPHA", "BRAVO"].map(|words| sent.contains(words));
    assert_eq!([has(&alpha), has(&bravo)], [[true, true, false], [true, false, true]], "{bravo}");
    // Each branch has a head of its own: gone on with in turn, none is written anew.
    let stored = heads(&memory).await;
    for (words, sent) in [("ALPHA", &alpha), ("BRAVO", &bravo), ("ALPHA", &alpha)] {
        assert_eq!(send(&stage, &store, &said(words)).await, *sent);
    }
    assert_eq!(heads(&memory).await, stored);
}
