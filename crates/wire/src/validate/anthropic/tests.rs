//! One good body, and for each rule the smallest body that breaks it alone.

use super::anthropic;
use serde_json::{Value, json};

fn broken(body: Value) -> Vec<String> {
    anthropic(&body).iter().map(ToString::to_string).collect()
}

/// What is wrong with these messages.
fn said(messages: Value) -> Vec<String> {
    broken(json!({"messages": messages}))
}

/// What is wrong with one user message of this content.
fn asked(content: Value) -> Vec<String> {
    said(json!([{"role": "user", "content": content}]))
}

/// What is wrong with a reply of this content between two user texts.
fn replied(content: Value) -> Vec<String> {
    said(json!([text("user"), {"role": "assistant", "content": content}, text("user")]))
}

/// What is wrong with a call `a` answered by this content.
fn answered(content: Value) -> Vec<String> {
    said(
        json!([text("user"), {"role": "assistant", "content": [call("a")]}, {"role": "user", "content": content}]),
    )
}

fn text(role: &str) -> Value {
    json!({"role": role, "content": "hi"})
}

fn call(id: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "run", "input": {}})
}

fn result(id: &str) -> Value {
    json!({"type": "tool_result", "tool_use_id": id, "content": "ok"})
}

fn marked(count: usize) -> Value {
    let block = json!({"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}});
    Value::Array(vec![block; count])
}

#[test]
fn a_good_body_breaks_nothing() {
    let reply = json!([
        {"type": "thinking", "thinking": "", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "ZGF0YQ=="},
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
        {"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "x", "input": {}},
        {"type": "mcp_tool_result", "tool_use_id": "mcptoolu_1", "content": []},
        {"type": "tool_use", "id": "b", "name": "run", "input": {}, "caller": {"type": "code", "tool_id": "srvtoolu_1"}},
        call("a"),
    ]);
    let image =
        json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}});
    let answers = json!([
        {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "ok"}, image]},
        {"type": "tool_result", "tool_use_id": "b", "content": "no", "is_error": true},
        {"type": "text", "text": "go on", "cache_control": {"type": "ephemeral"}},
        {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}},
    ]);
    let body = json!({
        "thinking": {"type": "enabled"},
        "tool_choice": {"type": "auto"},
        "tools": [{"name": "run", "input_schema": {}}, {"type": "web_search_20250305", "name": "web_search"}],
        "system": [{"type": "text", "text": "be brief", "cache_control": {"type": "ephemeral", "ttl": "1h"}}],
        "messages": [text("user"), {"role": "assistant", "content": reply}, {"role": "user", "content": answers}],
    });
    assert_eq!(broken(body), [""; 0]);
}

#[test]
fn there_is_at_least_one_message() {
    assert_eq!(said(json!([])), ["messages: messages is a list of at least one message"]);
    assert_eq!(broken(json!({})), ["messages: messages is a list of at least one message"]);
}

#[test]
fn roles_are_user_assistant_and_system() {
    let messages = json!([text("user"), text("developer"), text("assistant"), text("user")]);
    assert_eq!(said(messages), ["messages[1]: a message's role is user, assistant or system"]);
}

#[test]
fn instructions_stand_between_a_user_message_and_a_reply() {
    let good = json!([text("user"), text("system"), text("assistant"), text("user"), text("system")]);
    assert_eq!(said(good), [""; 0]);
    let rule = "instructions stand right behind a user message and before a reply";
    let first = json!([text("system"), text("user")]);
    assert_eq!(said(first), [format!("messages[0]: {rule}")]);
    let late = json!([text("user"), text("assistant"), text("system"), text("user")]);
    assert_eq!(said(late), [format!("messages[2]: {rule}")]);
}

#[test]
fn instructions_stand_behind_a_reply_that_waits_for_a_server_tool() {
    let search = json!({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}});
    let found = json!({"type": "web_search_tool_result", "tool_use_id": "s", "content": []});
    let paused = json!({"role": "assistant", "content": [search]});
    let resumed = json!({"role": "assistant", "content": [found, {"type": "text", "text": "so"}]});
    assert_eq!(said(json!([text("user"), paused, text("system")])), [""; 0]);
    assert_eq!(said(json!([text("user"), paused, text("system"), resumed, text("user")])), [""; 0]);
    let plain = json!([text("user"), text("assistant"), text("system"), text("assistant")]);
    assert_eq!(
        said(plain),
        ["messages[2]: instructions stand right behind a user message and before a reply"]
    );
    let foreign = json!([text("user"), paused, text("system"), text("user")]);
    assert_eq!(
        said(foreign),
        ["messages[2]: instructions stand right behind a user message and before a reply"]
    );
}

