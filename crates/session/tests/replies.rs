//! Replies and refusals as an agent's loop meets them: cut off, paused, refused, full, and what each leaves behind.

use epitome_session::core::Failure;
use epitome_session::wire::sse::Assembler;
use epitome_session::{
    Author, BuildError, ErrorPlace, Event, LiveSession, Message, Protocol, Role, SessionBuilder,
    SessionError, Tokens, TurnStop, reply, summary_result,
};
use serde_json::{Value, json};

const PROTOCOL: Protocol = Protocol::Anthropic;
const LIST: &str = r#"{"name":"ls","input_schema":{"type":"object"}}"#;

fn builder() -> SessionBuilder {
    LiveSession::for_model("claude-sonnet-4-5").system("You mend builds.").tool(LIST).window(16_000)
}

/// A session in which a question waits for its answer.
async fn asked() -> LiveSession {
    let mut session = builder().output_max(4_000).build().expect("it is built");
    session.say("well?").await.expect("it is taken up");
    session
}

fn words(count: usize) -> String {
    (0..count).map(|at| format!("word{} ", at * 7_919 % 10_007)).collect()
}

fn take(session: &mut LiveSession, body: &Value) -> Result<(), SessionError> {
    session.take_reply(&reply(PROTOCOL, body.to_string().as_bytes())).map(drop)
}

fn ended(stop: &str, text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}], "stop_reason": stop})
}

fn calls(ids: &[&str]) -> Value {
    let calls = ids.iter().map(|id| json!({"type": "tool_use", "id": id, "name": "ls", "input": {}}));
    json!({"content": calls.collect::<Vec<_>>(), "stop_reason": "tool_use"})
}

fn request(session: &LiveSession) -> Value {
    serde_json::from_slice(&session.body(PROTOCOL).expect("it can be written")).expect("it is JSON")
}

/// What a stream comes to that ends after these events.
async fn streamed(protocol: Protocol, events: &[Value]) -> (Result<(), String>, usize) {
    let mut assembler = Assembler::new(protocol);
    events.iter().for_each(|event| assembler.push(format!("data: {event}\n\n").as_bytes()));
    let mut session = asked().await;
    let taken = session.take_reply(&assembler.finish()).map(drop).map_err(|error| error.to_string());
    (taken, session.session().history().len())
}

#[tokio::test]
async fn a_stream_that_is_cut_off_is_not_taken_up_as_a_reply() {
    let refused = |said: &str| {
        let why = "the reply ended before its end was told, and nothing of it was taken up; send the request again; as far as it came, it said: ";
        (Err(format!("{why}{said:?}")), 1)
    };
    let start = json!({"type": "message_start", "message": {"content": [], "usage": {"input_tokens": 5}}});
    let text =
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}});
    let half =
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "half"}});
    let call = json!({"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "c1", "name": "ls", "input": {}}});
    let path = json!({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": "{\"path\": \"/et"}});
    let end = json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}});
    assert_eq!(streamed(PROTOCOL, &[start.clone(), text.clone(), half.clone()]).await, refused("half"));
    assert_eq!(streamed(PROTOCOL, &[start.clone(), call, path]).await, refused(""));
    assert_eq!(streamed(PROTOCOL, std::slice::from_ref(&start)).await, refused(""));
    assert_eq!(streamed(PROTOCOL, &[start, text, half, end]).await, (Ok(()), 2));
    let chat = json!({"choices": [{"index": 0, "delta": {"content": "half"}}]});
    assert_eq!(streamed(Protocol::OpenaiChat, &[chat]).await, refused("half"));
    let item = json!({"type": "response.output_item.added", "output_index": 0, "item": {"type": "message", "role": "assistant", "content": []}});
    let delta = json!({"type": "response.output_text.delta", "output_index": 0, "delta": "half"});
    assert_eq!(streamed(Protocol::OpenaiResponses, &[item, delta]).await, refused("half"));
}

