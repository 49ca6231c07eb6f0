//! Items of OpenAI's Responses: a reasoning item, the words and the calls it led to are sent each by itself, and belong
//! together all the same. Without its reasoning the provider refuses a call, and reasoning without what it led to.

use crate::sandbox::Sandbox;
use serde_json::{Value, json};

const TURNS: usize = 40;

/// What the model put out in a turn, in every order there is: with its results.
fn items(turn: usize) -> Vec<Value> {
    let reasoning = json!({"type": "reasoning", "id": format!("rs_{turn}"), "summary": [], "encrypted_content": "gAAAAAB-_w=="});
    let words = json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": format!("words {turn}")}]});
    let call = |number: usize| {
        let id = format!("call_{turn}_{number}");
        json!({"type": "function_call", "id": format!("fc_{turn}_{number}"), "call_id": id, "name": "read", "arguments": "{}"})
    };
    let result = |number: usize| {
        let output = format!("result {turn} {number}: {}", "what stands in the file ".repeat(30));
        json!({"type": "function_call_output", "call_id": format!("call_{turn}_{number}"), "output": output})
    };
    match turn % 5 {
        0 => vec![reasoning, call(0), result(0)],
        1 => vec![reasoning, words, call(0), result(0)],
        2 => vec![words, reasoning, call(0), result(0)],
        3 => vec![reasoning, call(0), call(1), result(1), result(0)],
        _ => vec![reasoning, words],
    }
}

fn body() -> Value {
    let asked = |turn: usize| json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": format!("task {turn}")}]});
    let turns = (0..TURNS).flat_map(|turn| [vec![asked(turn)], items(turn)].concat());
    let input: Vec<Value> = turns.chain([asked(TURNS)]).collect();
    json!({"model": "gpt-5", "input": input})
}

/// What an item is known by; a long result may have been cut.
fn name(item: &Value) -> String {
    let text = &item["content"][0]["text"];
    format!("{} {} {} {}", item["type"], item["id"], item["call_id"], text)
}

#[test]
fn l58_a_reasoning_item_is_there_with_all_it_led_to_or_none_of_it_is() {
    let sandbox = Sandbox::with(body().to_string());
    let mut cuts = Vec::new();
    for window in (4_000..9_000).step_by(500) {
        let window = window.to_string();
        let args =
            ["compact", "session", "-o", "out", "--json", "--window", &window, "--set", "trigger.target=40%"];
        let record = sandbox.json(&args);
        assert_eq!(record["outcome"], "compacted", "{record}");
        let out: Value = serde_json::from_str(&sandbox.text("out")).expect("JSON");
        let input = out["input"].as_array().expect("a list");
        let there: Vec<String> = input.iter().map(name).collect();
        let mut kept = 0;
        for turn in 0..TURNS {
            let group: Vec<String> = items(turn).iter().map(name).collect();
            let count = group.iter().filter(|one| there.contains(one)).count();
            assert!(count == 0 || count == group.len(), "{window}: {count} of turn {turn}: {there:?}");
            if let Some(first) = there.iter().position(|one| *one == group[0]) {
                assert_eq!(there[first..first + group.len()], group, "{window}: in their order");
                kept += 1;
            }
        }
        cuts.push(kept);
    }
    cuts.dedup();
    assert!(
        cuts.len() >= 3 && cuts.iter().all(|kept| (1..TURNS).contains(kept)),
        "cut in many places: {cuts:?}"
    );
}
