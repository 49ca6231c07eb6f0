//! What is found comes the best match first, by each database's own measure of it.

use epitome_core::{Author, Message, Role};
use epitome_engine::store::{SearchQuery, TenantId};
use epitome_engine::{Engine, HashedMessages};
use epitome_store::StoreAddress;
use epitome_testbed::TestStore;

#[tokio::test]
async fn a_short_message_about_the_words_stands_before_a_long_one_that_names_them() {
    for place in TestStore::of_each_kind() {
        hold_ranking(&place).await;
    }
}

async fn hold_ranking(place: &TestStore) {
    let store = place.address().parse::<StoreAddress>().expect("an address").open().await;
    let engine = Engine::new(store.expect("it is made"));
    let session = engine.create(TenantId::LOCAL).await.expect("it is made");
    let long = format!("the lease is named once, {}", "and much else is said of other things, ".repeat(20));
    let texts = ["the lease, and who holds the lease".to_owned(), long, "nothing of the kind".to_owned()];
    let said = |text: &String| (Message::text(Role::User, Author::Person, text.clone()), None);
    let messages = texts.iter().map(said).chain((0..9).map(|_| said(&texts[2]))).collect();
    let arrival = HashedMessages { messages, ..HashedMessages::default() };
    let ids = engine.append(session, None, arrival).await.expect("it is stored");
    let query = SearchQuery { words: "lease".into(), ..SearchQuery::default() };
    let hits = engine.search(&query).await.expect("it can be searched");
    assert_eq!(hits.iter().map(|hit| hit.entry).collect::<Vec<_>>(), ids[..2], "{hits:?}");
    assert!(hits[0].score > hits[1].score && hits[1].score > 0.0, "{hits:?}");
}

#[tokio::test]
async fn of_a_word_that_is_everywhere_the_newest_are_ranked_and_of_a_rarer_one_all() {
    for place in TestStore::of_each_kind() {
        let store = place.address().parse::<StoreAddress>().expect("an address").open().await;
        let engine = Engine::new(store.expect("it is made"));
        let session = engine.create(TenantId::LOCAL).await.expect("it is made");
        let said = |text: &str| (Message::text(Role::User, Author::Person, text), None);
        // The first is the best match for either word; of as many as are ranked it is one too many.
        let messages = [said("hay, rare")].into_iter();
        let messages =
            messages.chain((0..5_000).map(|_| said("some hay and what else there is to say of it")));
        let messages = messages.chain([said("what is rare is said once more, and at some length")]).collect();
        let arrival = HashedMessages { messages, ..HashedMessages::default() };
        let ids = engine.append(session, None, arrival).await.expect("it is stored");
        let found = async |words: &str| {
            let query = SearchQuery { words: words.into(), limit: Some(10_000), ..SearchQuery::default() };
            let hits = engine.search(&query).await.expect("it can be searched");
            hits.iter().map(|hit| hit.entry).collect::<Vec<_>>()
        };
        assert_eq!(found("rare ").await, [ids[0], ids[5_001]]);
        let everywhere = found("hay ").await;
        assert_eq!((everywhere.len(), everywhere.contains(&ids[0])), (5_000, false));
        assert_eq!(found("hay rare ").await, [ids[0]]);
    }
}