#[tokio::test]
async fn why_a_turn_is_over_is_told() {
    let mut found = Vec::new();
    for body in [
        ended("end_turn", "done"),
        ended("max_tokens", "half"),
        ended("refusal", ""),
        json!({"content": [], "stop_reason": "end_turn"}),
        calls(&["c1"]),
        ended("pause_turn", "searching"),
    ] {
        let mut session = asked().await;
        take(&mut session, &body).expect("it is whole");
        found.push((session.has_turn_ended(), session.turn_stop().expect("it is in memory")));
    }
    let over = |stop| (true, Some(stop));
    let ends = [TurnStop::Done, TurnStop::Length, TurnStop::Refusal, TurnStop::Empty].map(over);
    assert_eq!(found, [ends.as_slice(), &[(false, None), (false, None)]].concat());
}

#[tokio::test]
async fn a_reply_that_the_provider_paused_goes_back_as_it_came() {
    let mut session = asked().await;
    take(&mut session, &ended("pause_turn", "searching")).expect("it is whole");
    let roles: Vec<Value> = request(&session)["messages"].as_array().expect("a list").clone();
    let last = json!({"role": "assistant", "content": [{"type": "text", "text": "searching"}]});
    assert_eq!((roles.len(), roles.last()), (2, Some(&last)));
}

#[tokio::test]
async fn nothing_is_sent_where_nobody_waits_for_a_reply() {
    let told = |session: &LiveSession| session.body(PROTOCOL).map(drop).map_err(|error| error.to_string());
    let refused = |why: &str| Err(format!("there is nothing to send: {why}; say something first"));
    let mut session = builder().build().expect("it is built");
    assert_eq!(told(&session), refused("nothing was said yet"));
    session.say("well?").await.expect("it is taken up");
    assert_eq!(told(&session), Ok(()));
    take(&mut session, &ended("end_turn", "done")).expect("it is whole");
    assert_eq!(told(&session), refused("the newest thing said is the model's last word"));
    session.append(Message::text(Role::User, Author::Harness, "a reminder")).expect("it is taken up");
    assert_eq!(told(&session), Ok(()));
}

#[tokio::test]
async fn each_open_call_is_answered_once_and_all_at_once() {
    let mut session = asked().await;
    take(&mut session, &calls(&["a", "b"])).expect("it is whole");
    let open = session.open_calls().expect("it is in memory");
    let [a, b] = [0, 1].map(|at| open[at].answer("src"));
    let mut told =
        |results: Vec<_>| session.answer(results).map(|id| id.is_some()).map_err(|error| error.to_string());
    let refused = |why: &str| Err(why.to_owned());
    assert_eq!(
        told(vec![]),
        refused(
            "`a`, `b` still wait for their results; nothing was taken up, hand in the results of all calls at once, or give them up with `end_turn(TurnEnd::Broken)`"
        )
    );
    assert_eq!(
        told(vec![a.clone()]),
        refused(
            "`b` still waits for its result; nothing was taken up, hand in the results of all calls at once, or give them up with `end_turn(TurnEnd::Broken)`"
        )
    );
    assert_eq!(
        told(vec![a.clone(), b.clone(), a.clone()]),
        refused("call `a` is answered twice; nothing was taken up, hand in one result for each call")
    );
    assert_eq!(told(vec![b.clone(), a.clone()]), Ok(true));
    assert_eq!(told(vec![a]), refused("call `a` waits for no result; no call is open"));
    assert_eq!(told(vec![]), Ok(false));
}

#[tokio::test]
async fn refusals_say_whether_they_pass() {
    let mut session = asked().await;
    let mut found = Vec::new();
    let mut summaries = Vec::new();
    for (status, said) in [
        (408, "too slow"),
        (425, "too early"),
        (429, "slow down"),
        (500, "oops"),
        (529, "Overloaded"),
        (401, "invalid key"),
        (400, "bad"),
    ] {
        let body = json!({"error": {"message": said}}).to_string();
        let failure = summary_result(Protocol::Anthropic, status, body.as_bytes()).result;
        summaries.push((status, !matches!(failure, Err(Failure::Refused(_) | Failure::Denied(_)))));
        let error =
            session.recover(ErrorPlace::Status(status), body.as_bytes()).await.expect_err("it is refused");
        let SessionError::Refused { why, .. } = &error else { panic!("{error:?}") };
        found.push((status, error.is_passing(), why.clone()));
    }
    let later = "a smaller request would not help; wait, and send the same one again";
    let never = "a smaller request would not help";
    let expected = [
        (408, true, later),
        (425, true, later),
        (429, true, later),
        (500, true, later),
        (529, true, later),
        (401, false, never),
        (400, false, never),
    ];
    assert_eq!(found, expected.map(|(status, is_passing, why)| (status, is_passing, why.to_owned())));
    // A summary call is refused for good by what a reply is refused for good by.
    assert_eq!(summaries, expected.map(|(status, is_passing, _)| (status, is_passing)));
    assert_eq!(session.session().history().len(), 1);
}

