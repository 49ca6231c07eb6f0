//! Mistakes of a loop and of a provider that a session says at once, in words that tell what to do, and that cost no calls.

use epitome_session::core::{CallResult, SummaryRequest};
use epitome_session::{
    BoxFuture, BuildError, Call, ErrorPlace, LiveSession, Model, Protocol, SessionBuilder, SessionError,
    Tokens, TurnEnd, WindowSource, reply, summary_result,
};
use std::sync::{Arc, Mutex};

fn small() -> SessionBuilder {
    LiveSession::for_model("gpt-5").system("You mend builds.").window(20_000).output_max(500)
}

/// A reply that calls `ls` once.
fn call(id: usize) -> Vec<u8> {
    format!(
        r#"{{"choices":[{{"message":{{"role":"assistant","tool_calls":[{{"id":"c{id}","type":"function","function":{{"name":"ls","arguments":"{{}}"}}}}]}},"finish_reason":"tool_calls"}}]}}"#
    )
    .into_bytes()
}

/// A summariser whose provider answers everything with one status and body, and that keeps what it was asked.
struct Answering {
    status: u16,
    body: &'static [u8],
    asked: Arc<Mutex<Vec<String>>>,
}

impl Model for Answering {
    fn name(&self) -> &str {
        "answering"
    }

    fn window(&self) -> Tokens {
        Tokens(100_000)
    }

    fn output_max(&self) -> Tokens {
        Tokens(4_000)
    }

    fn summarize(&self, request: SummaryRequest) -> BoxFuture<'_, CallResult> {
        let text: String = request.messages().iter().map(|message| message.said()).collect();
        self.asked.lock().expect("nobody panicked").push(text);
        Box::pin(async { summary_result(Protocol::Anthropic, self.status, self.body) })
    }
}

/// A session with such a summariser, and what that is asked.
fn with_summarizer(status: u16, body: &'static [u8]) -> (LiveSession, Arc<Mutex<Vec<String>>>) {
    let asked = Arc::<Mutex<Vec<String>>>::default();
    let model = Answering { status, body, asked: asked.clone() };
    (small().summarizer(Arc::new(model)).build().expect("it is built"), asked)
}

/// One turn of so many calls, each with a long result.
async fn run_turn(session: &mut LiveSession, calls: usize) {
    session.say("what is in all these folders? never delete any").await.expect("it is taken up");
    for number in 0..calls {
        session.prepare().await.expect("room is made");
        session.take_reply(&reply(Protocol::OpenaiChat, &call(number))).expect("it is whole");
        let open = session.open_calls().expect("it is in memory");
        let result = format!("src/part{number}.rs is one of many files here\n").repeat(230);
        session.answer(open.iter().map(|call: &Call| call.answer(result.as_str()))).expect("it was open");
    }
}

#[tokio::test]
async fn where_every_message_stays_no_model_is_asked_and_no_summary_stands_for_any() {
    const PROSE: &[u8] = br###"{"content":[{"type":"text","text":"## Goal\nList the folders.\n\n## Progress\n- some were listed, others were not\n"}],"stop_reason":"end_turn"}"###;
    let (mut session, asked) = with_summarizer(200, PROSE);
    run_turn(&mut session, 30).await;
    let passes = session.session().compactions().len();
    let asked = asked.lock().expect("nobody panicked");
    assert!(passes >= 3 && asked.len() < passes, "{} calls for {passes} compactions", asked.len());
    for text in &*asked {
        assert!(!text.contains("<conversation>\n\n</conversation>"), "it is asked about nothing: {text}");
    }
    for &id in session.session().compactions() {
        let compaction = session.session().log().compaction(id).expect("it is one");
        let covers = compaction.summary.as_deref().is_some_and(|text| text.contains("covers="));
        let in_view: Vec<_> = session.session().history().to_vec();
        assert!(!covers || compaction.front.len() < in_view.len(), "{compaction:?}");
    }
}

