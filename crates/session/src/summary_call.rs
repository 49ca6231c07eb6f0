//! A summary call on the wire, for whoever has a client of their own and makes a `Model` of it: the request's body, and
//! what the provider's answer comes to. Sending, and waiting out a provider's passing faults, is the client's.

use epitome_core::{
    CallCost, CallResult, Dollars, Failure, MessageView, SummaryReply, SummaryRequest, Tokens,
};
use epitome_wire::encode::{EncodeError, RequestParts};
use epitome_wire::overflow::{ErrorPlace, OverflowClass, RequestFacts, classify};
use epitome_wire::protocol::{ModelReply, reply};
use epitome_wire::{Protocol, encode};
use std::sync::Arc;

/// The body of a summary call to the model of this name.
///
/// # Errors
/// Where the request cannot be written in this protocol.
pub fn summary_body(
    protocol: Protocol,
    model: &str,
    request: &SummaryRequest,
) -> Result<Vec<u8>, EncodeError> {
    let system: &[Arc<str>] =
        if request.system.is_empty() { &[] } else { std::slice::from_ref(&request.system) };
    let parts =
        RequestParts { system, tools: &[], model: Some(model), max_tokens: Some(request.output_max.0) };
    let shown = request.messages().into_iter().map(|message| MessageView { id: None, message });
    encode::body(protocol, &parts, &shown.collect::<Vec<_>>())
}

/// What the provider's answer to a summary call comes to.
pub fn summary_result(protocol: Protocol, status: u16, body: &[u8]) -> CallResult {
    if !(200..300).contains(&status) {
        return CallResult {
            result: Err(refused(status, body)),
            spent: CallCost { calls: 1, ..CallCost::default() },
        };
    }
    let answer = reply(protocol, body);
    let result = match (&answer.error, answer.stranger) {
        (Some(error), _) => Err(Failure::Broken(error.to_string())),
        (None, Some(stranger)) => Err(Failure::Refused(stranger.to_string())),
        (None, None) => {
            Ok(SummaryReply { text: answer.message.said(), stop: answer.summary_stop(), native: None })
        }
    };
    CallResult { result, spent: spent(&answer) }
}

/// How a provider says that the key is wrong, has no money or may not, or that there is no such model: asked otherwise, it
/// would say so again.
const KEY_OR_MODEL: std::ops::RangeInclusive<u16> = 401..=404;

fn refused(status: u16, body: &[u8]) -> Failure {
    let (known, place) = (RequestFacts::default(), ErrorPlace::Status(status));
    let verdict = classify(place, body, &known);
    let said = String::from_utf8_lossy(body).into_owned();
    let is_size = matches!(verdict.class, OverflowClass::OutputReserve | OverflowClass::PayloadBytes);
    if verdict.needs_compaction(&known) || is_size {
        return Failure::TooLong { over: verdict.numbers.gap() };
    }
    if verdict.class == OverflowClass::Throttle {
        Failure::Throttled(said)
    } else if place.is_passing() || !(400..500).contains(&status) {
        Failure::Broken(format!("HTTP {status}: {said}"))
    } else if KEY_OR_MODEL.contains(&status) {
        Failure::Denied(format!("HTTP {status}: {said}"))
    } else {
        Failure::Refused(format!("HTTP {status}: {said}"))
    }
}

fn spent(answer: &ModelReply) -> CallCost {
    let Some(taken) = answer.usage else {
        return CallCost { calls: 1, dollars: Dollars::UNKNOWN, ..CallCost::default() };
    };
    let charged = taken.charged();
    CallCost {
        calls: 1,
        input: Tokens(charged.prompt),
        cache_read: Tokens(charged.cache_read),
        cache_write: Tokens(charged.cache_write),
        output: Tokens(charged.output),
        reasoning: Tokens(taken.reasoning),
        dollars: Dollars::UNKNOWN,
    }
}