#[tokio::test]
async fn where_nobody_says_how_long_an_answer_may_be_it_is_as_long_as_there_is_room_for() {
    let asked = async |model: &str| {
        let mut session = LiveSession::for_model(model).build().expect("it is built");
        session.say("hello").await.expect("it is taken up");
        let budget = session.session().budget();
        let most = request(&session)["max_tokens"].as_u64().expect("it is told");
        let longest = budget.trigger_point(session.session().policy());
        assert!(Tokens(most) + longest <= budget.window, "{model}: {most} beside {longest}");
        most
    };
    assert_eq!([asked("claude-3-haiku").await, asked("claude-sonnet-4-5").await], [4_096, 50_000]);
}

#[tokio::test]
async fn an_answer_too_long_for_the_window_is_asked_for_shorter_once() {
    let said = |prompt: u64, asked: u64| {
        let message = format!(
            "input length and `max_tokens` exceed context limit: {prompt} + {asked} > 16000, decrease input length or `max_tokens` and try again"
        );
        json!({"type": "error", "error": {"type": "invalid_request_error", "message": message}}).to_string()
    };
    let mut session = asked().await;
    let step = session
        .recover(ErrorPlace::Status(400), said(13_000, 4_000).as_bytes())
        .await
        .expect("it asks for less");
    assert!(step.record.is_none() && session.session().compactions().is_empty(), "{step:?}");
    session.prepare().await.expect("nothing is due");
    assert_eq!(request(&session)["max_tokens"], 16_000 - 13_000 - 64);
    take(&mut session, &ended("end_turn", "done")).expect("it is whole");
    session.say("and now?").await.expect("it is taken up");
    assert_eq!(request(&session)["max_tokens"], 4_000, "that was for one call");
    // With so little left, an answer would be none: the prompt gives way.
    for _ in 0..6 {
        session.append(Message::text(Role::User, Author::Person, words(300))).expect("it is taken up");
        session.append(Message::text(Role::Assistant, Author::Model, "fine")).expect("it is taken up");
    }
    session.say("go on").await.expect("it is taken up");
    let step =
        session.recover(ErrorPlace::Status(400), said(15_500, 4_000).as_bytes()).await.expect("room is made");
    assert!(step.record.is_some_and(|record| record.outcome.is_rebuilt()));
    assert_eq!(request(&session)["max_tokens"], 4_000);
}

#[tokio::test]
async fn a_window_that_was_full_is_learned_as_the_provider_counts() {
    let full = |prompt: u64| {
        json!({"content": [{"type": "text", "text": "it"}], "stop_reason": "model_context_window_exceeded",
            "usage": {"input_tokens": prompt, "output_tokens": 10}})
    };
    let learned = async |percent: u64| {
        let mut session = builder().output_max(1_000).build().expect("it is built");
        for _ in 0..8 {
            session.append(Message::text(Role::User, Author::Person, words(150))).expect("it is taken up");
            session.append(Message::text(Role::Assistant, Author::Model, "fine")).expect("it is taken up");
        }
        session.say("and now?").await.expect("it is taken up");
        let ours = session.session().check().tokens.0;
        let prompt = ours * percent / 100;
        let step =
            session.take_reply(&reply(PROTOCOL, full(prompt).to_string().as_bytes())).expect("no error");
        let windows = step.events.iter().filter_map(|event| match event {
            Event::Learned { window } => Some(window.0),
            _ => None,
        });
        let windows: Vec<u64> = windows.collect();
        (windows, prompt, session.session().figure().0.0, session.has_turn_ended())
    };
    let (windows, prompt, figure, has_ended) = learned(150).await;
    assert_eq!((windows, has_ended), (vec![prompt + 10], false), "what filled it, in the provider's tokens");
    assert!(figure.abs_diff(prompt) <= prompt / 100, "{figure} is {prompt} as the provider counts");
}

