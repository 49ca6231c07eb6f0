//! Paths through one session: last messages that change, requests at once, models with other windows, and what people
//! decide between requests.

use crate::stage::{Stage, answer, body, history};
use crate::without_results;
use epitome_upstream::Script;
use reqwest::StatusCode;
use serde_json::{Value, json};

/// A window that these histories outgrow several times.
const SMALL: u64 = 8_000;

fn quiet() -> Script {
    Script { tool_rounds: 0, ..Script::default() }
}

/// The messages that arrived, request by request.
fn arrived(stage: &Stage) -> Vec<Vec<Value>> {
    let messages = |body: &str| serde_json::from_str::<Value>(body).expect("JSON")["messages"].take();
    stage.arrived().iter().map(|(_, body)| serde_json::from_value(messages(body)).expect("a list")).collect()
}

/// What came of each compaction of the only session.
async fn outcomes(stage: &Stage) -> Vec<String> {
    let sessions = stage.sessions().await;
    assert_eq!(sessions.len(), 1, "one history is one session");
    let records = sessions[0]["compactions"].as_array().expect("a list").clone();
    records.iter().map(|record| record["outcome"].as_str().expect("a word").to_owned()).collect()
}

fn is_summary(message: &Value) -> bool {
    message.to_string().contains("<epitome-summary")
}

#[tokio::test]
async fn a_last_message_that_changes_every_turn_leaves_one_compaction_for_each_trigger() {
    let stage = Stage::new(quiet(), SMALL).await;
    let all = history(60, "the parser");
    for end in (5..=all.len()).step_by(4) {
        let mut messages = all[..end].to_vec();
        messages.last_mut().expect("it is not empty")["content"] =
            json!(format!("it is {end} o'clock; go on"));
        let (status, _) = answer(stage.post("/v1/messages", body(&messages, false))).await;
        assert_eq!(status, StatusCode::OK);
    }
    let arrived = arrived(&stage);
    // All but the volatile message must be what the request before sent, but for each compaction.
    let resets =
        arrived.windows(2).filter(|pair| !pair[1].starts_with(&pair[0][..pair[0].len() - 1])).count();
    let summaries: Vec<&Value> =
        arrived.iter().filter_map(|sent| sent.iter().find(|one| is_summary(one))).collect();
    let distinct = 1 + summaries.windows(2).filter(|pair| pair[0] != pair[1]).count();
    let outcomes = outcomes(&stage).await;
    let made = outcomes.iter().filter(|outcome| *outcome == "compacted").count();
    assert!((2..=10).contains(&made), "{made} compactions of {} requests", arrived.len());
    assert_eq!((resets, distinct), (made, made));
    assert!(outcomes.iter().any(|outcome| outcome == "applied"), "{outcomes:?}");
}

#[tokio::test]
async fn four_requests_at_once_over_one_history_make_one_compaction() {
    let stage = Stage::new(quiet(), SMALL).await;
    let all = history(60, "the parser");
    let ask = |number: usize| {
        let mut messages = all.clone();
        messages.last_mut().expect("it is not empty")["content"] = json!(format!("question {number}"));
        answer(stage.post("/v1/messages", body(&messages, false)))
    };
    let replies = futures_util::future::join_all((0..4).map(ask)).await;
    assert!(replies.iter().all(|(status, _)| *status == StatusCode::OK));
    let mut outcomes = outcomes(&stage).await;
    outcomes.sort();
    assert_eq!(outcomes, ["applied", "applied", "applied", "compacted"]);
    let arrived = arrived(&stage);
    let heads: Vec<&[Value]> = arrived.iter().map(|sent| &sent[..sent.len() - 1]).collect();
    assert!(heads.iter().all(|head| *head == heads[0]), "each sees the same head");
}

#[tokio::test]
async fn what_was_said_last_is_there_word_for_word_however_far_a_client_goes_back() {
    let stage = Stage::new(quiet(), SMALL).await;
    let found = |number: usize| format!("{number}: {}", "what the file says here. ".repeat(24));
    let exchange = |number: usize| {
        let (id, found) = (format!("toolu_{number}"), found(number));
        [
            json!({"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": "read", "input": {}}]}),
            json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": found}]}),
        ]
    };
    let asked = json!({"role": "user", "content": "go through all files"});
    let all: Vec<Value> = std::iter::once(asked).chain((0..60).flat_map(exchange)).collect();
    for count in (3..=all.len()).rev().step_by(2) {
        let (status, _) = answer(stage.post("/v1/messages", body(&all[..count], false))).await;
        assert_eq!(status, StatusCode::OK);
        let last = arrived(&stage).pop().and_then(|mut sent| sent.pop()).expect("it arrived").to_string();
        assert!(last.contains(&found(count / 2 - 1)), "{count} messages, and of the last one arrives {last}");
    }
}

