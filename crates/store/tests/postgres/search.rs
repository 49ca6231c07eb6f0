//! Full text: what was said is found by its words, by identifiers, in any script, by tool and file, and where it was asked for.

use super::{begin, open};
use epitome_core::{Author, Block, Call, Entry, EntryId, Item, Message, Role};
use epitome_engine::AppendedEntry;
use epitome_engine::store::{CommitBatch, Lease, SearchQuery, SessionId, Store, TenantId};
use epitome_store::PostgresStore;
use epitome_testbed::TestPostgres;
use std::sync::Arc;

async fn say(store: &PostgresStore, lease: Lease, messages: Vec<Message>) {
    let mut batch = CommitBatch { time_ms: Some(50), ..CommitBatch::default() };
    for (id, message) in (0..).map(EntryId).zip(messages) {
        let parent = id.0.checked_sub(1).map(EntryId);
        batch.entries.push(AppendedEntry { id, parent, entry: Entry::Message(Item::of(&message)) });
        batch.messages.push((id, Arc::new(message)));
    }
    store.commit(lease, 0, batch).await.expect("it is committed");
}

fn text(said: &str) -> Message {
    Message::text(Role::User, Author::Person, said)
}

fn asked(words: &str) -> SearchQuery {
    SearchQuery { words: words.into(), ..SearchQuery::default() }
}

async fn found(store: &PostgresStore, query: &SearchQuery) -> Vec<(SessionId, u32)> {
    let hits = store.search(query).await.expect("it can be searched");
    hits.into_iter().map(|hit| (hit.session, hit.entry.0)).collect()
}

#[tokio::test]
async fn what_was_said_is_found_and_nothing_else() {
    let store = open(&TestPostgres::shared().database()).await;
    let lease = begin(&store).await;
    let session = lease.session;
    let input = r#"{"path":"src/walk.rs"}"#;
    let call = Call { id: "c".into(), name: "read_file".into(), input: input.into(), freeform: false };
    let calling = Message { role: Role::Assistant, author: Author::Model, blocks: vec![Block::Call(call)] };
    let said = "why does parse_header fail on an empty Line?";
    say(
        &store,
        lease,
        vec![text(said), calling, text("上下文窗口已满"), text("a header, in other words a header")],
    )
    .await;
    let wanted = [
        (asked("empty parse_header"), vec![0]),
        (asked("header LINE"), vec![0]),
        (asked("header"), vec![3, 0]),
        (asked("pars"), vec![0]),
        (asked("窗口"), vec![2]),
        (asked("it's 'quoted' & odd:*"), vec![]),
        (SearchQuery { tool: Some("read_file".into()), ..asked("") }, vec![1]),
        (SearchQuery { file: Some("walk.rs".into()), ..asked("") }, vec![1]),
        (SearchQuery { tool: Some("header".into()), ..asked("") }, vec![]),
        (SearchQuery { tenant: Some(TenantId([9; 32])), ..asked("header") }, vec![]),
        (SearchQuery { session: Some(SessionId(u64::MAX >> 2)), ..asked("header") }, vec![]),
        (SearchQuery { until_ms: Some(50), ..asked("header") }, vec![]),
        (SearchQuery { since_ms: Some(50), limit: Some(1), ..asked("header") }, vec![3]),
    ];
    for (query, entries) in wanted {
        let expected: Vec<_> = entries.into_iter().map(|entry| (session, entry)).collect();
        assert_eq!(found(&store, &query).await, expected, "{query:?}");
    }
    let hits = store.search(&asked("parse_header")).await.expect("it can be searched");
    assert_eq!((hits[0].role, hits[0].time_ms, hits[0].snippet.as_str()), (Role::User, Some(50), said));
    store.remove(session).await.expect("it is removed");
    assert_eq!(found(&store, &asked("header")).await, [], "what is removed is not found");
}

#[tokio::test]
async fn a_message_with_more_words_than_a_vector_holds_is_found_by_each() {
    let store = open(&TestPostgres::shared().database()).await;
    let lease = begin(&store).await;
    let words: Vec<String> = (0..150_000).map(|number| format!("word{number}")).collect();
    say(&store, lease, vec![text(&words.join(" "))]).await;
    for word in ["word0 ", "word75000 ", "word149999 "] {
        assert_eq!(found(&store, &asked(word)).await, [(lease.session, 0)], "{word}");
    }
}

#[tokio::test]
async fn replicas_that_look_at_once_index_once() {
    let address = TestPostgres::shared().database();
    let stores = [open(&address).await, open(&address).await, open(&address).await];
    let lease = begin(&stores[0]).await;
    say(&stores[0], lease, (0..500).map(|number| text(&format!("needle{number} in hay"))).collect()).await;
    let query = asked("needle450 ");
    let looks = stores.iter().map(|store| found(store, &query));
    assert_eq!(futures_util::future::join_all(looks).await, vec![vec![(lease.session, 450)]; 3]);
    let count = TestPostgres::shared().run(&address, "SELECT count(*) FROM epitome.texts");
    assert_eq!(count, "500");
}