#[tokio::test]
async fn a_request_that_cannot_be_made_to_fit_is_an_error_each_time() {
    let mut session = builder().system(words(20_000)).build().expect("it is built");
    session.say("hello").await.expect("it is taken up");
    for _ in 0..3 {
        let error = session.prepare().await.expect_err("it cannot fit");
        let SessionError::NoRoom { floor, .. } = &error else { panic!("{error:?}") };
        assert!(floor.fixed > Tokens(16_000), "{floor:?}");
        assert!(
            error
                .to_string()
                .starts_with("the next request cannot fit 16,000 tokens: system prompt and tools take "),
            "{error}"
        );
    }
    assert!(session.body(PROTOCOL).is_ok(), "whoever knows better can send it");
}

#[tokio::test]
async fn a_large_result_is_shortened_in_place_with_no_summary_of_nothing() {
    let mut session = asked().await;
    take(&mut session, &calls(&["a"])).expect("it is whole");
    let open = session.open_calls().expect("it is in memory");
    session.answer(open.iter().map(|call| call.answer(words(9_000)))).expect("it is taken up");
    let record = session.prepare().await.expect("room is made").record.expect("it was due");
    let change = record.change().expect("something changed");
    assert_eq!((change.summary.as_deref(), change.dropped.len(), change.reduced.len()), (None, 0, 1));
    let request = request(&session);
    let messages = request["messages"].as_array().expect("a list");
    assert_eq!(messages[0], json!({"role": "user", "content": [{"type": "text", "text": "well?"}]}));
    assert_eq!(messages.len(), 3);
}

#[tokio::test]
async fn what_no_request_can_hold_is_refused_at_once() {
    let told = |builder: SessionBuilder| builder.build().map(drop).expect_err("it is refused").to_string();
    assert_eq!(
        told(builder().tool("not json")),
        "tool definition 1 is not a JSON object (expected ident at line 1 column 2); correct it or leave it out"
    );
    assert_eq!(
        told(builder().tool("[]")),
        "tool definition 1 is not a JSON object (invalid type: sequence, expected a map at line 1 column 0); correct it or leave it out"
    );
    assert_eq!(
        told(builder().field("stream", "yes")),
        "the value of the field `stream` is not JSON; correct it or leave it out"
    );
    assert_eq!(
        told(builder().field("messages", "[]")),
        "`messages` is written by the session; use `say`, `answer` and `append`"
    );
    assert_eq!(
        told(builder().field("model", "\"x\"")),
        "`model` is written by the session; name it in `LiveSession::for_model`"
    );
    assert_eq!(
        told(builder().window(0)),
        "a window of 0 tokens is none: it has 1,024 at least and 10,000,000 at most; hand in the model's own, or leave `window` out to have it looked up"
    );
    assert!(matches!(builder().field("max_tokens", "1").build(), Err(BuildError::ReservedField { .. })));
    assert!(
        builder().field("max_completion_tokens", "1").build().is_ok(),
        "the newer name of it is passed on"
    );
}

#[tokio::test]
async fn a_stream_is_asked_for_with_its_usage() {
    let mut session =
        builder().field("stream", "false").field("temperature", "0.5").build().expect("it is built");
    session.say("well?").await.expect("it is taken up");
    let fields = |protocol| {
        let body = session.stream_body(protocol).expect("it can be written");
        let body: Value = serde_json::from_slice(&body).expect("it is JSON");
        ["stream", "stream_options", "temperature"].map(|name| body[name].clone())
    };
    let (usage, none) = (json!({"include_usage": true}), Value::Null);
    assert_eq!(fields(Protocol::OpenaiChat), [json!(true), usage, json!(0.5)]);
    assert_eq!(fields(Protocol::Anthropic), [json!(true), none.clone(), json!(0.5)]);
    assert_eq!(fields(Protocol::OpenaiResponses), [json!(true), none, json!(0.5)]);
    assert_eq!(request(&session)["stream"], json!(false));
}