#[test]
fn what_changes_how_the_model_answers_says_nothing_and_stands_anywhere() {
    let effort = json!({"role": "system", "content": [], "output_config": {"effort": "low"}});
    let called = json!({"role": "assistant", "content": [call("a")]});
    let answer = json!({"role": "user", "content": [result("a")]});
    let messages = json!([effort, text("user"), effort, text("system"), called, effort, answer, effort]);
    assert_eq!(said(messages), [""; 0]);
    let silent = json!([text("user"), {"role": "system", "content": []}]);
    assert_eq!(said(silent), ["messages[1].content: content is not empty"]);
}

#[test]
fn instructions_are_words() {
    let image =
        json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}});
    let shown = json!([text("user"), {"role": "system", "content": [image]}]);
    assert_eq!(said(shown), ["messages[1].content[0]: instructions hold text"]);
}

#[test]
fn the_user_speaks_first() {
    let messages = json!([text("assistant")]);
    assert_eq!(said(messages), ["messages[0]: the first message is the user's"]);
}

#[test]
fn roles_alternate() {
    let messages = json!([text("user"), text("user"), text("assistant"), text("user")]);
    assert_eq!(said(messages), ["messages[1]: user and assistant alternate"]);
}

#[test]
fn a_reply_may_be_begun_without_white_space_at_its_end_and_without_thinking() {
    let begun = json!([text("user"), text("assistant")]);
    assert_eq!(said(begun.clone()), [""; 0]);
    let spaced = json!([text("user"), {"role": "assistant", "content": [{"type": "text", "text": "So "}]}]);
    assert_eq!(said(spaced), ["messages[1]: a reply that is begun does not end in white space"]);
    assert_eq!(
        broken(json!({"messages": begun, "thinking": {"type": "enabled", "budget_tokens": 1024}})),
        ["messages: with thinking on, no reply is begun for the model"]
    );
}

#[test]
fn content_is_not_empty() {
    assert_eq!(asked(json!([])), ["messages[0].content: content is not empty"]);
    assert_eq!(asked(json!(" ")), ["messages[0].content: content is not empty"]);
    assert_eq!(asked(json!(1)), ["messages[0].content: content is a string or a list of blocks"]);
}

#[test]
fn texts_are_not_empty() {
    let blank = json!([{"type": "text", "text": "\n"}]);
    assert_eq!(asked(blank.clone()), ["messages[0].content[0]: a text block is not empty"]);
    assert_eq!(replied(blank), ["messages[1].content[0]: a text block is not empty"]);
}

#[test]
fn each_side_has_its_own_blocks() {
    let rule = "messages[0].content[0]: a user message holds text, images, documents and tool results";
    assert_eq!(asked(json!([{"type": "thinking"}])), [rule]);
    let rule = "messages[1].content[0]: an assistant message holds text, thinking, calls and server results";
    assert_eq!(replied(json!([{"type": "image"}])), [rule]);
}

#[test]
fn system_is_text() {
    let body = |system| json!({"system": system, "messages": [text("user")]});
    let blank = json!([{"type": "text", "text": ""}]);
    assert_eq!(broken(body(blank)), ["system[0]: system holds non-empty text blocks"]);
    assert_eq!(broken(body(json!({}))), ["system: system is a string or a list of text blocks"]);
}

#[test]
fn a_call_is_answered_in_the_next_message() {
    let rule = "messages[1].content[0]: a tool_use has its tool_result in the next message";
    assert_eq!(replied(json!([call("a")])), [rule]);
}

#[test]
fn a_result_follows_its_call() {
    let rule = "messages[0].content[0]: a tool_result has its tool_use in the previous message";
    assert_eq!(asked(json!([result("a")])), [rule]);
}

#[test]
fn a_call_has_one_result() {
    let rule = "messages[2].content[1]: a call has one result";
    assert_eq!(answered(json!([result("a"), result("a")])), [rule]);
}

