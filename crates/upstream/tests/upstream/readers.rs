//! Our own readers, on what the upstream says: the two were written apart and must agree.

use crate::client::{CHAT, Client, MESSAGES, chat, questions, streamed};
use epitome_upstream::{Place, Script, Style};
use epitome_wire::Protocol;
use epitome_wire::overflow::{ErrorPlace, OverflowClass, RequestFacts, classify};
use epitome_wire::protocol::{ModelReply, reply};
use epitome_wire::sse::Assembler;
use serde_json::json;

fn protocol(path: &str) -> Protocol {
    match path {
        MESSAGES => Protocol::Anthropic,
        CHAT => Protocol::OpenaiChat,
        _ => Protocol::OpenaiResponses,
    }
}

/// What our readers make of a stream, and of the same answer whole.
async fn both(path: &str, body: &serde_json::Value, order: &str) -> (ModelReply, ModelReply) {
    let (one, other) = (Client::usual().await, Client::usual().await);
    let mut asking = streamed(body);
    if path == CHAT {
        asking["stream_options"] = json!({"include_usage": true});
    }
    let mut answer = one.send(path, &asking, Some(order)).await.expect("an answer");
    let mut assembler = Assembler::new(protocol(path));
    while let Ok(Some(bytes)) = answer.chunk().await {
        assembler.push(&bytes);
    }
    let whole = other.send(path, body, Some(order)).await.expect("an answer").bytes().await;
    (assembler.finish(), reply(protocol(path), &whole.unwrap_or_default()))
}

#[tokio::test]
async fn a_stream_reads_the_same_as_the_whole() {
    let orders = ["slow=0", "empty", "truncate", "tool-call", "nonsense", "error-text", "reasoning-only"];
    for order in orders {
        for (path, mut body) in questions("Hello") {
            if path == MESSAGES {
                body["thinking"] = json!({"type": "enabled", "budget_tokens": 1024});
            }
            let (stream, whole) = both(path, &body, order).await;
            assert_eq!(stream, whole, "{path} {order}");
            assert!(whole.is_whole && whole.usage.is_some(), "{path} {order}: {whole:?}");
        }
    }
}

#[tokio::test]
async fn what_breaks_off_is_not_whole() {
    for order in ["cut", "stream-error"] {
        for (path, body) in questions("Hello") {
            let (stream, _) = both(path, &body, order).await;
            assert_eq!((stream.is_whole, stream.error.is_some()), (false, order != "cut"), "{path} {order}");
        }
    }
}

/// Each style, and the class its error is of.
const CLASSES: [(Style, OverflowClass); 19] = [
    (Style::Provider, OverflowClass::TokenOverflow),
    (Style::AnthropicReserve, OverflowClass::OutputReserve),
    (Style::AnthropicBytes, OverflowClass::PayloadBytes),
    (Style::OpenaiInput, OverflowClass::TokenOverflow),
    (Style::OpenaiRate, OverflowClass::SizeRate),
    (Style::Bedrock, OverflowClass::TokenOverflow),
    (Style::Gemini, OverflowClass::TokenOverflow),
    (Style::Groq, OverflowClass::TokenOverflow),
    (Style::GroqRate, OverflowClass::SizeRate),
    (Style::Litellm, OverflowClass::TokenOverflow),
    (Style::LlamaCpp, OverflowClass::TokenOverflow),
    (Style::LmStudio, OverflowClass::TokenOverflow),
    (Style::Mistral, OverflowClass::TokenOverflow),
    (Style::Ollama, OverflowClass::TokenOverflow),
    (Style::Openrouter, OverflowClass::TokenOverflow),
    (Style::Vllm, OverflowClass::TokenOverflow),
    (Style::Xai, OverflowClass::TokenOverflow),
    (Style::Nginx, OverflowClass::PayloadBytes),
    (Style::EmptyBody, OverflowClass::Suspect),
];

#[tokio::test]
async fn every_style_is_known_for_what_it_is() {
    let long = chat(&"one more line of a long story\n".repeat(500));
    let mut wrong = Vec::new();
    for (overflow_style, class) in CLASSES {
        let script = Script { window_tokens: Some(2000), overflow_style, ..Script::default() };
        let answer = Client::of(script).await.send(CHAT, &long, None).await.expect("an answer");
        let seen = ErrorPlace::Status(answer.status().as_u16());
        let verdict = classify(seen, &answer.bytes().await.expect("a body"), &RequestFacts::default());
        if verdict.class != class {
            wrong.push((overflow_style, verdict));
        }
    }
    assert_eq!(wrong, []);
}

#[tokio::test]
async fn an_overflow_inside_a_stream_is_known_too() {
    let script = Script { window_tokens: Some(2000), overflow_place: Place::Stream, ..Script::default() };
    let client = Client::of(script).await;
    for (path, body) in questions(&"one more line of a long story\n".repeat(500)) {
        let answer = client.send(path, &streamed(&body), None).await.expect("an answer");
        let mut assembler = Assembler::new(protocol(path));
        assembler.push(&answer.bytes().await.expect("a stream"));
        let error = assembler.finish().error.expect("an error");
        let verdict = classify(ErrorPlace::InStream, error.as_bytes(), &RequestFacts::default());
        assert_eq!(verdict.class, OverflowClass::TokenOverflow, "{path}");
    }
}
