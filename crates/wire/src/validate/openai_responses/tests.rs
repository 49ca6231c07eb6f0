//! One good body, and for each rule the smallest body that breaks it alone.

use super::openai_responses;
use serde_json::{Value, json};

fn broken(body: Value) -> Vec<String> {
    openai_responses(&body).iter().map(ToString::to_string).collect()
}

/// What is wrong with these items.
fn given(items: Value) -> Vec<String> {
    broken(json!({"input": items}))
}

fn text(role: &str) -> Value {
    json!({"role": role, "content": "hi"})
}

fn call(id: &str) -> Value {
    json!({"type": "function_call", "call_id": id, "name": "run", "arguments": "{}"})
}

fn output(id: &str) -> Value {
    json!({"type": "function_call_output", "call_id": id, "output": "ok"})
}

fn reasoning(id: &str) -> Value {
    json!({"type": "reasoning", "id": id, "summary": []})
}

#[test]
fn a_good_body_breaks_nothing() {
    let image = json!({"type": "input_image", "image_url": "https://example.com/a.png"});
    let items = json!([
        text("developer"),
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "look"}, image]},
        reasoning("rs_1"), call("a"), reasoning("rs_2"),
        {"type": "custom_tool_call", "call_id": "b", "name": "apply_patch", "input": "*** Begin"},
        {"type": "custom_tool_call_output", "call_id": "b", "output": [{"type": "input_text", "text": "ok"}]},
        output("a"),
        {"type": "web_search_call", "status": "completed"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "done"}]},
        {"type": "mcp_approval_request", "id": "mcpr_1"},
        {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": true},
        {"type": "compaction", "encrypted_content": "gAAA"},
        text("user"),
    ]);
    let tools = json!([{"type": "function", "name": "run"}, {"type": "web_search"}]);
    assert_eq!(broken(json!({"tools": tools, "input": items})), [""; 0]);
    assert_eq!(given(json!("hi")), [""; 0]);
}

#[test]
fn input_is_not_empty() {
    assert_eq!(given(json!([])), ["input: input is a text or a list of at least one item"]);
    assert_eq!(given(json!(" ")), ["input: input is not empty"]);
}

#[test]
fn tools_have_a_type_and_functions_a_name() {
    let body = json!({"tools": [{"type": "function"}, {"name": "run"}], "input": "hi"});
    let rules = ["tools[0]", "tools[1]"].map(|at| format!("{at}: a tool has a type, and a function a name"));
    assert_eq!(broken(body), rules);
}

#[test]
fn items_are_of_known_types() {
    assert_eq!(given(json!([{"type": "tool_use"}, text("user")])), ["input[0]: an item is of a known type"]);
}

#[test]
fn item_ids_are_unique() {
    let items = json!([reasoning("rs_1"), call("a"), output("a"), reasoning("rs_1"), call("b"), output("b")]);
    assert_eq!(given(items), ["input[3]: an item's id is unique in the request"]);
}

#[test]
fn reasoning_is_followed_by_what_it_led_to() {
    let rule = "input[0]: a reasoning item is followed by the item it led to";
    assert_eq!(given(json!([reasoning("rs_1"), text("user")])), [rule]);
    let bare = json!([{"type": "reasoning"}, call("a"), output("a")]);
    assert_eq!(given(bare), ["input[0]: a reasoning item has a summary list"]);
}

#[test]
fn odd_items_of_the_reference_break_nothing() {
    let items = json!([
        {"id": "msg_1"},
        {"type": "item_reference", "id": "msg_2"},
        {"role": "user", "content": [{"type": "input_file", "file_id": "f"}, {"type": "input_image", "file_id": "i"}]},
        reasoning("rs_1"),
        {"type": "tool_search_call", "execution": "server", "call_id": null, "arguments": {}},
        {"type": "tool_search_output", "execution": "server", "call_id": null, "tools": []},
        text("assistant"),
    ]);
    assert_eq!(given(items), [""; 0]);
}

#[test]
fn an_output_has_its_call_before_it() {
    assert_eq!(given(json!([output("a")])), ["input[0]: an output has its call before it"]);
    let custom = json!({"type": "custom_tool_call_output", "call_id": "a", "output": "ok"});
    assert_eq!(given(json!([call("a"), custom])), ["input[1]: an output has its call before it"]);
}

#[test]
fn a_call_has_its_output_after_it() {
    assert_eq!(given(json!([call("a"), text("user")])), ["input[0]: a call has its output after it"]);
}

#[test]
fn call_ids_are_there_and_unique() {
    let again = json!([call("a"), output("a"), call("a"), output("a")]);
    assert_eq!(given(again), ["input[2]: a call's id is unique in the request"]);
    assert_eq!(given(json!([call(""), output("")])), ["input[0]: a call has an id"]);
}

#[test]
fn a_call_names_its_tool_and_gives_it_its_input() {
    let function = json!({"type": "function_call", "call_id": "a", "arguments": {}});
    let rules = ["input[0]: arguments are a string of JSON", "input[0]: a call names its tool"];
    assert_eq!(given(json!([function, output("a")])), rules);
    let custom = json!({"type": "custom_tool_call", "call_id": "a", "name": "x"});
    let output = json!({"type": "custom_tool_call_output", "call_id": "a", "output": "ok"});
    assert_eq!(given(json!([custom, output])), ["input[0]: a custom call's input is text"]);
}

#[test]
fn an_output_is_text_or_parts() {
    let bare = json!({"type": "function_call_output", "call_id": "a"});
    assert_eq!(given(json!([call("a"), bare])), ["input[1]: an output is text or a list of parts"]);
    let part = json!({"type": "function_call_output", "call_id": "a", "output": [{"type": "output_text"}]});
    let rule = "input[1].output[0]: input parts are the user's side's, output parts the assistant's";
    assert_eq!(given(json!([call("a"), part])), [rule]);
}

#[test]
fn messages_have_a_known_role_and_say_something() {
    assert_eq!(given(json!([text("tool")])), ["input[0]: a role is user, assistant, system or developer"]);
    let of = |content: Value| given(json!([{"role": "user", "content": content}]));
    assert_eq!(of(json!([])), ["input[0].content: content is not empty"]);
    assert_eq!(of(json!("")), ["input[0].content: content is not empty"]);
    let blank = json!([{"type": "input_text", "text": " "}]);
    assert_eq!(of(blank), ["input[0].content[0]: a text part is not empty"]);
    let foreign = json!([{"type": "output_text", "text": "a"}]);
    let rule = "input[0].content[0]: input parts are the user's side's, output parts the assistant's";
    assert_eq!(of(foreign), [rule]);
    let image = json!([{"type": "input_image", "image_url": "data:image/png;base64,REDACTED"}]);
    assert_eq!(of(image), ["input[0].content[0]: an image URL is http(s) or base64 data"]);
}
