//! Elements cut to what is shown of them: the bytes that are left, and that they say what was to be shown.

use super::{ElementPart, ElementPlace, ListSlot, splice};
use crate::Protocol::{self, Anthropic, OpenaiChat, OpenaiResponses};
use crate::decode;
use epitome_core::{Author, Block, EntryId, Form, Image, Measure, Message, Role, Tokens};
use std::sync::Arc;

/// Three bytes are a token, and a picture is a hundred.
struct Rough;

impl Measure for Rough {
    fn text(&self, text: &str) -> Tokens {
        Tokens(text.len() as u64 / 3)
    }
    fn image(&self, _: &Image) -> Tokens {
        Tokens(100)
    }
    fn framing(&self) -> Tokens {
        Tokens::ZERO
    }
}

/// The elements with every message in this form.
fn cut(protocol: Protocol, elements: &[&str], form: Form) -> Vec<String> {
    let found = decode(protocol, elements).expect("messages");
    let firsts: Vec<usize> = found.iter().map(|(first, _)| *first).collect();
    let slots: Vec<ListSlot> = found
        .iter()
        .enumerate()
        .map(|(at, (first, message))| {
            let next = firsts.iter().find(|next| *next > first).copied().unwrap_or(elements.len());
            let is_shared = firsts.iter().filter(|other| *other == first).count() > 1;
            let part = match (is_shared, message.role) {
                (false, _) => ElementPart::All,
                (true, Role::Tool) => ElementPart::Results,
                (true, _) => ElementPart::Said,
            };
            let place = ElementPlace { first: *first, count: next - first, part };
            let shown = form.apply(EntryId(at as u32), &Arc::new(message.clone()), &Rough);
            ListSlot::Message { place, shown: Some(shown) }
        })
        .collect();
    splice(protocol, elements, 0, &slots).into_iter().map(std::borrow::Cow::into_owned).collect()
}

const THINKING: Form = Form { thinking: true, ..Form::WHOLE };
const RESULTS: Form = Form { results: true, ..Form::WHOLE };

