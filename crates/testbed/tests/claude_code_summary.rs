//! Claude Code, what: the one request for a summary, in its document's form and in that of the
//! cached prefix.

use epitome_core::{
    Author, Block, Failure, Image, Message, Purpose, Role, SummaryInput, SummaryRequest, Tokens, Trigger,
};
use epitome_testbed::{Bed, Maker, failed, good, written};

const WINDOW: u64 = 200_000;

/// A session whose model still has its prompt in the cache.
fn warm() -> Bed {
    Maker::new("claude-code@2.1", WINDOW).warm().bed()
}

/// The messages of a request, however they are given.
fn given(request: &SummaryRequest) -> Vec<Message> {
    match &request.body {
        SummaryInput::Messages { messages, .. } | SummaryInput::Prefix { messages, .. } => {
            messages.iter().map(|message| Message::clone(message)).collect()
        }
        SummaryInput::Text(_) => panic!("messages are handed over, not {request:?}"),
    }
}

/// A person shows a picture.
fn picture() -> Message {
    let image = Image { media_type: "image/png".into(), data: "aGk=".into(), is_url: false };
    let blocks = vec![Block::text("what is wrong here?"), Block::Image(image)];
    Message { role: Role::User, author: Author::Person, blocks }
}

#[test]
fn c11_every_request_has_an_answers_limit_of_20000() {
    for preset in ["claude-code", "claude-code@2.1"] {
        let mut bed = Bed::new(preset, WINDOW);
        bed.talk(40, 1_000);
        bed.model.then(failed(Failure::TimedOut));
        assert_eq!(bed.compact(Trigger::Manual).outcome.name(), "compacted");
        bed.talk(40, 1_000);
        bed.compact(Trigger::Manual);
        let limits: Vec<Tokens> = bed.model.requests().iter().map(|request| request.output_max).collect();
        assert_eq!(limits, [Tokens(20_000); 3], "{preset}");
    }
}

#[test]
fn c12_the_summariser_sees_a_label_for_a_picture_and_the_log_keeps_it() {
    let mut bed = Bed::new("claude-code", WINDOW);
    let id = bed.say(picture());
    bed.talk(9, 1_000);
    bed.compact(Trigger::Manual);
    let labelled = vec![Block::text("what is wrong here?"), Block::text("[Image: image/png]")];
    assert_eq!(given(&bed.model.requests()[0])[0], Message { blocks: labelled, ..picture() });
    assert_eq!(*bed.original(id), picture());
}

#[test]
fn c12_claude_code_2_1_sends_the_picture() {
    let mut bed = warm();
    bed.say(picture());
    bed.talk(30, 1_000);
    bed.compact(Trigger::Manual);
    assert_eq!(given(&bed.model.requests()[0])[0], picture());
}

#[test]
fn c27_claude_code_2_1_leaves_out_the_oldest_that_cover_what_is_too_long() {
    let mut bed = warm();
    bed.talk(30, 2_000);
    let too_long = || failed(Failure::TooLong { over: Some(Tokens(5_000)) });
    bed.model.then(too_long()).then(too_long()).then(good("## Task\ngo on"));
    assert_eq!(bed.compact(Trigger::Manual).outcome.name(), "compacted");
    let asked = bed.model.asked();
    let holds = |asked: &String| -> Vec<usize> {
        (0..30).filter(|number| asked.contains(&format!("{number:06} lorem"))).collect()
    };
    // Five of the newest stay in view; three messages of 2,000 cover 5,000.
    let expected: [Vec<usize>; 3] = [(0..30).collect(), (3..25).collect(), (6..25).collect()];
    assert_eq!(asked.iter().map(holds).collect::<Vec<_>>(), expected);
}

#[test]
fn c27_claude_code_2_1_leaves_out_the_oldest_three_times_at_most() {
    let mut bed = warm();
    bed.talk(30, 2_000);
    bed.model.always(failed(Failure::TooLong { over: Some(Tokens(5_000)) }));
    assert_eq!(bed.compact(Trigger::Threshold).outcome.name(), "abandoned");
    assert_eq!(bed.model.requests().len(), 4);
}

#[test]
fn c28_claude_code_2_1_asks_with_the_last_request_and_one_message_more() {
    let mut bed = warm();
    bed.talk(29, 1_000);
    bed.exchange("Read", r#"{"file_path":"a.rs"}"#, "fn a() {}");
    let shown = bed.session.shown().expect("all is in memory");
    bed.compact(Trigger::Manual);
    let instruction = bed.driver.ports().prompts.first.clone();
    let messages = shown.into_iter().map(|shown| shown.message).collect();
    let request = SummaryRequest {
        purpose: Purpose::History,
        system: "".into(),
        body: SummaryInput::Prefix { messages, instruction },
        output_max: Tokens(20_000),
        attempt: 0,
    };
    assert!(written(&request).contains("All user messages"));
    assert_eq!(bed.model.requests(), [request]);
}
