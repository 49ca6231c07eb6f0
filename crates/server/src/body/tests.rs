//! Bodies, their messages and what is written around them.

use super::Body;
use epitome_wire::Protocol;

fn body(json: &'static str) -> Option<Body> {
    Body::alone(Protocol::Anthropic, json).ok()
}

fn responses(json: &'static str) -> Body {
    Body::alone(Protocol::OpenaiResponses, json).expect("a body")
}

#[test]
fn messages_are_found_where_they_stand() {
    let body =
        body(r#"{"model":"m", "messages" : [ {"role": "user"} ,{"b":[1]} ], "x":1.50}"#).expect("a body");
    let elements: Vec<&str> = (0..body.len()).map(|at| body.element(at)).collect();
    assert_eq!((body.model(), elements), ("m", vec![r#"{"role": "user"}"#, r#"{"b":[1]}"#]));
}

#[test]
fn what_is_around_the_messages_stays_as_it_came() {
    let body = body(r#"{"model":"m", "messages" : [ 1 ,2 ], "x":1.50}"#).expect("a body");
    let other = body.with_messages(&["3", "{}"]);
    assert_eq!(other, r#"{"model":"m", "messages" : [3,{}], "x":1.50}"#);
}

#[test]
fn a_body_whose_messages_are_all_there_goes_on_from_nothing() {
    let bodies = [
        r#"{ "previous_response_id" : "r" , "input":[1], "x":1.50}"#,
        r#"{"input":[1], "previous_response_id":"r", "x":1.50}"#,
        r#"{"input":"hi" , "x":1.50,"previous_response_id": "r"}"#,
    ];
    let expected = [
        r#"{ "input":["0",2], "x":1.50}"#,
        r#"{"input":["0",2], "x":1.50}"#,
        r#"{"input":["0",2] , "x":1.50}"#,
    ];
    let written = bodies.map(|json| {
        let body = responses(json).behind(vec![r#""0""#.into()]);
        assert_eq!((body.len(), body.element(0)), (2, r#""0""#));
        body.with_messages(&[r#""0""#, "2"])
    });
    assert_eq!(written, expected);
}

#[test]
fn a_text_that_stands_for_the_list_is_one_message_and_stands_in_no_list() {
    let body = responses(r#"{"input": "a long story", "x":1}"#);
    assert_eq!((body.len(), body.element(0)), (1, r#""a long story""#));
    assert_eq!(body.with_messages(&[r#""short""#]), r#"{"input": "short", "x":1}"#);
}

#[test]
fn what_is_no_body_is_nothing() {
    for json in
        ["", "[]", "{}", r#"{"messages":"hi"}"#, r#"{"messages":[],"messages":[]}"#, r#"{"messages":[1}"#]
    {
        assert!(body(json).is_none(), "{json}");
    }
}