#[test]
fn results_stand_before_text() {
    let late = json!([{"type": "text", "text": "so"}, result("a")]);
    assert_eq!(answered(late), ["messages[2].content[1]: results stand before text"]);
}

#[test]
fn call_ids_are_unique() {
    let reply = json!({"role": "assistant", "content": [call("a")]});
    let answer = json!({"role": "user", "content": [result("a")]});
    let rule = "messages[3].content[0]: a call's id is unique in the request";
    assert_eq!(said(json!([text("user"), reply, answer, reply, answer])), [rule]);
}

#[test]
fn a_call_has_a_plain_id_a_name_and_an_object() {
    let calls = json!([{"type": "tool_use", "id": "a b", "name": "", "input": "x"}]);
    let reply = json!({"role": "assistant", "content": calls});
    let rules = [
        "messages[1].content[0]: a call's id is letters, digits, _ and -",
        "messages[1].content[0]: a call names its tool",
        "messages[1].content[0]: a call's input is an object",
    ];
    assert_eq!(said(json!([text("user"), reply, {"role": "user", "content": [result("a b")]}])), rules);
}

#[test]
fn a_result_holds_what_results_may_hold() {
    let of = |content| json!([{"type": "tool_result", "tool_use_id": "a", "content": content}]);
    let at = "messages[2].content[0]";
    assert_eq!(
        answered(of(json!(1))),
        [format!("{at}: a tool_result's content is a string or a list of blocks")]
    );
    let part = json!([{"type": "tool_use"}]);
    assert_eq!(
        answered(of(part)),
        [format!("{at}.content[0]: a tool_result holds text, images and documents")]
    );
    let blank = json!([{"type": "text", "text": ""}]);
    assert_eq!(answered(of(blank)), [format!("{at}.content[0]: a text block is not empty")]);
}

#[test]
fn an_error_says_something_in_text() {
    let of =
        |content| json!([{"type": "tool_result", "tool_use_id": "a", "content": content, "is_error": true}]);
    assert_eq!(answered(of(json!(""))), ["messages[2].content[0]: an error result says something"]);
    let document = json!([{"type": "document"}]);
    assert_eq!(
        answered(of(document)),
        ["messages[2].content[0].content[0]: an error result holds text only"]
    );
}

#[test]
fn images_can_be_read() {
    let of = |source| asked(json!([{"type": "image", "source": source}]));
    let at = "messages[0].content[0]";
    let tiff = json!({"type": "base64", "media_type": "image/tiff", "data": "AAAA"});
    assert_eq!(of(tiff), [format!("{at}: an image is png, jpeg, gif or webp")]);
    let cut = json!({"type": "base64", "media_type": "image/png", "data": "AAA"});
    assert_eq!(of(cut), [format!("{at}: image data is base64")]);
    assert_eq!(of(json!({"type": "url", "url": "file:///a"})), [format!("{at}: an image URL is http(s)")]);
    assert_eq!(of(json!({})), [format!("{at}: an image's source is base64, url or file")]);
}

#[test]
fn a_server_tool_is_answered_in_the_same_message() {
    let use_block = json!({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}});
    let result = json!({"type": "web_search_tool_result", "tool_use_id": "s"});
    let unanswered = "messages[1].content[0]: a server_tool_use has its result in the same message";
    assert_eq!(replied(json!([use_block])), [unanswered]);
    let unasked = "messages[1].content[0]: a server tool's result has its use before it in the same message";
    assert_eq!(replied(json!([result])), [unasked]);
}

#[test]
fn an_mcp_tool_is_answered_in_the_same_message() {
    let use_block = json!({"type": "mcp_tool_use", "id": "m", "name": "x", "input": {}});
    let result = json!({"type": "mcp_tool_result", "tool_use_id": "m"});
    let unanswered = "messages[1].content[0]: an mcp_tool_use has its result in the same message";
    assert_eq!(replied(json!([use_block])), [unanswered]);
    let unasked = "messages[1].content[0]: an mcp_tool_result has its use before it in the same message";
    assert_eq!(replied(json!([result])), [unasked]);
}

