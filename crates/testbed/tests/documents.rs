//! Documents and other blocks that we carry and do not read, beside words that are cut for want of room: a document stands
//! or gives way whole, and never costs the words beside it more than their share.

use epitome_core::{
    Author, Block, EntryId, Measure, Message, Opaque, ResultPart, Role, Tokens, ToolResult, Trigger,
};
use epitome_testbed::{Bed, Maker, Quarter};

/// A document takes 2,000 tokens by the bed's count.
fn document() -> Block {
    let json = r#"{"type":"document","source":{"type":"url","url":"https://example.com/a.pdf"}}"#;
    Block::Opaque(Opaque { kind: "document".into(), json: json.into() })
}

/// A person says so many tokens beside a document.
fn say_with_document(bed: &mut Bed, tokens: u64) -> EntryId {
    let blocks = vec![Block::text(bed.filler(tokens)), document()];
    bed.say(Message { role: Role::User, author: Author::Person, blocks })
}

/// A message as it is shown.
fn shown(bed: &Bed, id: EntryId) -> Message {
    let views = bed.session.shown().expect("all is in memory");
    let view = views.into_iter().find(|view| view.id == Some(id)).expect("it is in view");
    Message::clone(&view.message)
}

#[test]
fn words_beside_a_document_keep_their_share_of_a_newest_part_that_is_cut() {
    let mut bed = Maker::new("default", 10_000)
        .set(|settings| {
            settings.keep.always = Vec::new();
            settings.trigger.target = Some("50%".parse().expect("a threshold"));
        })
        .bed();
    bed.talk(20, 200);
    let call = bed.call(&[("read", r#"{"path":"a.pdf"}"#)]);
    let id = bed.original(call).calls().next().expect("it is one").id.clone();
    let Block::Opaque(carried) = document() else { panic!("it is carried") };
    let parts =
        vec![ResultPart::Text { text: bed.filler(1_500).into() }, ResultPart::Opaque(carried.clone())];
    let read = Block::Result(ToolResult { call: id, parts, is_error: false });
    let result = bed.say(Message { role: Role::Tool, author: Author::Tool, blocks: vec![read] });
    bed.compact(Trigger::Threshold);
    let shown = shown(&bed, result);
    let answer = shown.results().next().expect("the pair stays a pair");
    let [ResultPart::Text { text }, ResultPart::Opaque(kept)] = &answer.parts[..] else {
        panic!("{answer:?}")
    };
    // Its part of the target, one and a half thousand tokens, is taken by the document alone; half as much is the words' all the same.
    assert!(
        text.starts_with("000021 lorem ipsum") && text.contains("1,500 tokens in all; recall m0021"),
        "{text}"
    );
    assert_eq!((Quarter.text(text), kept), (Tokens(745), &carried));
}

#[test]
fn a_document_gives_way_where_it_would_leave_the_words_beside_it_no_room() {
    let mut bed = Maker::new("default", 4_900).bed();
    let first = say_with_document(&mut bed, 110);
    let words = bed.original(first).blocks[0].clone();
    bed.talk(3, 129);
    let newest = bed.user("mind the tests, please, and all of them");
    bed.exchange("read", r#"{"path":"src/main.rs"}"#, &bed.filler(80));
    // The provider says that nearly all of it is too much: what is left has no room for the document.
    bed.recover(Some(4_000));
    assert_eq!(shown(&bed, first).blocks, [words, Block::text("[document; recall m0000]")]);
    assert_eq!(shown(&bed, newest), *bed.original(newest));
}

#[test]
fn a_document_that_is_to_be_answered_stands_whatever_the_provider_says() {
    let mut bed = Maker::new("default", 4_900).bed();
    bed.talk(6, 129);
    let newest = say_with_document(&mut bed, 110);
    bed.recover(Some(4_000));
    assert_eq!(shown(&bed, newest).blocks, [Block::text("[recall m0006]"), document()]);
}
