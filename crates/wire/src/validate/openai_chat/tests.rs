//! One good body, and for each rule the smallest body that breaks it alone.

use super::openai_chat;
use serde_json::{Value, json};

fn broken(body: Value) -> Vec<String> {
    openai_chat(&body).iter().map(ToString::to_string).collect()
}

/// What is wrong with these messages.
fn said(messages: Value) -> Vec<String> {
    broken(json!({"messages": messages}))
}

fn text(role: &str) -> Value {
    json!({"role": role, "content": "hi"})
}

/// A reply that calls, with no text.
fn calls(calls: &[Value]) -> Value {
    json!({"role": "assistant", "content": null, "tool_calls": calls})
}

fn call(id: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": "run", "arguments": "{}"}})
}

fn result(id: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": "ok"})
}

#[test]
fn a_good_body_breaks_nothing() {
    let image = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}});
    let parts = json!({"role": "user", "content": [{"type": "text", "text": "look"}, image]});
    let messages = json!([
        text("system"),
        parts,
        calls(&[call("a"), call("b")]),
        result("b"),
        result("a"),
        text("user"),
        text("assistant"),
        text("user"),
        calls(&[call("c")]),
        result("c"),
    ]);
    let tools = json!([{"type": "function", "function": {"name": "run"}}]);
    assert_eq!(broken(json!({"tools": tools, "messages": messages})), [""; 0]);
}

#[test]
fn there_is_at_least_one_message() {
    assert_eq!(said(json!([])), ["messages: messages is a list of at least one message"]);
}

#[test]
fn tools_are_functions_with_a_name() {
    let body = json!({"tools": [{"name": "run"}], "messages": [text("user")]});
    assert_eq!(broken(body), ["tools[0]: a tool is a function or custom tool with a name"]);
}

#[test]
fn roles_are_known() {
    let messages = json!([text("exit"), text("user")]);
    assert_eq!(
        said(messages),
        ["messages[0]: a role is system, developer, user, assistant, tool or function"]
    );
}

#[test]
fn the_system_speaks_first_or_not_at_all() {
    let messages = json!([text("user"), text("assistant"), text("system"), text("user")]);
    assert_eq!(said(messages), ["messages[2]: a system message stands first"]);
}

#[test]
fn the_user_speaks_before_the_assistant() {
    let messages = json!([text("system"), text("assistant"), text("user")]);
    assert_eq!(said(messages), ["messages[1]: the first message after the system's is the user's"]);
}

#[test]
fn user_and_assistant_alternate() {
    assert_eq!(said(json!([text("user"), text("user")])), ["messages[1]: user and assistant alternate"]);
    let twice = json!([text("user"), text("assistant"), text("assistant"), text("user")]);
    assert_eq!(said(twice), ["messages[2]: user and assistant alternate"]);
}

#[test]
fn odd_parts_of_the_reference_break_nothing() {
    let custom = json!({"id": "b", "type": "custom", "custom": {"name": "patch", "input": "*** Begin"}});
    let messages = json!([
        {"role": "user", "content": [{"type": "file", "file": {"file_id": "f"}}, {"type": "input_audio", "input_audio": {}}]},
        calls(&[custom]),
        result("b"),
        {"role": "assistant", "content": null, "function_call": {"name": "run", "arguments": "{}"}},
        {"role": "function", "name": "run", "content": "ok"},
        {"role": "assistant", "content": null, "refusal": "no"},
        text("user"),
        {"role": "assistant", "content": null, "audio": {"id": "audio_1"}},
        text("user"),
        text("assistant"),
    ]);
    assert_eq!(said(messages), [""; 0]);
    assert_eq!(
        said(json!([text("system")])),
        ["messages[0]: there is something to answer, or a reply that is begun"]
    );
}

#[test]
fn instructions_behind_the_users_words_leave_something_to_answer() {
    let last = json!([text("system"), text("user"), text("system")]);
    assert_eq!(said(last), ["messages[2]: a system message stands first"]);
}