#[test]
fn what_is_shown_whole_is_the_bytes_it_was() {
    let anthropic = [
        r#"{ "role":"user", "content" : [ {"type":"text","text":""}, {"type":"text", "text":"a\u00e9"} ] }"#,
        r#"{"content":"b\ud83d","role":"assistant"}"#,
    ];
    assert_eq!(cut(Anthropic, &anthropic, Form::WHOLE), anthropic);
    let chat = [
        r#"{"role":"assistant","content":null,"reasoning_content":"hm","tool_calls":[ {"id":"1","type":"custom","custom":{"name":"n","input":"x"}}]}"#,
    ];
    assert_eq!(cut(OpenaiChat, &chat, Form::WHOLE), chat);
    let responses = [r#""a text""#];
    assert_eq!(cut(OpenaiResponses, &responses, Form::WHOLE), responses);
}

#[test]
fn thinking_goes_whole_and_the_rest_stays_byte_for_byte() {
    let reply = r#"{ "role":"assistant", "content": [ {"type":"thinking","thinking":"hm","signature":"c2ln"}, {"type":"text", "text":"a\u00e9"}, {"type":"redacted_thinking","data":"x"}, {"type":"tool_use","id":"1","name":"n","input":{"x": 1.50}}, {"type":"thinking","thinking":"so","signature":"c2ln"} ] }"#;
    let expected = r#"{ "role":"assistant", "content": [ {"type":"text", "text":"a\u00e9"}, {"type":"tool_use","id":"1","name":"n","input":{"x": 1.50}} ] }"#;
    assert_eq!(cut(Anthropic, &[reply], THINKING), [expected]);
    let alone =
        r#"{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"c2ln"}],"id":"x"}"#;
    let left = r#"{"role":"assistant","content":[{"type":"text","text":"[thinking left out; recall m0000]"}],"id":"x"}"#;
    assert_eq!(cut(Anthropic, &[alone], THINKING), [left]);
}

#[test]
fn reasoning_beside_a_chat_reply_goes_with_it_whatever_is_cut() {
    let reply =
        r#"{"role":"assistant","content":"a","reasoning_content":"hm","reasoning_details":[{"x":1.0}]}"#;
    assert_eq!(cut(OpenaiChat, &[reply], THINKING), [reply]);
}

#[test]
fn a_pruned_result_is_one_other_string() {
    let printed = "line\\n".repeat(40);
    let pointer = r#"[tool result m0000: 66 tokens, begins \"line\"; recall m0000]"#;
    let result = |content: &str| {
        format!(
            r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t","x":1.50, "content":{content},"cache_control":{{"type":"ephemeral"}}}}, {{"type":"text","text":"now?"}}]}}"#
        )
    };
    assert_eq!(
        cut(Anthropic, &[&result(&format!("\"{printed}\""))], RESULTS),
        [result(&format!("\"{pointer}\""))]
    );
    let parts = format!(
        r#"[ {{"type":"text","text":"{printed}","y":2}}, {{"type":"image","source":{{"type":"file","file_id":"f"}}}} ]"#
    );
    let left = format!(r#"[ {{"type":"text","text":"{pointer}","y":2}} ]"#);
    assert_eq!(cut(Anthropic, &[&result(&parts)], RESULTS), [result(&left)]);
    let chat =
        |content: &str| format!(r#"{{"role":"tool","name":"n","tool_call_id":"t","content":"{content}"}}"#);
    assert_eq!(cut(OpenaiChat, &[&chat(&printed)], RESULTS), [chat(pointer)]);
    let shell = |stdout: &str, stderr: &str| {
        format!(
            r#"{{"type":"shell_call_output","call_id":"t","output":[{{"stdout":"{stdout}","stderr":"{stderr}","outcome":{{"type":"exit","exit_code":0}}}}]}}"#
        )
    };
    let pointer = r#"[tool result m0000: 0 tokens, begins \"\"; recall m0000]"#;
    assert_eq!(cut(OpenaiResponses, &[&shell(&printed, "oops")], RESULTS), [shell(pointer, "")]);
}

#[test]
fn pictures_and_carried_parts_give_way_to_words_and_keep_their_cache_mark() {
    let form = Form { images: true, opaque: true, ..Form::WHOLE };
    let message = r#"{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0K"},"cache_control":{"type":"ephemeral"}},{"type":"document","source":{"type":"file","file_id":"f"}}]}"#;
    let left = r#"{"role":"user","content":[{"type":"text","text":"[image image/png; recall m0000]","cache_control":{"type":"ephemeral"}},{"type":"text","text":"[document; recall m0000]"}]}"#;
    assert_eq!(cut(Anthropic, &[message], form), [left]);
    let item = r#"{"type":"web_search_call","id":"ws_1","status":"completed"}"#;
    let left = r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"[web_search_call; recall m0000]"}]}"#;
    assert_eq!(cut(OpenaiResponses, &[item], form), [left]);
}

#[test]
fn reasoning_stays_with_the_call_it_led_to() {
    let form = Form { opaque: true, ..Form::WHOLE };
    let run = [
        r#"{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA"}"#,
        r#"{"type":"function_call","id":"fc_1","call_id":"c","name":"n","arguments":"{}"}"#,
    ];
    assert_eq!(cut(OpenaiResponses, &run, form), run);
}

#[test]
fn long_arguments_are_cut_where_they_stand() {
    let form = Form { arguments: true, ..Form::WHOLE };
    let (long, short) =
        ("x".repeat(300), format!("{}… [300 characters in all; recall m0000]", "x".repeat(200)));
    let anthropic = |text: &str| {
        format!(
            r#"{{"role":"assistant","content":[{{"type":"tool_use","id":"t","name":"n","input":{{"a":"{text}"}},"caller":{{"type":"direct"}}}}]}}"#
        )
    };
    assert_eq!(cut(Anthropic, &[&anthropic(&long)], form), [anthropic(&short)]);
    let chat = |text: &str| {
        format!(
            r#"{{"role":"assistant","content":null,"tool_calls":[{{"id":"t","type":"function","extra_content":{{"google":1}},"function":{{"name":"n","arguments":"{{\"a\":\"{text}\"}}"}}}}]}}"#
        )
    };
    assert_eq!(cut(OpenaiChat, &[&chat(&long)], form), [chat(&short)]);
    let patch = |text: &str| {
        format!(
            r#"{{"type":"apply_patch_call","call_id":"t","operation":{{"type":"update_file","diff":"{text}"}},"status":"completed"}}"#
        )
    };
    assert_eq!(cut(OpenaiResponses, &[&patch(&long)], form), [patch(&short)]);
}