#[tokio::test]
async fn a_sibling_with_a_larger_window_keeps_its_whole_history() {
    let stage = Stage::with_windows_of_the_catalog(quiet()).await;
    let all = history(400, "the parser");
    let ask = |model: &str, turns: usize| {
        let messages: Vec<Value> = all[..turns * 4].iter().chain(all.last()).cloned().collect();
        let mut body: Value = serde_json::from_str(&body(&messages, false)).expect("JSON");
        body["model"] = json!(model);
        answer(stage.post("/v1/messages", body.to_string()))
    };
    for (model, turns) in [("gpt-3.5-turbo", 400), ("claude-sonnet-4-5", 400)] {
        assert_eq!(ask(model, turns).await.0, StatusCode::OK);
    }
    let arrived = arrived(&stage);
    assert!(arrived[0].len() < 1_600 && arrived[0].iter().any(is_summary), "{}", arrived[0].len());
    assert_eq!(arrived[1].len(), 1_601);
    assert_eq!(outcomes(&stage).await, ["compacted"]);
}

/// A model that is overloaded gives way to another, and comes back.
#[tokio::test]
async fn another_model_with_the_same_window_goes_on_with_what_was_compacted() {
    let stage = Stage::new(quiet(), SMALL).await;
    let all = history(60, "the parser");
    let ask = async |model: &str, count: usize| {
        let mut body: Value = serde_json::from_str(&body(&all[..count], false)).expect("JSON");
        body["model"] = json!(model);
        let response = stage.post("/v1/messages", body.to_string()).send().await.expect("it answers");
        let done = response.headers()["x-epitome-compaction"].to_str().expect("it is told");
        done.split(';').next().expect("what was done").to_owned()
    };
    let models = ["claude-sonnet-4-5", "claude-sonnet-4", "claude-sonnet-4-5"];
    let mut done = Vec::new();
    for (turn, model) in models.into_iter().enumerate() {
        done.push(ask(model, 221 + 4 * turn).await);
    }
    assert_eq!(done, ["made", "in-use", "in-use"]);
    let arrived = arrived(&stage);
    // The client's list ends with words of the user's, which the next one goes on behind.
    assert!(arrived.windows(2).all(|pair| pair[1][..pair[0].len()] == pair[0][..]), "each extends the last");
}

#[tokio::test]
async fn a_compaction_that_could_not_be_made_does_not_shift_the_next_one() {
    let all = history(60, "the parser");
    let with_system = |system: String, messages: &[Value]| {
        let mut body: Value = serde_json::from_str(&body(messages, false)).expect("JSON");
        body["system"] = json!(system);
        body.to_string()
    };
    let (tried, fresh) = (Stage::new(quiet(), SMALL).await, Stage::new(quiet(), SMALL).await);
    let huge = with_system("a rule to keep. ".repeat(4_000), &all[..21]);
    assert_eq!(answer(tried.post("/v1/messages", huge)).await.0, StatusCode::OK);
    for stage in [&tried, &fresh] {
        let request = with_system("be brief".into(), &all);
        assert_eq!(answer(stage.post("/v1/messages", request)).await.0, StatusCode::OK);
    }
    let [untouched, after] = &arrived(&tried)[..] else { panic!("two requests arrived") };
    assert_eq!(untouched[..], all[..21]);
    let expected = arrived(&fresh).remove(0);
    assert!((2..all.len()).contains(&expected.len()), "it is compacted: {}", expected.len());
    assert_eq!(without_results(&after[1..]), without_results(&expected[1..]));
}

