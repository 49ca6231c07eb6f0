//! Failures: what is tried again, for how long, and what is given up at once.

use crate::script::{Act, Server, cut, stream, whole};
use crate::{BLOCK, KEY, START, Seen, ask, ask_anthropic, provider, request, says};
use epitome_core::{Failure, Purpose, Stop, SummaryReply, Tokens};
use epitome_engine::Model;

fn fine() -> Act {
    says("ok", "end_turn")
}

fn ok() -> Result<SummaryReply, Failure> {
    Ok(SummaryReply { text: "ok".into(), stop: Stop::End, native: None })
}

fn refusal(status: u16, headers: &str, message: &str) -> Act {
    let body = format!(r#"{{"error":{{"type":"x","message":"{message}"}}}}"#);
    Act::Send(whole(status, headers, &body))
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_breaks_is_tried_again_and_both_tries_are_paid_for() {
    let half = r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"ha"}}"#;
    for broken in [cut(&[START, BLOCK, half]), stream(&[START, BLOCK, half])] {
        let seen = ask_anthropic(vec![Act::Send(broken), fine()]).await;
        assert_eq!((seen.called.result, seen.took.as_millis()), (ok(), 500));
        assert_eq!((seen.called.spent.calls, seen.called.spent.input), (2, Tokens(3_400)));
    }
}

#[tokio::test(start_paused = true)]
async fn a_throttled_call_waits_as_long_as_it_is_asked_to() {
    let seen = ask_anthropic(vec![refusal(429, "retry-after: 7\r\n", "slow down"), fine()]).await;
    assert_eq!((seen.called.result, seen.took.as_secs()), (ok(), 7));
}

