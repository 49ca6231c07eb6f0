//! A file that the last release of version 1 wrote: the model sees of it today what it saw then.

use epitome_core::{Context, Image, Measure, Tokens};
use epitome_wire::encode::{self, RequestParts};
use epitome_wire::{Format, Transcript, native, read};
use serde_json::Value;
use std::sync::Arc;

/// One compaction by version 1 behind a body of fourteen exchanges.
const FILE: &[u8] = include_bytes!("native_v1/one.native");
/// The request that version 1 derived from it.
const REQUEST: &str = include_str!("native_v1/one.context.json");

/// Four bytes to the token: nothing here depends on it.
struct Quarter;

impl Measure for Quarter {
    fn text(&self, text: &str) -> Tokens {
        Tokens(text.len() as u64 / 4)
    }
    fn image(&self, _: &Image) -> Tokens {
        Tokens(1000)
    }
    fn framing(&self) -> Tokens {
        Tokens(4)
    }
}

fn transcript(file: &[u8]) -> Transcript {
    read(Arc::new(file.to_vec()), None, &Quarter).expect("the file is ours")
}

/// The messages of the request to Anthropic that the file comes to.
fn messages(file: &[u8]) -> Value {
    let transcript = transcript(file);
    let conversation = &transcript.conversations[0];
    let reader = conversation.reader(&Quarter);
    let context = Context::of(conversation.leaf, reader).expect("originals can be read");
    let shown = context.shown(reader).expect("originals can be read");
    let parts = RequestParts { model: Some("m"), max_tokens: Some(1), ..RequestParts::default() };
    let body = encode::body(Format::Anthropic, &parts, &shown).expect("a context can be encoded");
    messages_of(&body)
}

fn messages_of(body: &[u8]) -> Value {
    let mut body: Value = serde_json::from_slice(body).expect("a body is JSON");
    body["messages"].take()
}

#[test]
fn a_file_of_version_1_shows_what_it_showed() {
    assert_eq!(transcript(FILE).problems, []);
    assert_eq!(messages(FILE), messages_of(REQUEST.as_bytes()));
}

#[test]
fn a_file_of_version_1_with_a_header_of_today_shows_the_same() {
    let (mut file, start) = native::rewrap(&FILE.to_vec()).expect("the file is ours");
    file.extend_from_slice(&FILE[start as usize..]);
    assert_eq!(native::header(&file).expect("it was just written").version, native::VERSION);
    assert_eq!(messages(&file), messages_of(REQUEST.as_bytes()));
}
