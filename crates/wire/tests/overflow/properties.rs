//! What holds for every error: it is taken for something, always the same, whatever the request it repeats.

use crate::{Case, look_alikes, rows};
use epitome_core::Tokens;
use epitome_wire::overflow::{ErrorPlace, RequestFacts, classify};
use proptest::prelude::{Just, Strategy, any, prop, prop_assert_eq, prop_oneof, proptest};
use serde_json::{Value, json};

fn cases() -> Vec<Case> {
    rows::all().into_iter().chain(look_alikes::all()).collect()
}

fn seen() -> impl Strategy<Value = ErrorPlace> {
    prop_oneof![Just(ErrorPlace::InStream), (100_u16..600).prop_map(ErrorPlace::Status)]
}

fn known() -> impl Strategy<Value = RequestFacts> {
    let tokens = || prop::option::of(any::<u64>().prop_map(Tokens));
    (tokens(), tokens(), tokens()).prop_map(|(estimate, window, largest)| RequestFacts {
        estimate,
        window,
        largest,
    })
}

/// Bodies near those that mean something: cut, joined and changed at random.
fn body() -> impl Strategy<Value = Vec<u8>> {
    let all: Vec<&'static str> = cases().into_iter().map(|case| case.body).collect();
    let piece = prop::sample::select(all).prop_flat_map(|body| {
        (0..=body.len(), 0..=body.len()).prop_map(move |(a, b)| body.as_bytes()[a.min(b)..a.max(b)].to_vec())
    });
    let noise = prop::collection::vec(any::<u8>(), 0..40);
    prop::collection::vec(prop_oneof![piece, noise], 0..5).prop_map(|pieces| pieces.concat())
}

/// The same error with the request it was about, which quotes another error.
fn with_echo(body: &str, quoted: &str, field: &str) -> Option<String> {
    let mut error: Value = serde_json::from_str(body).ok()?;
    let echo = json!({
        "messages": [{"role": "user", "content": quoted}, {"role": "tool", "content": [{"type": "text", "text": quoted}]}],
        "input": quoted,
    });
    error.as_object_mut()?.insert(field.to_owned(), echo);
    Some(error.to_string())
}

proptest! {
    #[test]
    fn every_body_is_taken_for_something_and_twice_for_the_same(seen in seen(), body in body(), known in known()) {
        prop_assert_eq!(classify(seen, &body, &known), classify(seen, &body, &known));
    }

    #[test]
    fn what_an_echoed_request_says_changes_nothing(
        which in 0..cases().len(), other in 0..cases().len(), field in prop::sample::select(vec!["request", "input", "messages", "params", "prompt", "body", "metadata"])
    ) {
        let (case, quoted) = (&cases()[which], cases()[other].body);
        let seen = ErrorPlace::Status(case.status);
        if let Some(body) = with_echo(case.body, quoted, field) {
            let verdict = classify(seen, body.as_bytes(), &RequestFacts::default());
            prop_assert_eq!((verdict.class, verdict.numbers), (case.class, case.numbers));
        }
    }
}

#[test]
fn a_body_beyond_all_reason_is_judged_by_its_status_alone() {
    let body = format!(
        r#"{{"error":{{"message":"prompt is too long: 9 tokens > 5 maximum {}"}}}}"#,
        "x".repeat(300_000)
    );
    let classes = [400, 413, 429]
        .map(|status| classify(ErrorPlace::Status(status), body.as_bytes(), &RequestFacts::default()).class);
    use epitome_wire::overflow::OverflowClass::{Other, PayloadBytes, Throttle};
    assert_eq!(classes, [Other, PayloadBytes, Throttle]);
}
