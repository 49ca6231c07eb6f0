//! Single elements of a request's list: what is written of a message is read back as that message, wherever
//! the protocol can say it.

use epitome_core::{
    Archive, Author, Block, Call, EntryId, Image, Message, Opaque, ResultPart, Role, ToolResult, ZeroMeasure,
};
use epitome_wire::{ElementError, FixedParts, Format, Protocol, decode, decode_fixed, encode, read};
use proptest::prelude::*;
use serde_json::value::RawValue;
use std::sync::Arc;

/// A message written and read again, without the places of its elements.
fn resent(protocol: Protocol, message: &Message) -> Vec<Message> {
    let written = encode::message(protocol, message);
    let elements: Vec<&str> = written.iter().map(|element| element.get()).collect();
    let read = decode(protocol, &elements).expect("what we write we read");
    read.into_iter().map(|(_, message)| message).collect()
}

fn written(protocol: Protocol, message: &Message) -> String {
    encode::message(protocol, message).iter().map(|element| format!("{element}\n")).collect()
}

fn text() -> impl Strategy<Value = Arc<str>> {
    "[a-zé\"\\\\\n{ ]{0,20}[a-z]".prop_map(Into::into)
}

/// Ids no provider gives and some refuse: they are the sender's.
fn id() -> impl Strategy<Value = String> {
    "[a-zA-Z0-9_.:|-]{1,80}"
}

