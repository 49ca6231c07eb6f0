//! The window: what does not fit is refused as its provider refuses it.

use crate::client::{
    CHAT, Client, MESSAGES, RESPONSES, anthropic, chat, events, questions, responses, streamed,
};
use epitome_upstream::{Place, Script, Style};
use serde_json::{Value, json};

async fn narrow(style: Style, place: Place) -> Client {
    let script = Script {
        window_tokens: Some(100),
        overflow_style: style,
        overflow_place: place,
        ..Script::default()
    };
    Client::of(script).await
}

fn long() -> String {
    "one more line of a long story\n".repeat(50)
}

#[tokio::test]
async fn each_provider_refuses_a_long_prompt_its_own_way() {
    let client = narrow(Style::Provider, Place::Status).await;
    let counted = |body: Value| body["input_tokens"].clone();
    let prompt = counted(client.post("/v1/messages/count_tokens", &anthropic(&long())).await.body);
    let refused = client.post(MESSAGES, &anthropic(&long())).await;
    let message = format!("prompt is too long: {prompt} tokens > 100 maximum");
    let told = json!({"type": "invalid_request_error", "message": message});
    assert_eq!((refused.status, &refused.body["error"]), (400, &told));

    let prompt = counted(client.post("/v1/responses/input_tokens", &responses(&long())).await.body);
    let refused = client.post(CHAT, &chat(&long())).await;
    let message = format!(
        "This model's maximum context length is 100 tokens. However, your messages resulted in {prompt} \
         tokens. Please reduce the length of the messages."
    );
    let told = json!({
        "message": message,
        "type": "invalid_request_error",
        "param": "messages",
        "code": "context_length_exceeded",
    });
    assert_eq!((refused.status, &refused.body["error"]), (400, &told));

    let refused = client.post(RESPONSES, &responses(&long())).await;
    let message =
        "Your input exceeds the context window of this model. Please adjust your input and try again.";
    let told = json!({
        "message": message,
        "type": "invalid_request_error",
        "param": "input",
        "code": "context_length_exceeded",
    });
    assert_eq!((refused.status, &refused.body["error"]), (400, &told));
    let report = client.upstream.report();
    assert_eq!((report.overflows, report.refused), (3, 0));
    assert!(report.largest_prompt_tokens > 300);
}

#[tokio::test]
async fn what_fits_is_answered() {
    let client = narrow(Style::Provider, Place::Status).await;
    let got = client.post(MESSAGES, &anthropic("Hello")).await;
    assert_eq!((got.status, &got.body["stop_reason"]), (200, &json!("model_context_window_exceeded")));
    let total = got.body["usage"]["input_tokens"].as_u64().zip(got.body["usage"]["output_tokens"].as_u64());
    assert!(total.is_some_and(|(input, output)| input + output <= 100), "{total:?}");
}

/// The status and the body of an overflow in another provider's style.
async fn told(style: Style) -> (u16, Value) {
    let mut body = chat(&long());
    body["max_completion_tokens"] = json!(7);
    let got = narrow(style, Place::Status).await.post(CHAT, &body).await;
    (got.status, got.body)
}

