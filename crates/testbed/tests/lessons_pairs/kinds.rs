//! Pairs of every kind: calls a provider makes itself, approvals, reasoning with its call, mixed messages.

use crate::{WINDOW, body, kept_from, seen, violations};
use epitome_core::{
    Author, Block, Call, EntryId, Message, MessageView, Opaque, ResultPart, Role, ToolResult, Trigger,
};
use epitome_testbed::{Bed, Quarter};
use epitome_wire::{Format, Protocol};
use std::sync::Arc;

fn opaque(kind: &str, json: &str) -> Block {
    Block::Opaque(Opaque { kind: kind.into(), json: json.into() })
}

fn message(role: Role, blocks: Vec<Block>) -> Message {
    let author = if role == Role::Assistant { Author::Model } else { Author::Person };
    Message { role, author, blocks }
}

/// Whether a hook may keep from the second of two messages on.
fn is_parted(first: Message, second: Message) -> bool {
    let mut bed = Bed::new("default", WINDOW);
    bed.talk(40, 200);
    let ids = [bed.say(first), bed.say(second)];
    bed.talk(40, 200);
    kept_from(&mut bed, ids[1]);
    assert_eq!(violations(&bed), Vec::<String>::new());
    seen(&bed, &ids).len() == 1
}

#[test]
fn l56_a_call_that_the_provider_makes_itself_stays_with_its_result() {
    let search = r#"{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"x"}}"#;
    let found = r#"{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]}"#;
    let first = message(Role::Assistant, vec![opaque("server_tool_use", search)]);
    let second = message(Role::Assistant, vec![opaque("web_search_tool_result", found)]);
    assert!(!is_parted(first, second));
}

#[test]
fn l57_an_approval_stays_with_what_asked_for_it() {
    let asked =
        r#"{"type":"mcp_approval_request","id":"mcpr_1","server_label":"s","name":"n","arguments":"{}"}"#;
    let given = r#"{"type":"mcp_approval_response","approval_request_id":"mcpr_1","approve":true}"#;
    let first = message(Role::Assistant, vec![opaque("mcp_approval_request", asked)]);
    let second = message(Role::User, vec![opaque("mcp_approval_response", given)]);
    assert!(!is_parted(first.clone(), second));
    let mut bed = Bed::new("default", WINDOW);
    bed.talk(85, 200);
    let pending = bed.say(first);
    bed.prepare().expect("it is due");
    assert_eq!(bed.in_view().last(), Some(&pending));
}

#[test]
fn l58_reasoning_stays_with_what_it_led_to_in_any_order() {
    let reasoning = || {
        let json = r#"{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAAAAB-_w=="}"#;
        opaque("reasoning", json)
    };
    let call =
        || Block::Call(Call { id: "c1".into(), name: "read".into(), input: "{}".into(), freeform: false });
    let text = || Block::text("let me look");
    let orders: [Vec<Block>; 4] = [
        vec![reasoning(), call()],
        vec![reasoning(), text(), call()],
        vec![text(), reasoning(), call()],
        vec![reasoning(), text()],
    ];
    for blocks in orders {
        for more in [0, 10, 40, 79] {
            let mut bed = Bed::new("default", WINDOW);
            bed.talk(20, 200);
            let has_call = blocks.len() > 2 || matches!(blocks[1], Block::Call(_));
            let mut ids = vec![bed.say(message(Role::Assistant, blocks.clone()))];
            if has_call {
                ids.push(bed.say(crate::result("c1", &"line\n".repeat(80))));
            }
            bed.talk(more, 200);
            bed.compact(Trigger::Manual);
            let count = seen(&bed, &ids).len();
            assert!(count == 0 || count == ids.len());
            let shown = bed.session.shown().expect("all is in memory");
            let text = String::from_utf8(body(Protocol::OpenaiResponses, &shown)).expect("a body is text");
            let has_reasoning = text.contains("\"rs_1\"");
            assert!(count > 0 || !has_reasoning, "reasoning without what it led to");
            assert_eq!(violations(&bed), Vec::<String>::new());
        }
    }
}

/// A history in which nothing has its other half.
fn broken() -> Vec<MessageView> {
    let call = Call { id: "gone".into(), name: "read".into(), input: "{}".into(), freeform: false };
    let messages = [
        crate::result("nobody", "an answer to nothing"),
        message(Role::User, vec![Block::text("begin")]),
        message(Role::Assistant, vec![Block::text("I look"), Block::Call(call)]),
        message(Role::User, vec![Block::text("and?")]),
        crate::result("nobody", "another one"),
    ];
    messages.into_iter().map(|message| MessageView { id: None, message: message.into() }).collect()
}

#[test]
fn l61_what_was_repaired_once_is_not_repaired_again() {
    for protocol in Protocol::ALL {
        let once = body(protocol, &broken());
        let read = epitome_wire::read(Arc::new(once.clone()), Some(Format::Body(protocol)), &Quarter)
            .expect("it is a body");
        let conversation = &read.conversations[0];
        let ids = (0..conversation.log.len() as u32).map(EntryId);
        let message = |id| {
            use epitome_core::Archive;
            conversation.originals.message(id).expect("it is in the file")
        };
        let again: Vec<MessageView> =
            ids.map(|id| MessageView { id: Some(id), message: message(id) }).collect();
        assert_eq!(String::from_utf8(body(protocol, &again)), String::from_utf8(once), "{protocol}");
    }
}

#[test]
fn l63_a_message_that_is_kept_loses_a_result_whose_call_is_gone_and_nothing_else() {
    let parts = vec![ResultPart::Text { text: "what the tool found".into() }];
    let orphan = Block::Result(ToolResult { call: "gone".into(), parts, is_error: false });
    let mut bed = Bed::new("default", WINDOW);
    let mixed = bed.say(message(Role::User, vec![orphan, Block::text("and keep the port at 8443")]));
    bed.talk(80, 200);
    bed.session.options_mut().pins = vec![mixed];
    bed.compact(Trigger::Manual);
    assert_eq!(bed.in_view()[0], mixed);
    assert_eq!(violations(&bed), Vec::<String>::new());
    for protocol in Protocol::ALL {
        let shown = bed.session.shown().expect("all is in memory");
        let text = String::from_utf8(body(protocol, &shown)).expect("a body is text");
        let names = ["\"tool_use_id\"", "\"tool_call_id\"", "\"call_id\""];
        assert!(text.contains("and keep the port at 8443") && names.iter().all(|name| !text.contains(name)));
    }
}