fn call(freeform: impl Strategy<Value = bool>) -> impl Strategy<Value = Block> {
    let object = prop::sample::select(&["{}", r#"{"b": 1.50,"a":[ ]}"#, r#"{"path":"a\nb"}"#]);
    (id(), "[a-z.]{1,20}", object, freeform).prop_map(|(id, name, input, freeform)| {
        let id = id.as_str().into();
        Block::Call(Call { id, name: name.into(), input: input.into(), freeform })
    })
}

fn image() -> impl Strategy<Value = Image> {
    prop::sample::select(&[("image/png", "AAAA", false), ("", "https://example.com/a.png", true)]).prop_map(
        |(media_type, data, is_url)| Image { media_type: media_type.into(), data: data.into(), is_url },
    )
}

fn opaque(kind: &'static str, json: &'static str) -> Opaque {
    Opaque { kind: kind.into(), json: json.into() }
}

fn message(role: Role, author: Author, blocks: Vec<Block>) -> Message {
    Message { role, author, blocks }
}

fn few<T: std::fmt::Debug>(one: impl Strategy<Value = T>) -> impl Strategy<Value = Vec<T>> {
    prop::collection::vec(one, 1..4)
}

fn result(
    part: impl Strategy<Value = ResultPart>,
    is_error: impl Strategy<Value = bool>,
) -> impl Strategy<Value = Block> {
    (id(), few(part), is_error).prop_map(|(id, parts, is_error)| {
        Block::Result(ToolResult { call: id.as_str().into(), parts, is_error })
    })
}

fn text_part() -> impl Strategy<Value = ResultPart> {
    text().prop_map(|text| ResultPart::Text { text })
}

/// What Anthropic Messages can say.
fn anthropic() -> impl Strategy<Value = Message> {
    let document = opaque(
        "document",
        r#"{"type":"document","source":{"type":"text","data":"x"},"cache_control":{"type":"ephemeral"}}"#,
    );
    let served =
        opaque("server_tool_use", r#"{"type":"server_tool_use","id":"s","name":"web_search","input":{}}"#);
    let thinking = (text(), any::<bool>()).prop_map(|(text, redacted)| Block::Thinking {
        text: if redacted { "".into() } else { text },
        signature: Some("c2ln".into()),
        redacted,
    });
    let asked = few(prop_oneof![
        text().prop_map(Block::text),
        image().prop_map(Block::Image),
        Just(Block::Opaque(document)),
    ]);
    let replied = few(prop_oneof![
        text().prop_map(Block::text),
        thinking,
        call(Just(false)),
        Just(Block::Opaque(served)),
    ]);
    let failed = result(text_part(), Just(true));
    let answered = few(prop_oneof![
        result(prop_oneof![text_part(), image().prop_map(ResultPart::Image)], Just(false)),
        failed
    ]);
    prop_oneof![
        asked.prop_map(|blocks| message(Role::User, Author::Person, blocks)),
        replied.prop_map(|blocks| message(Role::Assistant, Author::Model, blocks)),
        answered.prop_map(|blocks| message(Role::Tool, Author::Tool, blocks)),
    ]
}

/// What Chat Completions can say: one text, or texts among pictures; a result each.
fn openai_chat() -> impl Strategy<Value = Message> {
    let file = opaque("file", r#"{"type":"file","file":{"file_id":"f"}}"#);
    let pictured = (image(), few(text())).prop_map(move |(image, texts)| {
        let texts = texts.into_iter().map(Block::text);
        [Block::Image(image), Block::Opaque(file.clone())].into_iter().chain(texts).collect()
    });
    let thinking = prop_oneof![
        text().prop_map(|text| Block::Thinking { text, signature: None, redacted: false }),
        Just(Block::Opaque(opaque("reasoning_details", r#"[{"type":"reasoning.text","text":"x"}]"#))),
    ];
    let replied = (prop::option::of(thinking), text(), prop::collection::vec(call(any::<bool>()), 0..3));
    let replied = replied.prop_map(|(thinking, text, calls)| {
        thinking.into_iter().chain([Block::text(text)]).chain(calls).collect()
    });
    let answered = (id(), text_part()).prop_map(|(id, part)| {
        vec![Block::Result(ToolResult { call: id.as_str().into(), parts: vec![part], is_error: false })]
    });
    prop_oneof![
        text().prop_map(|text| message(Role::System, Author::Harness, vec![Block::text(text)])),
        text().prop_map(|text| message(Role::User, Author::Person, vec![Block::text(text)])),
        pictured.prop_map(|blocks| message(Role::User, Author::Person, blocks)),
        replied.prop_map(|blocks| message(Role::Assistant, Author::Model, blocks)),
        answered.prop_map(|blocks| message(Role::Tool, Author::Tool, blocks)),
    ]
}

/// What Responses can say.
fn openai_responses() -> impl Strategy<Value = Message> {
    let file = opaque("input_file", r#"{"type":"input_file","file_id":"f"}"#);
    let sealed =
        opaque("reasoning", r#"{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA"}"#);
    let asked = few(prop_oneof![
        text().prop_map(Block::text),
        image().prop_map(Block::Image),
        Just(Block::Opaque(file)),
    ]);
    let replied =
        few(prop_oneof![text().prop_map(Block::text), call(any::<bool>()), Just(Block::Opaque(sealed))]);
    let answered = (
        id(),
        prop_oneof![
            text_part().prop_map(|part| vec![part]),
            (image(), text_part()).prop_map(|(image, part)| vec![part, ResultPart::Image(image)]),
        ],
    );
    let answered = answered.prop_map(|(id, parts)| {
        vec![Block::Result(ToolResult { call: id.as_str().into(), parts, is_error: false })]
    });
    prop_oneof![
        few(text()).prop_map(|texts| {
            message(Role::System, Author::Harness, texts.into_iter().map(Block::text).collect())
        }),
        asked.prop_map(|blocks| message(Role::User, Author::Person, blocks)),
        replied.prop_map(|blocks| message(Role::Assistant, Author::Model, blocks)),
        answered.prop_map(|blocks| message(Role::Tool, Author::Tool, blocks)),
    ]
}

proptest! {
    #[test]
    fn what_anthropic_messages_can_say_comes_back(message in anthropic()) {
        prop_assert_eq!(resent(Protocol::Anthropic, &message), [message]);
    }

    #[test]
    fn what_chat_completions_can_say_comes_back(message in openai_chat()) {
        prop_assert_eq!(resent(Protocol::OpenaiChat, &message), [message]);
    }

    #[test]
    fn what_responses_can_say_comes_back(message in openai_responses()) {
        prop_assert_eq!(resent(Protocol::OpenaiResponses, &message), [message]);
    }
}

#[test]
fn what_a_protocol_cannot_say_is_left_out_and_nothing_is_empty() {
    let unsigned = Block::Thinking { text: "hm".into(), signature: None, redacted: false };
    let foreign = Block::Opaque(opaque("reasoning", r#"{"type":"other"}"#));
    let reply = message(Role::Assistant, Author::Model, vec![unsigned, foreign, Block::text(" ")]);
    let parts = vec![ResultPart::Text { text: "".into() }];
    let result = ToolResult { call: "c".into(), parts, is_error: true };
    let answer = message(Role::Tool, Author::Tool, vec![Block::Result(result)]);
    let all = Protocol::ALL.map(|protocol| written(protocol, &reply) + &written(protocol, &answer));
    insta::assert_snapshot!(all.concat(), @r#"
    {"role":"assistant","content":[{"type":"text","text":"[this reply is empty]"}]}
    {"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":[{"type":"text","text":"[the result is empty]"}],"is_error":true}]}
    {"role":"assistant","content":"[this reply is empty]","reasoning_content":"hm"}
    {"role":"tool","tool_call_id":"c","content":"[the result is empty]"}
    {"type":"message","role":"assistant","content":[{"type":"output_text","text":"[this reply is empty]"}]}
    {"type":"function_call_output","call_id":"c","output":"[the result is empty]"}
    "#);
}

#[test]
fn the_pictures_of_a_chat_result_follow_it() {
    let image = Image { media_type: "".into(), data: "https://example.com/a.png".into(), is_url: true };
    let parts = vec![ResultPart::Text { text: "seen".into() }, ResultPart::Image(image)];
    let result = ToolResult { call: "c".into(), parts, is_error: false };
    let answer = message(Role::Tool, Author::Tool, vec![Block::Result(result)]);
    insta::assert_snapshot!(written(Protocol::OpenaiChat, &answer), @r#"
    {"role":"tool","tool_call_id":"c","content":"seen\n[image; it follows in the next user message]"}
    {"role":"user","content":[{"type":"text","text":"[image from the result of call c]"},{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}]}
    "#);
}

#[test]
fn elements_are_read_as_the_body_they_stand_in() {
    let bodies = [
        (
            Protocol::Anthropic,
            r#"[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"n","input":{}}]},
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"ok"},{"type":"text","text":"and now?"}]},
            {"role":"user","content":[]}]"#,
        ),
        (
            Protocol::OpenaiChat,
            r#"[{"role":"user","content":"a"},{"role":"assistant","content":null,"tool_calls":[{"id":"t","function":{"name":"n","arguments":"{}"}}]},
            {"role":"tool","tool_call_id":"t","content":"ok"},{"role":"developer","content":"be brief"}]"#,
        ),
        (
            Protocol::OpenaiResponses,
            r#"["go",{"type":"reasoning","summary":[]},{"type":"function_call","call_id":"t","name":"n","arguments":"{}"},
            {"type":"function_call_output","call_id":"t","output":"ok"},{"role":"assistant","content":"done"}]"#,
        ),
    ];
    let places = bodies.map(|(protocol, list)| {
        let elements: Vec<&RawValue> = serde_json::from_str(list).expect("it is a list");
        let elements: Vec<&str> = elements.into_iter().map(RawValue::get).collect();
        let decoded = decode(protocol, &elements).expect("it can be read");
        let messages: Vec<Message> = decoded.iter().map(|(_, message)| message.clone()).collect();
        assert_eq!(messages, whole(protocol, list), "{protocol}");
        decoded.into_iter().map(|(at, _)| at).collect::<Vec<_>>()
    });
    assert_eq!(places, [vec![0, 1, 2, 2, 3], vec![0, 1, 2, 3], vec![0, 1, 3, 4]]);
}

/// The messages of a whole list, as the reader of files finds them.
fn whole(protocol: Protocol, list: &str) -> Vec<Message> {
    let source = Arc::new(list.as_bytes().to_vec());
    let read = read(source, Some(Format::Body(protocol)), &ZeroMeasure).expect("it is a list of messages");
    let conversation = &read.conversations[0];
    let ids = (0..conversation.log.len()).map(|at| EntryId(at as u32));
    ids.map(|id| Message::clone(&conversation.originals.message(id).expect("it is there"))).collect()
}

#[test]
fn an_element_that_is_no_message_is_named() {
    let said = r#"{"role":"user","content":"a"}"#;
    let foreign = [
        (Protocol::Anthropic, r#"{"role":"martian","content":"b"}"#, "nobody has the role `martian`"),
        (
            Protocol::Anthropic,
            r#"{"role":"tool","content":"b"}"#,
            "a message has the role `tool`, which Anthropic Messages does not have",
        ),
        (
            Protocol::OpenaiChat,
            r#"{"role":"user","content":[{"type":"tool_result"}]}"#,
            "a message holds a `tool_use` or `tool_result` block, which is Anthropic's",
        ),
        (
            Protocol::OpenaiResponses,
            r#"{"role":"tool","content":"b"}"#,
            "a message is written as in Chat Completions or Anthropic Messages",
        ),
        (Protocol::OpenaiChat, r#"{"role""#, "EOF while parsing an object at line 1 column 7"),
    ];
    for (protocol, element, why) in foreign {
        let error = ElementError { element: 1, why: why.into() };
        assert_eq!(decode(protocol, &[said, element]), Err(error));
    }
}

#[test]
fn what_stands_around_a_list_is_read_without_it() {
    let body = r#"{"instructions":"be kind","tools":[{"type":"function","name":"n"}],"max_output_tokens":9,"input":[7],"store":false}"#;
    let opening = r#"{"role":"developer","content":"be brief"}"#;
    let fixed = decode_fixed(Protocol::OpenaiResponses, body, &[opening, "{"]);
    let expected = FixedParts {
        system: vec!["be kind".into(), "be brief".into()],
        tools: vec![r#"{"type":"function","name":"n"}"#.into()],
        max_tokens: Some(9),
        rest: vec![("store".into(), "false".into())],
        ..FixedParts::default()
    };
    assert_eq!(fixed, expected);
}