#[test]
fn of_two_messages_in_one_element_each_can_go_by_itself() {
    let element = r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"ok"}, {"type":"text","text":"now?"}],"x":1.0}"#;
    let only = |part| {
        let slot = ListSlot::Message { place: ElementPlace { first: 0, count: 1, part }, shown: None };
        splice(Anthropic, &[element], 0, &[slot]).concat()
    };
    assert_eq!(
        only(ElementPart::Results),
        r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"ok"}],"x":1.0}"#
    );
    assert_eq!(
        only(ElementPart::Said),
        r#"{"role":"user","content":[{"type":"text","text":"now?"}],"x":1.0}"#
    );
}

#[test]
fn neighbours_of_the_users_side_become_one_message_with_the_bytes_of_both() {
    let summary = || ListSlot::Own(Message::text(Role::User, Author::Harness, "so far").into());
    let kept = || {
        let place = ElementPlace { first: 0, count: 1, part: ElementPart::All };
        ListSlot::Message { place, shown: None }
    };
    let element = r#"{"role":"user", "content":"b\u00e9","x":1.0}"#;
    let joined = |protocol| splice(protocol, &[element], 0, &[kept(), summary()]).concat();
    assert_eq!(
        joined(Anthropic),
        r#"{"role":"user", "content":[{"type":"text","text":"b\u00e9"},{"type":"text","text":"so far"}],"x":1.0}"#
    );
    assert_eq!(joined(OpenaiChat), r#"{"role":"user", "content":"b\u00e9\n\nso far","x":1.0}"#);
    let text = splice(OpenaiResponses, &[r#""b""#], 0, &[summary(), kept()]);
    assert_eq!(text[1], r#"{"role":"user","content":"b"}"#);
}

#[test]
fn a_neighbour_whose_own_fields_would_go_stays_a_message_of_its_own() {
    let summary = ListSlot::Own(Message::text(Role::User, Author::Harness, "so far").into());
    let place = ElementPlace { first: 0, count: 1, part: ElementPart::All };
    let kept = ListSlot::Message { place, shown: None };
    let named = r#"{"role":"user","content":"b","name":"ada"}"#;
    let list = splice(OpenaiChat, &[named], 0, &[summary, kept]);
    assert_eq!(list, [r#"{"role":"user","content":"so far"}"#, named]);
}

#[test]
fn of_a_content_said_twice_the_last_is_cut_and_the_message_stays() {
    let message = r#"{"role":"tool","tool_call_id":"t","content":"first","content":"LONG"}"#;
    let long = message.replace("LONG", &"y".repeat(300));
    let [left] = &cut(OpenaiChat, &[&long], RESULTS)[..] else { panic!("one element") };
    assert!(
        left.starts_with(
            r#"{"role":"tool","tool_call_id":"t","content":"first","content":"[tool result m0000"#
        ),
        "{left}"
    );
}

#[test]
fn what_is_left_says_what_was_to_be_shown() {
    let text = "word ".repeat(200);
    let elements = [
        format!(
            r#"{{"role":"user","content":[{{"type":"text","text":"{text}"}},{{"type":"image","source":{{"type":"base64","media_type":"image/png","data":"iVBORw0K"}}}}]}}"#
        ),
        format!(
            r#"{{"role":"assistant","content":[{{"type":"text","text":"{text}"}},{{"type":"tool_use","id":"t","name":"n","input":{{"a":"{text}"}}}}]}}"#
        ),
        format!(
            r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t","content":[{{"type":"text","text":"{text}"}},{{"type":"document","source":{{"type":"file","file_id":"f"}}}}]}},{{"type":"text","text":"{text}"}}]}}"#
        ),
    ];
    let elements: Vec<&str> = elements.iter().map(String::as_str).collect();
    let originals = decode(Anthropic, &elements).expect("messages");
    for shorten in [10, 60, 120, 400] {
        let form = Form { shorten: Some(Tokens(shorten)), ..Form::WHOLE };
        let left = cut(Anthropic, &elements, form);
        let left: Vec<&str> = left.iter().map(String::as_str).collect();
        let read: Vec<Vec<Block>> =
            decode(Anthropic, &left).expect("messages").into_iter().map(|(_, it)| it.blocks).collect();
        let shown = originals.iter().enumerate().map(|(at, (_, message))| {
            form.apply(EntryId(at as u32), &Arc::new(message.clone()), &Rough).blocks.clone()
        });
        assert_eq!(read, shown.collect::<Vec<_>>(), "within {shorten}");
    }
}

/// A talk whose harness gives instructions behind the first words, behind a result and behind the last words.
const INSTRUCTED: [&str; 10] = [
    r#"{"role":"user","content":"fix it"}"#,
    r#"{"role":"system","content":"never touch x"}"#,
    r#"{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"n","input":{}}]}"#,
    r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"ok"}]}"#,
    r#"{"role":"system","content":[{"type":"text","text":"be brief"}]}"#,
    r#"{"role":"assistant","content":"done"}"#,
    r#"{"role":"user","content":"and y?"}"#,
    r#"{"role":"assistant","content":"done too"}"#,
    r#"{"role":"user","content":"and z?"}"#,
    r#"{"role":"system","content":"it is noon"}"#,
];

/// What is sent of `elements` after a compaction: some in front of a summary, and all from `tail` on.
fn compacted(elements: &[&str], front: &[usize], tail: usize) -> Vec<String> {
    let kept = |first| {
        let place = ElementPlace { first, count: 1, part: ElementPart::All };
        ListSlot::Message { place, shown: None }
    };
    let summary = ListSlot::Own(Message::text(Role::User, Author::Harness, "so far").into());
    let front = front.iter().map(|&at| kept(at));
    let slots: Vec<ListSlot> =
        front.chain(std::iter::once(summary)).chain((tail..elements.len()).map(kept)).collect();
    splice(Anthropic, elements, 0, &slots).into_iter().map(std::borrow::Cow::into_owned).collect()
}

#[test]
fn instructions_kept_in_front_of_a_summary_stand_behind_it() {
    let expected = [
        r#"{"role":"user","content":[{"type":"text","text":"fix it"},{"type":"text","text":"so far"}]}"#,
        r#"{"role":"system","content":[{"type":"text","text":"never touch x"},{"type":"text","text":"be brief"}]}"#,
        INSTRUCTED[5],
        INSTRUCTED[6],
    ];
    assert_eq!(compacted(&INSTRUCTED[..7], &[0, 1, 4], 5), expected);
    let expected = [
        r#"{"role":"user","content":[{"type":"text","text":"fix it"},{"type":"text","text":"so far"},{"type":"text","text":"and y?"}]}"#,
        r#"{"role":"system","content":[{"type":"text","text":"never touch x"},{"type":"text","text":"be brief"}]}"#,
        INSTRUCTED[7],
        INSTRUCTED[8],
    ];
    assert_eq!(compacted(&INSTRUCTED[..9], &[0, 1, 4], 6), expected);
}

#[test]
fn wherever_a_list_is_cut_its_instructions_stand_where_the_provider_takes_them_and_stay_there() {
    for (tail, opens) in
        [(2, true), (5, true), (6, true), (8, true), (2, false), (5, false), (6, false), (8, false)]
    {
        let front: Vec<usize> =
            [0].into_iter().filter(|_| opens).chain([1, 4].into_iter().filter(|&at| at < tail)).collect();
        let mut before: Vec<String> = Vec::new();
        for end in (tail + 1..=INSTRUCTED.len()).filter(|end| ![3, 4].contains(end)) {
            let sent = compacted(&INSTRUCTED[..end], &front, tail);
            let messages: Vec<serde_json::Value> =
                sent.iter().map(|one| serde_json::from_str(one).expect("JSON")).collect();
            let broken = crate::validate::body(Anthropic, &serde_json::json!({"messages": messages}));
            assert_eq!(broken, [], "{sent:?}");
            for said in ["never touch x", "be brief"] {
                assert_eq!(
                    sent.concat().matches(said).count(),
                    usize::from(said != "be brief" || tail > 4 || end > 4)
                );
            }
            // What is said behind its last words, a harness says before the model has answered.
            assert!(end == 10 || sent.starts_with(&before), "{before:?} {sent:?}");
            before = sent;
        }
    }
}

#[test]
fn instructions_between_the_neighbours_they_came_with_are_their_clients() {
    let odd = [
        r#"{"role":"user","content":"a"}"#,
        r#"{"role":"system","content":"s"}"#,
        r#"{"role":"system","content":"t"}"#,
        r#"{"role":"user","content":[{"type":"text","text":"b"}]}"#,
        r#"{"role":"assistant","content":"c"}"#,
    ];
    assert_eq!(cut(Anthropic, &odd, Form::WHOLE), odd);
}