#[tokio::test]
async fn people_undo_redo_judge_and_pin_between_requests() {
    let stage = Stage::new(quiet(), 64_000).await;
    let all = history(20, "the parser");
    let send = async |count: usize| {
        let (status, _) = answer(stage.post("/v1/messages", body(&all[..count], false))).await;
        assert_eq!(status, StatusCode::OK);
        arrived(&stage).pop().expect("it arrived")
    };
    let act = async |method: reqwest::Method, path: &str, json: Value| {
        let request = stage.request(method, &format!("/api/v1/sessions/s0001{path}")).json(&json);
        let (status, body) = answer(request).await;
        (status.as_u16(), serde_json::from_slice::<Value>(&body).unwrap_or_default())
    };
    use reqwest::Method;
    assert_eq!(send(41).await.len(), 41);
    let (status, compacted) = act(Method::POST, "/compact", json!({"focus": "the parser"})).await;
    assert_eq!((status, compacted["record"]["outcome"].as_str()), (200, Some("compacted")), "{compacted}");
    let entry = compacted["entries"][0].as_str().expect("its mark").to_owned();
    let small = send(41).await;
    assert!(small.len() < 41 && small.iter().any(is_summary));
    let shown = async || {
        let session = stage.sessions().await.remove(0);
        let listed = &session["compactions"][0];
        (session["tokens"].as_u64().expect("a number"), listed["entry"].clone(), listed["standing"].clone())
    };
    let (few, ..) = shown().await;
    assert_eq!(shown().await, (few, json!(entry), json!("applied")));
    assert_eq!(act(Method::POST, &format!("/compactions/{entry}/undo"), json!({})).await.0, 200);
    let (many, ..) = shown().await;
    assert!(many > few, "{many} {few}");
    assert_eq!(shown().await, (many, json!(entry), json!("undone")));
    let (status, refused) = act(Method::POST, &format!("/compactions/{entry}/undo"), json!({})).await;
    let why = format!("{entry} is undone already on this path; nothing was changed");
    assert_eq!((status, &refused["error"]), (409, &json!(why)));
    assert_eq!(send(41).await.len(), 41);
    assert_eq!(act(Method::POST, &format!("/compactions/{entry}/redo"), json!({})).await.0, 200);
    let (status, refused) = act(Method::POST, &format!("/compactions/{entry}/redo"), json!({})).await;
    let why = format!("{entry} is not undone on this path; nothing was changed");
    assert_eq!((status, &refused["error"]), (409, &json!(why)));
    assert_eq!(shown().await, (few, json!(entry), json!("applied")));
    assert_eq!(send(41).await, small);
    assert_eq!(send(45).await[..small.len()], small[..]);
    let judged = json!({"flag": "bad", "notes": "lost the plan"});
    assert_eq!(act(Method::PATCH, &format!("/compactions/{entry}"), judged).await.0, 200);
    let entries = async |method: Method, path: &str| act(method, path, json!({})).await.1["entries"].clone();
    let written = entries(Method::POST, "/pins/m0004").await;
    assert_eq!(written.as_array().map(Vec::len), Some(1), "{written}");
    assert_eq!(entries(Method::POST, "/pins/m0004").await, json!([]), "it is pinned");
    assert_eq!(entries(Method::DELETE, "/pins/m0006").await, json!([]), "it is not");
    assert_eq!(act(Method::DELETE, "/pins/m9999", json!({})).await.0, 409);
    let is_back = |sent: &[Value]| json!(sent).to_string().contains("task 1 about the parser\"");
    assert!(!is_back(&small) && is_back(&send(45).await), "what is pinned is back");
    let (status, refused) = act(Method::POST, "/compactions/m0004/undo", json!({})).await;
    let why = "an undo names m0004, which is no compaction or edit";
    assert_eq!((status, refused["error"].as_str()), (409, Some(why)));
}

/// What an act on the first session answers: its status, and its body.
async fn act(stage: &Stage, path: &str, json: Value) -> (u16, Value) {
    let request = stage.request(reqwest::Method::POST, &format!("/api/v1/sessions/s0001/{path}")).json(&json);
    let (status, body) = answer(request).await;
    (status.as_u16(), serde_json::from_slice::<Value>(&body).unwrap_or_default())
}

