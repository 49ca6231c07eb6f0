//! Replies that are stored when they end, before their client has sent them back: each is one entry, also where the store keeps no texts
//! and another server hears it come back.

use crate::SMALL;
use crate::stage::{Stage, answer, body, serve_stored};
use epitome_core::{EntryId, KeptBodies, Role};
use epitome_engine::store::{MemoryStore, SessionId, Store as _};
use epitome_server::ServerStore;
use epitome_upstream::Script;
use reqwest::{Client, StatusCode};
use serde_json::{Value, json};
use std::sync::Arc;

/// Sends a history through a server of its own on a store; the reply as a client sends it back.
async fn send(stage: &Stage, store: &ServerStore, messages: &[Value]) -> Value {
    let (url, running) = serve_stored(&stage.upstream.base_url, SMALL, store.clone()).await;
    let request = Client::new().post(format!("{url}/v1/messages")).header("x-api-key", "a key");
    let (status, reply) = answer(request.body(body(messages, false))).await;
    assert_eq!(status, StatusCode::OK);
    running.stop().await;
    let reply: Value = serde_json::from_slice(&reply).expect("JSON");
    json!({"role": "assistant", "content": reply["content"]})
}

/// The roles of all entries that are messages, in their order.
async fn roles(memory: &MemoryStore) -> Vec<Role> {
    let log = memory.open_whole(SessionId(1)).await.expect("a session").log;
    (0..log.len() as u32).filter_map(|id| log.item(EntryId(id)).map(|item| item.role)).collect()
}

#[tokio::test]
async fn a_reply_that_comes_back_to_another_server_is_the_one_that_was_stored() {
    for keep in [KeptBodies::All, KeptBodies::Superseded, KeptBodies::None] {
        let stage = Stage::new(Script { tool_rounds: 0, ..Script::default() }, SMALL).await;
        let memory = Arc::new(MemoryStore::default());
        let store = ServerStore { store: memory.clone(), key: [7; 32], keep };
        let mut said = vec![json!({"role": "user", "content": "read the parser"})];
        said.push(send(&stage, &store, &said).await);
        assert_eq!(roles(&memory).await, [Role::User, Role::Assistant], "{keep:?}");
        said.push(json!({"role": "user", "content": "and now?"}));
        send(&stage, &store, &said).await;
        assert_eq!(
            roles(&memory).await,
            [Role::User, Role::Assistant, Role::User, Role::Assistant],
            "{keep:?}"
        );
    }
}