#[test]
fn a_programmatic_call_stands_after_the_code_that_made_it() {
    let mut called = call("a");
    called["caller"] = json!({"tool_id": "srvtoolu_9"});
    let reply = json!({"role": "assistant", "content": [called]});
    let messages = json!([text("user"), reply, {"role": "user", "content": [result("a")]}]);
    let rule = "messages[1].content[0]: a programmatic call stands after the use that made it";
    assert_eq!(said(messages), [rule]);
}

#[test]
fn thinking_is_whole() {
    let unsigned = json!([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "a"}]);
    assert_eq!(
        replied(unsigned),
        ["messages[1].content[0]: a thinking block keeps its text and its signature"]
    );
    let empty = json!([{"type": "redacted_thinking"}, {"type": "text", "text": "a"}]);
    assert_eq!(replied(empty), ["messages[1].content[0]: a redacted_thinking block keeps its data"]);
}

#[test]
fn a_reply_does_not_end_in_thinking() {
    let only = json!([{"type": "thinking", "thinking": "hm", "signature": "c2ln"}]);
    assert_eq!(replied(only), ["messages[1].content[0]: a reply does not end in thinking"]);
}

#[test]
fn with_thinking_on_the_last_calls_start_with_it() {
    let reply = json!({"role": "assistant", "content": [call("a")]});
    let messages = json!([text("user"), reply, {"role": "user", "content": [result("a")]}]);
    let body = json!({"thinking": {"type": "enabled"}, "messages": messages});
    let rule = "messages[1].content[0]: with thinking on, the reply with the last calls starts with it";
    assert_eq!(broken(body), [rule]);
}

#[test]
fn with_thinking_on_no_tool_is_forced() {
    let body = json!({
        "thinking": {"type": "adaptive"},
        "tools": [{"name": "run", "input_schema": {}}],
        "tool_choice": {"type": "any"},
        "messages": [text("user")],
    });
    assert_eq!(broken(body), ["tool_choice: with thinking on, tool_choice is auto or none"]);
}

#[test]
fn a_tool_choice_names_a_tool() {
    let body = |tools, choice| json!({"tools": tools, "tool_choice": choice, "messages": [text("user")]});
    let run = json!([{"name": "run", "input_schema": {}}]);
    let rule = "tool_choice: tool_choice is auto, any, none, or a tool that is defined";
    assert_eq!(broken(body(run, json!({"type": "tool", "name": "walk"}))), [rule]);
    assert_eq!(
        broken(body(json!([]), json!({"type": "auto"}))),
        ["tool_choice: tool_choice comes with tools"]
    );
}

#[test]
fn tools_are_whole_and_named_once() {
    let body = |tools| json!({"tools": tools, "messages": [text("user")]});
    assert_eq!(broken(body(json!([{"input_schema": {}}]))), ["tools[0]: a tool has a name"]);
    assert_eq!(broken(body(json!([{"name": "a"}]))), ["tools[0]: a tool has an input_schema"]);
    let twice = json!([{"name": "a", "input_schema": {}}, {"name": "a", "input_schema": {}}]);
    assert_eq!(broken(body(twice)), ["tools[1]: tool names are unique"]);
}

#[test]
fn there_are_at_most_four_cache_breakpoints() {
    assert_eq!(asked(marked(4)), [""; 0]);
    assert_eq!(asked(marked(5)), ["messages[0].content[4]: a request has at most 4 cache breakpoints"]);
    let body =
        json!({"system": marked(4), "cache_control": {"type": "ephemeral"}, "messages": [text("user")]});
    assert_eq!(broken(body), ["cache_control: a request has at most 4 cache breakpoints"]);
}

#[test]
fn thinking_carries_no_cache_breakpoint() {
    let mark = json!({"type": "ephemeral"});
    let thinking = json!({"type": "thinking", "thinking": "", "signature": "c2ln", "cache_control": mark});
    let rule = "messages[1].content[0]: a thinking block carries no cache breakpoint";
    assert_eq!(replied(json!([thinking, {"type": "text", "text": "a"}])), [rule]);
}

#[test]
fn longer_cache_lifetimes_come_first() {
    let long = json!({"type": "text", "text": "a", "cache_control": {"type": "ephemeral", "ttl": "1h"}});
    let body = json!({"system": marked(1), "messages": [{"role": "user", "content": [long]}]});
    assert_eq!(broken(body), ["messages[0].content[0]: longer cache lifetimes come before shorter ones"]);
}