#[tokio::test]
async fn a_session_moves_about_its_tree_with_and_without_a_word_on_what_it_leaves() {
    let stage = Stage::new(quiet(), 64_000).await;
    let all = history(20, "the parser");
    assert_eq!(answer(stage.post("/v1/messages", body(&all[..41], false))).await.0, StatusCode::OK);
    let (status, labelled) = act(&stage, "labels", json!({"text": "before the rewrite"})).await;
    assert_eq!((status, labelled["entries"].as_array().map(Vec::len)), (200, Some(1)), "{labelled}");
    let (status, moved) =
        act(&stage, "navigate", json!({"to": "m0004", "summary": true, "focus": "tests"})).await;
    let leaf = moved["leaf"].as_str().expect("an entry").to_owned();
    assert_eq!((status, &moved["summary"]), (200, &moved["leaf"]), "{moved}");
    let told = stage.json(&format!("/api/v1/sessions/s0001/messages/{leaf}")).await.to_string();
    assert!(told.contains("<epitome-branch covers=\\\"m0005-m0040\\\">"), "{told}");
    let moved = act(&stage, "navigate", json!({"to": "m0008"})).await;
    assert_eq!(moved, (200, json!({"session": "s0001", "leaf": "m0008", "summary": null})));
    let moved = act(&stage, "rollback", json!({"to": "m0002"})).await;
    assert_eq!(moved, (200, json!({"session": "s0001", "leaf": "m0002", "summary": null})));
    assert_eq!(act(&stage, "rollback", json!({"to": "m9999"})).await.0, 404);
    assert_eq!(act(&stage, "navigate", json!({"to": "m9999"})).await.0, 404);
    assert_eq!(answer(stage.post("/v1/messages", body(&all[..45], false))).await.0, StatusCode::OK);
    assert_eq!(arrived(&stage)[1], all[..45], "the client's own list is the client's");
}

#[tokio::test]
async fn a_compaction_asked_for_in_a_turn_is_made_at_its_end() {
    // More than the target of a compaction, less than its trigger.
    let stage = Stage::new(quiet(), 10_000).await;
    let all = history(20, "the parser");
    let send = async |count: usize| {
        assert_eq!(answer(stage.post("/v1/messages", body(&all[..count], false))).await.0, StatusCode::OK);
        arrived(&stage).pop().expect("it arrived").len()
    };
    // The newest message is a result: its turn goes on.
    assert_eq!(send(43).await, 43);
    let (status, asked) = act(&stage, "compact", json!({"at_turn_end": true})).await;
    assert_eq!((status, &asked["record"]), (200, &Value::Null), "{asked}");
    assert_eq!(send(43).await, 43, "the turn still runs");
    assert!(send(45).await < 45, "it has ended");
    let record = stage.sessions().await[0]["compactions"][0].clone();
    assert_eq!((&record["trigger"], &record["outcome"]), (&json!("requested"), &json!("compacted")));
}

/// Why each compaction of the only session was made, oldest first.
async fn triggers(stage: &Stage) -> Vec<String> {
    let session = stage.sessions().await.remove(0);
    let made = session["compactions"].as_array().expect("a list").clone();
    made.iter().map(|one| one["trigger"].as_str().expect("a word").to_owned()).collect()
}

async fn send_to(stage: &Stage, model: &str, messages: &[Value]) {
    let mut body: Value = serde_json::from_str(&body(messages, false)).expect("JSON");
    body["model"] = json!(model);
    assert_eq!(answer(stage.post("/v1/messages", body.to_string())).await.0, StatusCode::OK);
}

#[tokio::test]
async fn a_smaller_model_in_the_same_conversation_is_a_trigger_of_its_own() {
    let stage = Stage::with_windows_of_the_catalog(quiet()).await;
    let all = history(400, "the parser");
    let send = async |model: &str, turns: usize| {
        let messages: Vec<Value> = all[..turns * 4].iter().chain(all.last()).cloned().collect();
        send_to(&stage, model, &messages).await;
    };
    send("claude-sonnet-4-5", 300).await;
    send("gpt-3.5-turbo", 300).await;
    assert_eq!(triggers(&stage).await, ["downshift"]);
    send("gpt-3.5-turbo", 400).await;
    assert_eq!(triggers(&stage).await, ["downshift", "threshold"], "once it is the session's model");
}

#[tokio::test]
async fn a_model_is_smaller_than_the_one_that_replied_last_though_that_reply_came_with_its_request() {
    let stage = Stage::with_windows_of_the_catalog(quiet()).await;
    let mut messages = history(300, "the parser");
    send_to(&stage, "claude-sonnet-4-5", &messages).await;
    let said = [("assistant", "all of it is done"), ("user", "and what is left?")];
    messages.extend(said.map(|(role, text)| json!({"role": role, "content": text})));
    send_to(&stage, "gpt-3.5-turbo", &messages).await;
    assert_eq!(triggers(&stage).await, ["downshift"]);
    // It is the session's model now.
    messages.push(json!({"role": "assistant", "content": "nothing"}));
    messages.extend(history(200, "the lexer"));
    send_to(&stage, "gpt-3.5-turbo", &messages).await;
    assert_eq!(triggers(&stage).await, ["downshift", "threshold"]);
}