#[test]
fn each_call_is_answered_right_behind_it() {
    let messages = json!([text("user"), calls(&[call("a"), call("b")]), result("a"), text("user")]);
    let rule = "messages[1].tool_calls: each call is answered by a tool message right behind it";
    assert_eq!(said(messages), [rule]);
}

#[test]
fn a_tool_message_answers_a_call_right_before_it() {
    let unasked = json!([text("user"), result("a")]);
    assert_eq!(said(unasked), ["messages[1]: a tool message answers a call right before it"]);
    let twice = json!([text("user"), calls(&[call("a")]), result("a"), result("a")]);
    assert_eq!(said(twice), ["messages[3]: a tool message answers a call right before it"]);
}

#[test]
fn call_ids_are_unique_and_short() {
    let again = json!([text("user"), calls(&[call("a")]), result("a"), calls(&[call("a")]), result("a")]);
    assert_eq!(said(again), ["messages[3].tool_calls[0]: a call's id is unique in the request"]);
    let long = "x".repeat(41);
    let messages = json!([text("user"), calls(&[call(&long)]), result(&long)]);
    assert_eq!(said(messages), ["messages[1].tool_calls[0]: a call's id has 1 to 40 characters"]);
}

#[test]
fn a_call_names_its_function_and_gives_it_json() {
    let bad = json!({"id": "a", "type": "other", "function": {"arguments": {}}});
    let at = "messages[1].tool_calls[0]";
    let rules = [
        format!("{at}: a call is of type function or custom"),
        format!("{at}: a call names its function"),
        format!("{at}: arguments are a string of JSON"),
    ];
    assert_eq!(said(json!([text("user"), calls(&[bad]), result("a")])), rules);
}

#[test]
fn content_is_null_only_beside_calls() {
    let silent = json!([text("user"), {"role": "assistant", "content": null}, text("user")]);
    assert_eq!(said(silent), ["messages[1].content: content may be null only beside tool_calls"]);
    let none = json!([text("user"), {"role": "assistant", "content": "a", "tool_calls": []}, text("user")]);
    assert_eq!(said(none), ["messages[1]: tool_calls is not empty"]);
}

#[test]
fn content_is_not_empty() {
    let of = |content: Value| said(json!([{"role": "user", "content": content}]));
    assert_eq!(of(json!(" ")), ["messages[0].content: content is not empty"]);
    assert_eq!(of(json!([])), ["messages[0].content: content is not empty"]);
    assert_eq!(
        of(json!([{"type": "text", "text": ""}])),
        ["messages[0].content[0]: a text part is not empty"]
    );
    let rule = "messages[0].content[0]: a part is text, image_url, input_audio, file or refusal";
    assert_eq!(of(json!([{"type": "image"}])), [rule]);
}

#[test]
fn images_are_the_users_and_can_be_read() {
    let image = |url| json!([{"type": "image_url", "image_url": {"url": url}}]);
    let reply = json!({"role": "assistant", "content": image("https://example.com/a.png")});
    let rule = "messages[1].content[0]: images stand in user messages only";
    assert_eq!(said(json!([text("user"), reply, text("user")])), [rule]);
    let rule = "messages[0].content[0]: an image URL is http(s) or base64 data";
    assert_eq!(said(json!([{"role": "user", "content": image("data:image/png;base64,A")}])), [rule]);
}

#[test]
fn files_are_the_users_and_refusals_the_assistants() {
    let file = json!({"role": "assistant", "content": [{"type": "file"}]});
    let rule = "messages[1].content[0]: files stand in user messages only";
    assert_eq!(said(json!([text("user"), file, text("user")])), [rule]);
    let refusal = json!({"role": "user", "content": [{"type": "refusal"}]});
    assert_eq!(said(json!([refusal])), ["messages[0].content[0]: a refusal is the assistant's"]);
}

#[test]
fn a_tool_message_is_text() {
    let picture = json!({"role": "tool", "tool_call_id": "a", "content": [{"type": "image_url"}]});
    let messages = json!([text("user"), calls(&[call("a")]), picture]);
    assert_eq!(said(messages), ["messages[2]: a tool message's content is text"]);
}
