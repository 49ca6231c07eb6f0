//! Whatever a context holds, its encoding is valid on every protocol, and growing it only adds to it.

use epitome_core::{Author, Block, Call, Image, Message, MessageView, Opaque, ResultPart, Role, ToolResult};
use epitome_wire::encode::{self, RequestParts};
use epitome_wire::{Protocol, validate};
use proptest::prelude::*;
use std::sync::Arc;

/// Enough that each rule meets each kind of block, and all of it takes about a second.
const CASES: u32 = 2048;
fn pick(from: &'static [&'static str]) -> impl Strategy<Value = Arc<str>> {
    prop::sample::select(from).prop_map(Arc::from)
}

fn text() -> impl Strategy<Value = Arc<str>> {
    prop_oneof![pick(&["", " \n", "\u{1c}", "hello", "Ünï\u{0}\"\\"]), ".{0,8}".prop_map(Arc::from)]
}

/// Few ids, so that they meet, repeat and miss; some that protocols refuse.
fn id() -> impl Strategy<Value = Arc<str>> {
    pick(&[
        "a",
        "b",
        "a_2",
        "",
        "call 1|fc",
        "srv_1",
        "an-id-far-longer-than-any-protocol-would-ever-want-to-see-in-a-request",
    ])
}

fn call() -> impl Strategy<Value = Block> {
    let inputs =
        &["{}", r#"{"b": 1.50, "a":[]}"#, "[1]", "{oops", "", r#"{"a":"\ud800"}"#, "*** Begin Patch"];
    let names = pick(&["run", "fs.read", ""]);
    (id(), names, pick(inputs), any::<bool>()).prop_map(|(id, name, input, freeform)| {
        Block::Call(Call { id: id.as_ref().into(), name, input, freeform })
    })
}

fn image() -> impl Strategy<Value = Image> {
    let data = pick(&[
        "iVBORw0KGgo=",
        "AAAA",
        "AREDACTEDAAA",
        "AAA",
        "https://example.com/a.png",
        "data:image/gif;base64,R0lGODlh",
        "file:///a",
    ]);
    (pick(&["image/png", "image/tiff", ""]), data, any::<bool>())
        .prop_map(|(media_type, data, is_url)| Image { media_type, data, is_url })
}

fn opaque() -> impl Strategy<Value = Opaque> {
    prop::sample::select(&[
        ("server_tool_use", r#"{"type":"server_tool_use","id":"srv_1","name":"web_search","input":{}}"#),
        ("server_tool_use", r#"{"type":"server_tool_use","id":"a","name":"web_search","input":{}}"#),
        ("web_search_tool_result", r#"{"type":"web_search_tool_result","tool_use_id":"srv_1","content":[]}"#),
        ("web_search_tool_result", r#"{"type":"web_search_tool_result","tool_use_id":"a","content":[]}"#),
        (
            "mcp_tool_use",
            r#"{"type":"mcp_tool_use","id":"m","name":"x","input":{},"cache_control":{"type":"ephemeral"}}"#,
        ),
        ("mcp_tool_result", r#"{"type":"mcp_tool_result","tool_use_id":"m","content":[]}"#),
        ("document", r#"{"type":"document","source":{"type":"text"},"cache_control":{"type":"ephemeral"}}"#),
        ("compaction", r#"{"type":"compaction","content":"so far"}"#),
        ("compaction", r#"{"type":"compaction","id":"cmp_1","encrypted_content":"gAAA"}"#),
        ("reasoning", r#"{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAAAAB-_w=="}"#),
        ("reasoning", r#"{"type":"reasoning","id":"rs_2","summary":[],"encrypted_content":"gAAAAAC-_w"}"#),
        ("reasoning", r#"{"type":"reasoning","id":"rs_3","summary":[],"encrypted_content":"REDACTED"}"#),
        ("web_search_call", r#"{"type":"web_search_call","status":"completed"}"#),
        ("computer_call", r#"{"type":"computer_call","id":"cu_1","call_id":"c"}"#),
        ("computer_call_output", r#"{"type":"computer_call_output","call_id":"c"}"#),
        ("function_call", r#"{"type":"function_call","call_id":"a"}"#),
        ("tool_use", r#"{"type":"tool_use","id":"z"}"#),
        ("item_reference", r#"{"type":"item_reference","id":"q"}"#),
        ("broken", "{"),
        ("text", r#"{"type":"other"}"#),
    ])
    .prop_map(|(kind, json)| Opaque { kind: kind.into(), json: json.into() })
}

fn result() -> impl Strategy<Value = Block> {
    let part = prop_oneof![
        3 => text().prop_map(|text| ResultPart::Text { text }),
        1 => image().prop_map(ResultPart::Image),
        1 => opaque().prop_map(ResultPart::Opaque),
    ];
    (id(), prop::collection::vec(part, 0..3), any::<bool>()).prop_map(|(call, parts, is_error)| {
        Block::Result(ToolResult { call: call.as_ref().into(), parts, is_error })
    })
}

fn thinking() -> impl Strategy<Value = Block> {
    let signature = prop::option::of(pick(&["c2lnbmVk", "REDACTED", "gAAAAABv", ""]));
    (text(), signature, any::<bool>()).prop_map(|(text, signature, redacted)| Block::Thinking {
        text,
        signature,
        redacted,
    })
}

fn block() -> impl Strategy<Value = Block> {
    prop_oneof![
        3 => text().prop_map(|text| Block::Text { text }),
        3 => call(),
        3 => result(),
        1 => thinking(),
        1 => image().prop_map(Block::Image),
        2 => opaque().prop_map(Block::Opaque),
    ]
}

fn shown() -> impl Strategy<Value = Vec<MessageView>> {
    let role =
        prop::sample::select(&[Role::System, Role::User, Role::Assistant, Role::Assistant, Role::Tool]);
    let message = (role, prop::collection::vec(block(), 0..4)).prop_map(|(role, blocks)| MessageView {
        id: None,
        message: Message { role, author: Author::Harness, blocks }.into(),
    });
    prop::collection::vec(message, 1..10)
}

fn violations(protocol: Protocol, shown: &[MessageView]) -> Vec<validate::Violation> {
    let system = ["be brief".into(), " ".into()];
    let tools = [r#"{"name":"run","description":"runs","input_schema":{"type":"object"}}"#.into()];
    let parts = RequestParts { system: &system, tools: &tools, model: Some("m"), max_tokens: Some(9) };
    let body = encode::body(protocol, &parts, shown).expect("there is a message");
    let body = serde_json::from_slice(&body).expect("a body is JSON");
    validate::body(protocol, &body)
}

fn elements(protocol: Protocol, shown: &[MessageView]) -> Vec<String> {
    let messages = encode::messages(protocol, &RequestParts::default(), shown);
    messages.iter().map(|message| message.get().to_owned()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]

    #[test]
    fn every_context_is_valid_on_every_protocol(shown in shown()) {
        for protocol in Protocol::ALL {
            prop_assert_eq!(violations(protocol, &shown), []);
        }
    }

    #[test]
    fn a_context_that_grows_keeps_its_beginning(shown in shown()) {
        let replies = (1..shown.len()).filter(|&at| shown[at].message.role == Role::Assistant);
        for (at, protocol) in replies.flat_map(|at| Protocol::ALL.map(|protocol| (at, protocol))) {
            let (before, after) = (elements(protocol, &shown[..at]), elements(protocol, &shown));
            prop_assert_eq!(&before[..], &after[..before.len()]);
        }
    }
}