#[tokio::test]
async fn a_key_that_is_refused_is_tried_once_and_the_refusal_is_told_to_no_model() {
    const REFUSAL: &[u8] =
        br#"{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}"#;
    for status in [401, 403, 404] {
        let (mut session, asked) = with_summarizer(status, REFUSAL);
        for number in 0..12 {
            session
                .say(format!("{number}: {}", "it matters a lot. ".repeat(400)))
                .await
                .expect("it is taken up");
            let answer =
                br#"{"choices":[{"message":{"role":"assistant","content":"yes"},"finish_reason":"stop"}]}"#;
            session.take_reply(&reply(Protocol::OpenaiChat, answer)).expect("it is whole");
        }
        let record = session.compact().await.expect("room is made").record.expect("it was asked for");
        let asked = asked.lock().expect("nobody panicked");
        assert_eq!((asked.len(), record.spent.calls), (1, 1), "{status}: {:?}", record.notes);
        assert!(record.outcome.is_rebuilt() && record.notes.iter().all(|note| !note.contains("asked again")));
    }
}

#[tokio::test]
async fn a_provider_that_fails_is_asked_again_without_its_own_words() {
    let (mut session, asked) = with_summarizer(500, b"secret-account-4711 is overloaded");
    for number in 0..12 {
        session.say(format!("{number}: {}", "it matters a lot. ".repeat(400))).await.expect("it is taken up");
        let answer =
            br#"{"choices":[{"message":{"role":"assistant","content":"yes"},"finish_reason":"stop"}]}"#;
        session.take_reply(&reply(Protocol::OpenaiChat, answer)).expect("it is whole");
    }
    session.compact().await.expect("room is made");
    let asked = asked.lock().expect("nobody panicked");
    assert!(asked.len() > 1 && asked[1].contains("The last try was of no use: no answer came."), "{asked:?}");
    assert!(asked.iter().all(|text| !text.contains("secret-account-4711")));
}

#[tokio::test]
async fn calls_that_nobody_answered_stop_the_loop_until_they_are_given_up() {
    let mut session = small().build().expect("it is built");
    session.say("well?").await.expect("it is taken up");
    session.take_reply(&reply(Protocol::OpenaiChat, &call(1))).expect("it is whole");
    let told = "`c1` still waits for its result; nothing was taken up, hand in the results of all calls at once, or give \
                them up with `end_turn(TurnEnd::Broken)`";
    let errors = [
        session.body(Protocol::OpenaiChat).map(drop),
        session.prepare().await.map(drop),
        session.say("and?").await.map(drop),
        session.take_reply(&reply(Protocol::OpenaiChat, &call(2))).map(drop),
        session.end_turn(TurnEnd::Good).await.map(drop),
    ];
    let errors = errors.map(|tried| tried.expect_err("a call is open"));
    assert!(errors.iter().all(|error| error.to_string() == told && !error.is_passing()), "{errors:?}");
    assert_eq!(session.session().history().len(), 2);
    session.end_turn(TurnEnd::Broken).await.expect("it is over");
    session.say("never mind").await.expect("the call is given up");
    let body = session.body(Protocol::OpenaiChat).expect("somebody waits");
    assert!(String::from_utf8_lossy(&body).contains("[no result was recorded for this call]"));
}

#[tokio::test]
async fn calls_of_a_file_are_answered_or_passed_over() {
    let mut session = small().build().expect("it is built");
    session.say("well?").await.expect("it is taken up");
    session.take_reply(&reply(Protocol::OpenaiChat, &call(1))).expect("it is whole");
    let mut bytes = Vec::new();
    session.save_to(&mut bytes).expect("memory can be written");
    let mut loaded = small().load(bytes).expect("it is whole");
    assert_eq!(loaded.open_calls().expect("it is in memory").len(), 1);
    loaded.body(Protocol::OpenaiChat).expect("nobody will bring the result");
    loaded.say("go on").await.expect("it is taken up");
}