#[tokio::test(start_paused = true)]
async fn a_date_to_wait_for_is_held_against_the_responses_own() {
    let headers = "date: Sun, 15 Nov 2026 12:00:00 GMT\r\nretry-after: Sun, 15 Nov 2026 12:00:09 GMT\r\n";
    let seen = ask_anthropic(vec![refusal(429, headers, "slow down"), fine()]).await;
    assert_eq!((seen.called.result, seen.took.as_secs()), (ok(), 9));
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_an_hour() {
    let seen = ask_anthropic(vec![refusal(429, "retry-after: 3600\r\n", "slow down")]).await;
    let throttled = Failure::Throttled("HTTP 429: slow down".into());
    assert_eq!((seen.called.result, seen.took.as_secs(), seen.called.spent.calls), (Err(throttled), 0, 1));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_keeps_failing_is_given_up() {
    let seen = ask_anthropic(vec![refusal(500, "", "oops"); 4]).await;
    let broken = Failure::Broken("HTTP 500: oops".into());
    // Waits of 0.5, 1 and 2 seconds.
    assert_eq!((seen.called.result, seen.took.as_millis(), seen.called.spent.calls), (Err(broken), 3_500, 4));
}

#[tokio::test(start_paused = true)]
async fn an_overloaded_provider_is_asked_again_before_and_inside_a_stream() {
    let overloaded = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    let acts = vec![Act::Send(whole(529, "", overloaded)), Act::Send(stream(&[START, overloaded])), fine()];
    let seen = ask_anthropic(acts).await;
    assert_eq!((seen.called.result, seen.called.spent.calls), (ok(), 3));
}

#[tokio::test(start_paused = true)]
async fn a_first_byte_that_does_not_come_is_waited_for_within_the_whole_deadline() {
    let seen = ask_anthropic(vec![Act::Hang(String::new()); 4]).await;
    assert_eq!((seen.called.result, seen.took.as_secs()), (Err(Failure::TimedOut), 600));
}

#[tokio::test(start_paused = true)]
async fn silence_in_the_middle_is_tried_again() {
    let seen = ask_anthropic(vec![Act::Hang(stream(&[START, BLOCK])), fine()]).await;
    assert_eq!((seen.called.result, seen.took.as_millis()), (ok(), 90_500));
}

#[tokio::test(start_paused = true)]
async fn a_request_too_long_says_by_how_much_and_the_window_is_learned() {
    let told = "prompt is too long: 110001 tokens > 100001 maximum";
    let seen = ask_anthropic(vec![refusal(400, "", told)]).await;
    assert_eq!(seen.called.result, Err(Failure::TooLong { over: Some(Tokens(10_000)) }));
    assert_eq!((seen.provider.window(), seen.called.spent.calls), (Tokens(100_001), 1));
}

#[tokio::test(start_paused = true)]
async fn what_the_operator_said_of_the_window_stands() {
    let told = "prompt is too long: 110001 tokens > 100001 maximum";
    let seen = ask("anthropic", "window = 150000", Purpose::History, vec![refusal(400, "", told)]).await;
    assert_eq!(seen.provider.window(), Tokens(150_000));
}

#[tokio::test(start_paused = true)]
async fn an_overflow_inside_a_stream_is_one_too() {
    let failed = r#"{"type":"response.failed","response":{"status":"failed","error":{"code":"context_length_exceeded","message":"Your input exceeds the context window of this model."}}}"#;
    let seen = ask("openai-responses", "", Purpose::History, vec![Act::Send(stream(&[failed]))]).await;
    assert_eq!(seen.called.result, Err(Failure::TooLong { over: None }));
}

#[tokio::test(start_paused = true)]
async fn less_output_is_asked_for_where_prompt_and_output_do_not_fit() {
    let told = "input length and `max_tokens` exceed context limit: 199000 + 2000 > 200000";
    let seen = ask_anthropic(vec![refusal(400, "", told), fine()]).await;
    assert_eq!(seen.called.result, ok());
    assert!(seen.received[1].body.contains(r#""max_tokens":936"#), "{}", seen.received[1].body);
}

#[tokio::test(start_paused = true)]
async fn an_output_limit_above_the_models_own_is_lowered_to_it() {
    let told = "max_tokens: 2000 > 1024, which is the maximum allowed number of output tokens for m";
    let seen = ask_anthropic(vec![refusal(400, "", told), fine()]).await;
    assert!(seen.received[1].body.contains(r#""max_tokens":1024"#), "{}", seen.received[1].body);
}

#[tokio::test(start_paused = true)]
async fn an_option_that_is_rejected_is_left_out_once() {
    let told = "Unsupported parameter: thinking is not supported by this model";
    let seen =
        ask("anthropic", "reasoning = \"low\"", Purpose::History, vec![refusal(400, "", told), fine()]).await;
    assert_eq!(seen.called.result, ok());
    let has = |at: usize| seen.received[at].body.contains("\"thinking\"");
    assert_eq!((has(0), has(1)), (true, false));
    let Seen { called, .. } = ask_anthropic(vec![refusal(400, "", told)]).await;
    assert_eq!(called.result, Err(Failure::Refused(format!("HTTP 400: {told}"))));
}

#[tokio::test(start_paused = true)]
async fn a_wrong_key_and_an_unknown_model_are_denied_and_not_repeated() {
    for (status, said) in [(401, format!("invalid x-api-key {KEY}")), (404, "no such model".to_owned())] {
        let seen = ask_anthropic(vec![refusal(status, "", &said)]).await;
        let Err(Failure::Denied(why)) = &seen.called.result else { panic!("{:?}", seen.called) };
        let hidden = said.replace(KEY, "[key]");
        assert!(why.starts_with(&format!("HTTP {status}: {hidden} (at http://127.0.0.1:")), "{why}");
        assert_eq!((seen.received.len(), seen.called.spent.calls), (1, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_not_there_is_tried_twice_and_named() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let nowhere = format!("http://{}", free.local_addr().expect("it has an address"));
    drop(free);
    let called = provider(&nowhere, "anthropic", "").summarize(request(Purpose::History)).await;
    let Err(Failure::Unreachable(why)) = &called.result else { panic!("{called:?}") };
    assert!(why.starts_with(&format!("nothing answers at {nowhere}: ")), "{why}");
    assert_eq!((called.spent.calls, called.spent.dollars), (2, epitome_core::Dollars::default()));
}

#[tokio::test(start_paused = true)]
async fn a_prompt_cut_in_silence_is_too_long() {
    let body = r#"{"choices":[{"message":{"content":"ok"},"finish_reason":"stop"}],"usage":{"prompt_tokens":4096,"completion_tokens":2}}"#;
    let server = Server::start(vec![Act::Send(whole(200, "", body))]).await;
    let provider = provider(&server.url, "openai-chat", "");
    let long = epitome_core::SummaryInput::Text("a few words more. ".repeat(4_000).into());
    let called =
        provider.summarize(epitome_core::SummaryRequest { body: long, ..request(Purpose::History) }).await;
    assert!(matches!(called.result, Err(Failure::TooLong { over: Some(_) })), "{called:?}");
    assert_eq!(provider.window(), Tokens(4_096));
}

#[tokio::test(start_paused = true)]
async fn dropping_the_call_closes_the_connection() {
    let mut server = Server::start(vec![Act::Hang(stream(&[START, BLOCK]))]).await;
    let provider = provider(&server.url, "anthropic", "");
    tokio::select! {
        biased;
        called = provider.summarize(request(Purpose::History)) => panic!("nothing was to come: {called:?}"),
        _ = server.read.recv() => {}
    }
    // The call was dropped with the branch that lost; the server sees its end.
    assert_eq!(server.closed.recv().await, Some(()));
}