#[tokio::test]
async fn other_servers_can_be_played() {
    let (status, body) = told(Style::LlamaCpp).await;
    let prompt = body["error"]["n_prompt_tokens"].clone();
    let message = format!(
        "request ({prompt} tokens) exceeds the available context size (100 tokens), try increasing it"
    );
    let expected = json!({"error": {
        "code": 400,
        "message": message,
        "type": "exceed_context_size_error",
        "n_prompt_tokens": prompt,
        "n_ctx": 100,
    }});
    assert_eq!((status, body), (400, expected));

    let (status, body) = told(Style::Gemini).await;
    let message =
        format!("The input token count ({prompt}) exceeds the maximum number of tokens allowed (100).");
    assert_eq!(
        (status, body),
        (400, json!({"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}}))
    );

    let (status, body) = told(Style::GroqRate).await;
    assert_eq!(
        (status, &body["error"]["type"], &body["error"]["code"]),
        (413, &json!("tokens"), &json!("rate_limit_exceeded"))
    );
    assert_eq!(told(Style::OpenaiRate).await.0, 429);
    assert_eq!(told(Style::EmptyBody).await, (400, json!("")));
    let (status, page) = told(Style::Nginx).await;
    assert_eq!(
        (status, page.as_str().is_some_and(|page| page.contains("413 Request Entity Too Large"))),
        (413, true)
    );
}

/// Fragments by which each style is known, `N` standing for the prompt's length.
const FRAGMENTS: [(Style, &str); 11] = [
    (Style::AnthropicReserve, "exceed context limit: N + 7 > 100"),
    (Style::Bedrock, "Input is too long for requested model"),
    (Style::Groq, "reduce the length of the messages or completion"),
    (Style::Litellm, "litellm.ContextWindowExceededError"),
    (Style::LmStudio, "(n_keep: N >= n_ctx: 100)"),
    (
        Style::Mistral,
        "Prompt contains N tokens and 0 draft tokens, too large for model with 100 maximum context length",
    ),
    (Style::Ollama, "exceeded max context length by"),
    (Style::OpenaiInput, "Input tokens exceed the configured limit of 100 tokens"),
    (Style::Openrouter, "endpoint's maximum context length is 100 tokens. However, you requested about"),
    (Style::Vllm, "you requested 7 output tokens and your prompt contains at least N input tokens"),
    (Style::Xai, "maximum prompt length is 100 but the request contains N tokens"),
];

#[tokio::test]
async fn every_style_says_its_words() {
    let prompt = told(Style::LlamaCpp).await.1["error"]["n_prompt_tokens"].to_string();
    for (style, fragment) in FRAGMENTS {
        let (status, body) = told(style).await;
        let text = body.to_string();
        assert!(status == 400 && text.contains(&fragment.replace('N', &prompt)), "{style}: {status} {text}");
    }
}

#[tokio::test]
async fn some_servers_need_room_for_the_output_too() {
    let client = narrow(Style::Vllm, Place::Status).await;
    let mut body = chat("Hello");
    assert_eq!(client.post(CHAT, &body).await.status, 200);
    body["max_completion_tokens"] = json!(100);
    assert_eq!(client.post(CHAT, &body).await.status, 400);
}

#[tokio::test]
async fn some_servers_say_nothing() {
    let got = narrow(Style::Silent, Place::Status).await.post(CHAT, &chat(&long())).await;
    assert_eq!((got.status, &got.body["usage"]["prompt_tokens"]), (200, &json!(100)));
    let got = narrow(Style::SoftStop, Place::Status).await.post(MESSAGES, &anthropic(&long())).await;
    assert_eq!((got.status, &got.body["stop_reason"]), (200, &json!("model_context_window_exceeded")));
}

#[tokio::test]
async fn an_overflow_can_come_inside_a_stream() {
    let client = narrow(Style::Provider, Place::Stream).await;
    let mut told = Vec::new();
    for (path, body) in questions(&long()) {
        let answer = client.send(path, &streamed(&body), None).await.expect("an answer");
        let status = answer.status().as_u16();
        let events = events(&answer.text().await.expect("a stream"));
        let (name, data) = events.last().expect("events").clone();
        let error = data.get("error").or(data["response"].get("error")).expect("an error").clone();
        let known = error["code"].as_str().unwrap_or(error["type"].as_str().unwrap_or_default()).to_owned();
        told.push((status, events.len(), name, known));
    }
    let expected = [
        (200, 3, Some("error".to_owned()), "invalid_request_error".to_owned()),
        (200, 2, None, "context_length_exceeded".to_owned()),
        (200, 3, Some("response.failed".to_owned()), "context_length_exceeded".to_owned()),
    ];
    assert_eq!(told, expected);
    // Nothing to stream into: the status tells.
    assert_eq!(client.post(MESSAGES, &anthropic(&long())).await.status, 400);
}

#[tokio::test]
async fn an_overflow_can_be_ordered() {
    let client = Client::usual().await;
    let got = client.ordered(MESSAGES, &anthropic("Hello"), "overflow").await;
    let message = got.body["error"]["message"].as_str().expect("a message");
    assert_eq!((got.status, message.starts_with("prompt is too long: ")), (400, true));
}

#[tokio::test]
async fn a_body_of_too_many_bytes_is_refused_unread() {
    let client = Client::of(Script { body_bytes_max: 500, ..Script::default() }).await;
    let got = client.post(MESSAGES, &anthropic(&long())).await;
    assert_eq!((got.status, &got.body["error"]["type"]), (413, &json!("request_too_large")));
}
