//! Messages cut to so many tokens: what is left of them, and how large it is.

use super::{Form, without_address};
use crate::policy::Notice;
use crate::{
    Author, Block, Call, EntryId, Image, Measure, Message, Opaque, ResultPart, Role, Tokens, ToolResult,
};
use std::sync::Arc;

/// A byte is a token.
struct Bytes;

impl Measure for Bytes {
    fn text(&self, text: &str) -> Tokens {
        Tokens(text.len() as u64)
    }
    fn image(&self, _: &Image) -> Tokens {
        Tokens(1)
    }
    fn framing(&self) -> Tokens {
        Tokens::ZERO
    }
}

/// The same with what a protocol adds around messages, calls and results.
struct Framed;

impl Measure for Framed {
    fn text(&self, text: &str) -> Tokens {
        Bytes.text(text)
    }
    fn image(&self, image: &Image) -> Tokens {
        Bytes.image(image)
    }
    fn framing(&self) -> Tokens {
        Tokens(4)
    }
    fn call_framing(&self) -> Tokens {
        Tokens(58)
    }
    fn result_framing(&self) -> Tokens {
        Tokens(16)
    }
}

#[test]
fn a_shortened_result_is_filled_to_what_its_framing_leaves() {
    let lines: String = (0..400).map(|line| format!("{line}\n")).collect();
    let parts = vec![ResultPart::Text { text: lines.as_str().into() }];
    let result = ToolResult { call: "1".into(), parts, is_error: false };
    let call = Call { id: "2".into(), name: "read".into(), input: "{}".into(), freeform: false };
    let blocks = vec![Block::Result(result), Block::Call(call)];
    let message = Arc::new(Message { role: Role::Tool, author: Author::Tool, blocks });
    for shorten in [300, 500, 900] {
        let form = Form { shorten: Some(Tokens(shorten)), ..Form::WHOLE };
        let shown = form.apply(EntryId(7), &message, &Framed);
        let told = shown.results().next().expect("it is still there").text();
        assert!(told.starts_with("0\n1\n") && told.ends_with("399\n"), "{told}");
        let size = Framed.sizes(&shown).total();
        assert!((shorten - 3..=shorten).contains(&size.0), "{size} of {shorten}");
    }
}

fn shortened(blocks: Vec<Block>, shorten: u64, opaque: bool) -> Vec<Block> {
    let message = Arc::new(Message { role: Role::User, author: Author::Person, blocks });
    let form = Form { shorten: Some(Tokens(shorten)), opaque, ..Form::WHOLE };
    form.apply(EntryId(7), &message, &Bytes).blocks.clone()
}

#[test]
fn a_message_is_cut_around_what_we_cannot_read() {
    let json = format!("\"{}\"", "x ".repeat(149));
    let document = || Block::Opaque(Opaque { kind: "document".into(), json: json.as_str().into() });
    let cut = |opaque| shortened(vec![Block::text("a".repeat(600)), document()], 400, opaque);
    let pointer = "[… 600 tokens in all; recall m0007 …]";
    let [Block::Text { text }, kept] = &cut(false)[..] else { panic!("two blocks") };
    assert!(text.len() <= 100 && text.contains(pointer), "{text}");
    assert_eq!(kept, &document());
    let [Block::Text { text }, marker] = &cut(true)[..] else { panic!("two blocks") };
    assert!(text.len() > 300 && text.contains(pointer), "{text}");
    assert_eq!(marker, &Block::text("[document; recall m0007]"));
    // Where not even that fits, it still stands whole, and a pointer stands for the words.
    let bare = shortened(vec![Block::text("a".repeat(600)), document()], 50, false);
    assert_eq!(bare, [Block::text("[recall m0007]"), document()]);
    let behind = shortened(vec![document(), Block::text("a".repeat(600))], 50, false);
    assert_eq!(behind, [document(), Block::text("[recall m0007]")]);
    assert_eq!(shortened(vec![document()], 50, false), [document()]);
}

#[test]
fn a_short_pointer_leaves_words_where_the_full_one_would_take_their_room() {
    let text = format!("mind{}done", " the".repeat(50));
    let cut = |most| shortened(vec![Block::text(text.as_str())], most, false);
    assert_eq!(cut(26), [Block::text("mind the[recall m0007]done")]);
    assert_eq!(cut(14), [Block::text("[recall m0007]")]);
    let full = "mind the the the the the the \n[… 208 tokens in all; recall m0007 …]\nhe the thedone";
    assert_eq!(cut(86), [Block::text(full)]);
}

#[test]
fn a_call_that_is_cut_to_a_pointer_keeps_arguments_of_a_few_words() {
    let call = |input: String| {
        Block::Call(Call { id: "1".into(), name: "Read".into(), input: input.into(), freeform: false })
    };
    let path = || call(r#"{"file_path":"src/parse.rs"}"#.into());
    let long = call(format!(r#"{{"content":"{}"}}"#, "x".repeat(150)));
    let cut = shortened(vec![Block::text("a".repeat(600)), path(), long], 10, false);
    assert_eq!(cut, [path(), call(r#"{"left_out":"recall m0007"}"#.into())]);
}

#[test]
fn every_pointer_has_a_marker_in_its_place_where_nobody_can_follow_it() {
    let id = EntryId(7);
    let result = |text: &str| {
        let parts = vec![ResultPart::Text { text: text.into() }];
        Block::Result(ToolResult { call: "1".into(), parts, is_error: false })
    };
    let call = |input: &str| {
        Block::Call(Call { id: "1".into(), name: "read".into(), input: input.into(), freeform: false })
    };
    let long = "x".repeat(300);
    let blocks = vec![
        Block::text(long.as_str()),
        Block::Image(Image { media_type: "image/png".into(), data: "".into(), is_url: false }),
        call(&format!(r#"{{"text":"{long}"}}"#)),
        result(&long),
    ];
    let message = Arc::new(Message { role: Role::User, author: Author::Person, blocks });
    let marked = |form: Form| {
        let shown = form.apply(id, &message, &Bytes);
        assert!(format!("{shown:?}").contains("recall m0007"), "{shown:?}");
        without_address(&shown, id).blocks.clone()
    };
    let of_results = |notice| marked(Form { results: true, notice, ..Form::WHOLE }).pop().expect("a result");
    let begins = format!("[tool result m0007: 300 tokens, begins \"{}\"]", "x".repeat(80));
    assert_eq!(
        [Notice::Pointer, Notice::Pruned, Notice::Truncated].map(of_results),
        [&*begins, "[Pruned — 300 tokens]", "[Output truncated - 300 tokens]"].map(result)
    );
    let argument = format!(r#"{{"text":"{}… [300 characters in all]"}}"#, "x".repeat(200));
    let cut = marked(Form { images: true, arguments: true, ..Form::WHOLE });
    assert_eq!(cut[1..3], [Block::text("[image image/png]"), call(&argument)]);
    let bare = [Block::text("[left out]"), call(r#"{"left_out":"left out"}"#), result("[left out]")];
    assert_eq!(marked(Form { shorten: Some(Tokens(1)), ..Form::WHOLE }), bare[1..]);
    assert_eq!(marked(Form { repeated: true, ..Form::WHOLE }), [Block::text("[said again later]")]);
}