#[tokio::test]
async fn a_reply_of_another_protocol_is_said_to_be_one_and_not_asked_for_again() {
    let mut session = small().build().expect("it is built");
    session.say("well?").await.expect("it is taken up");
    let chat = br#"{"choices":[{"message":{"role":"assistant","content":"yes"},"finish_reason":"stop"}]}"#;
    let mut told = |protocol, body: &[u8]| {
        let error = session.take_reply(&reply(protocol, body)).expect_err("it is none");
        assert!(matches!(error, SessionError::Stranger(_)) && !error.is_passing(), "{error:?}");
        error.to_string()
    };
    let rest = "nothing of it was taken up, read it in the protocol that `body` was written in";
    assert_eq!(
        told(Protocol::Anthropic, chat),
        format!("this is no reply of the protocol anthropic; it looks like one of openai-chat; {rest}")
    );
    assert_eq!(
        told(Protocol::OpenaiResponses, br#"{"content":[],"stop_reason":"end_turn"}"#),
        format!("this is no reply of the protocol openai-responses; it looks like one of anthropic; {rest}")
    );
    assert_eq!(
        told(Protocol::OpenaiChat, b"{}"),
        format!("this is no reply of the protocol openai-chat; {rest}")
    );
}

#[tokio::test]
async fn a_body_of_too_many_bytes_is_said_to_be_one_and_can_be_compacted() {
    let mut session = small().build().expect("it is built");
    for number in 0..6 {
        session.say(format!("{number}: {}", "it matters a lot. ".repeat(300))).await.expect("it is taken up");
        let answer =
            br#"{"choices":[{"message":{"role":"assistant","content":"yes"},"finish_reason":"stop"}]}"#;
        session.take_reply(&reply(Protocol::OpenaiChat, answer)).expect("it is whole");
    }
    session.say("and now?").await.expect("it is taken up");
    let error = session.recover(ErrorPlace::Status(413), b"Request Entity Too Large").await;
    let error = error.expect_err("there is no picture to leave out");
    assert_eq!(
        error.to_string(),
        "the provider refused the request: the provider finds the body too large in bytes, not in tokens; compact it by \
         hand, take large attachments and results out of it, or begin a new session; it said: Request Entity Too Large"
    );
    let before = session.body(Protocol::OpenaiChat).expect("somebody waits").len();
    session.compact().await.expect("room is made");
    assert!(session.body(Protocol::OpenaiChat).expect("somebody waits").len() < before);
}

#[tokio::test]
async fn a_window_that_is_guessed_says_so() {
    let window = |builder: SessionBuilder| builder.build().expect("it is built").window();
    let guess = window(LiveSession::for_model("gpt-99-ultra"));
    assert_eq!((guess.tokens, guess.from), (Tokens(128_000), WindowSource::Guess));
    assert_eq!(window(LiveSession::for_model("claude-sonnet-4-5")).from, WindowSource::Catalog);
    assert_eq!(window(LiveSession::for_model("gpt-99-ultra").window(64_000)).from, WindowSource::Explicit);
}

#[tokio::test]
async fn what_is_handed_to_the_builder_is_checked_there() {
    let told = |builder: SessionBuilder| builder.build().map(drop).expect_err("it is refused").to_string();
    assert!(matches!(LiveSession::for_model("").build(), Err(BuildError::NoModel)));
    assert_eq!(
        told(small().window(1_000)),
        "a window of 1,000 tokens is none: it has 1,024 at least and 10,000,000 at most; hand in the model's own, or leave \
         `window` out to have it looked up"
    );
    assert_eq!(
        told(small().output_max(0)),
        "`output_max` is 0, and an answer takes some; leave it out to have the model's own"
    );
    assert_eq!(
        told(small().tool("{}")),
        "tool definition 1 ({}) has no name; a model calls a tool by its `name`"
    );
    let ls = r#"{"name":"ls","input_schema":{"type":"object"}}"#;
    let same = r#"{"type":"function","function":{"name":"ls","parameters":{"type":"object"}}}"#;
    assert_eq!(
        told(small().tool(ls).tool(same)),
        "tool definition 2 ({\"type\":\"function\",\"function\":{\"name\":\"l) has the name of a tool before it; leave one of \
         them out"
    );
    assert!(
        told(small().tool("{x}")).contains("tool definition 0 is not a JSON object (key must be a string")
    );
    small().tool(ls).tool(r#"{"type":"web_search"}"#).build().expect("its provider runs it");
}
