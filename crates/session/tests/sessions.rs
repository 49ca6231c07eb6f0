//! Sessions as an agent's loop has them: built, filled, compacted, cancelled, saved, damaged and loaded.

use epitome_session::core::policy::Newest;
use epitome_session::core::{CallResult, Failure, SummaryRequest, Trigger};
use epitome_session::engine::Thresholds;
use epitome_session::wire::{Format, native};
use epitome_session::{
    Author, BoxFuture, BuildError, Call, ErrorPlace, LiveSession, Message, Model, Policy, Protocol, Role,
    SessionBuilder, SessionError, Tokens, reply, summary_result, toml,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// A session in a window that a few dozen exchanges fill.
fn small() -> SessionBuilder {
    LiveSession::for_model("gpt-5").system("You mend builds.").window(8_000).output_max(500)
}

/// A question and a whole reply to it.
fn exchange(session: &mut LiveSession, number: usize) {
    let asked = format!(
        "please never touch config{number}.toml; what does src/part{number}.rs do? {}",
        "It matters. ".repeat(30)
    );
    session.append(Message::text(Role::User, Author::Person, asked)).expect("it is taken up");
    let answer = format!(
        r#"{{"choices":[{{"message":{{"role":"assistant","content":"part {number} parses headers"}},"finish_reason":"stop"}}],"usage":{{"prompt_tokens":{},"completion_tokens":9}}}}"#,
        session.session().check().tokens.0
    );
    session.take_reply(&reply(Protocol::OpenaiChat, answer.as_bytes())).expect("it is whole");
}

async fn filled(mut session: LiveSession) -> LiveSession {
    for number in 0..60 {
        session.prepare().await.expect("nothing fails");
        exchange(&mut session, number);
    }
    session
}

fn said(session: &LiveSession) -> Vec<(Role, String)> {
    let shown = session.shown().expect("everything is in memory");
    shown.into_iter().map(|view| (view.message.role, view.message.said())).collect()
}

fn saved(session: &mut LiveSession) -> Vec<u8> {
    let mut bytes = Vec::new();
    session.save_to(&mut bytes).expect("memory can be written");
    bytes
}

fn assert_shared<T: Send + Sync>() {}

#[test]
fn sessions_and_what_makes_them_go_from_thread_to_thread() {
    assert_shared::<LiveSession>();
    assert_shared::<SessionBuilder>();
    assert_shared::<SessionError>();
    assert_shared::<BuildError>();
    let is_sent = |_: &dyn Fn(&mut LiveSession) -> BoxFuture<'_, ()>| ();
    is_sent(&|session| Box::pin(async { drop(session.prepare().await) }));
}

#[tokio::test]
async fn a_session_stays_in_its_window_whatever_is_said() {
    let session = filled(small().build().expect("it is built")).await;
    let check = session.session().check();
    assert!(check.tokens < Tokens(8_000) && !session.session().compactions().is_empty(), "{check:?}");
    assert_eq!(session.session().history().len(), 120);
    let first = session.recall(session.session().history()[0]).expect("nothing is lost");
    assert!(first.said().starts_with("please never touch config0.toml"));
}

#[tokio::test]
async fn presets_and_settings_are_those_of_their_names() {
    let at = |builder: SessionBuilder| {
        let session = builder.build().expect("it is built");
        Thresholds::of(session.session().policy(), &session.session().budget()).trigger
    };
    // Half of what the 8 tokens of the system prompt leave, and these.
    assert_eq!(at(small().setting("trigger.at", "50%")), Tokens(4_004));
    assert_ne!(at(small().preset("pi")), at(small()));
    let newest = small().setting("keep.newest", toml::toml! { messages = 20 }).build().expect("it is built");
    assert_eq!(newest.session().policy().keep.newest, Newest::Messages(20));
}

#[tokio::test]
async fn what_cannot_be_built_says_what_to_do() {
    let told = |builder: SessionBuilder| builder.build().map(drop).expect_err("it is refused").to_string();
    assert_eq!(
        told(small().setting("trigger.att", "50%")),
        "this call: `trigger.att` is no setting; did you mean `trigger.at`?"
    );
    assert!(told(small().preset("pie")).starts_with("there is no preset `pie`; did you mean `pi`?"));
    let prompt = small().setting("summary.prompt", "mine").summarizer(Arc::new(Mute::default()));
    assert_eq!(
        told(prompt),
        "there is no prompt `mine` for the summariser; hand in its text with `SessionBuilder::prompts`"
    );
}

#[cfg(feature = "tokio")]
#[test]
fn outside_a_runtime_there_is_an_error_and_no_panic() {
    assert!(matches!(small().build(), Err(BuildError::NoRuntime)));
}

#[tokio::test]
async fn lines_saved_one_after_another_are_the_session() {
    let mut session = small().build().expect("it is built");
    let mut file = saved(&mut session);
    for number in 0..60 {
        session.prepare().await.expect("nothing fails");
        exchange(&mut session, number);
        file.extend(saved(&mut session));
    }
    assert_eq!(saved(&mut session), b"", "all of it is saved");
    let mut loaded = small().load(file.clone()).expect("it is whole");
    assert_eq!(said(&loaded), said(&session));
    assert_eq!(loaded.session().compactions(), session.session().compactions());
    assert_eq!(loaded.session().check(), session.session().check());
    assert_eq!(saved(&mut loaded), b"", "and nothing is new");
    exchange(&mut session, 60);
    exchange(&mut loaded, 60);
    assert_eq!(saved(&mut loaded), saved(&mut session), "both go on alike");
}

#[tokio::test]
async fn another_system_prompt_is_saved_with_what_follows() {
    let mut session = small().build().expect("it is built");
    exchange(&mut session, 0);
    let mut file = saved(&mut session);
    let other = || LiveSession::for_model("gpt-5").system("You mend tests.");
    let mut loaded = other().load(file.clone()).expect("it is whole");
    file.extend(saved(&mut loaded));
    let mut again = other().load(file).expect("it is whole");
    assert_eq!(saved(&mut again), b"");
}

#[tokio::test]
async fn a_file_that_is_cut_off_is_refused_or_salvaged() {
    let mut session = small().build().expect("it is built");
    exchange(&mut session, 0);
    exchange(&mut session, 1);
    let mut file = saved(&mut session);
    file.truncate(file.len() - 20);
    let error = small().load(file.clone()).map(drop).expect_err("it is not whole");
    assert!(matches!(error, BuildError::Damaged { count: 1, .. }), "{error}");
    let mut salvaged = small().salvage(file).expect("some of it is there");
    assert_eq!((salvaged.problems().len(), said(&salvaged)), (1, said(&session)));
    let whole = small().load(saved(&mut salvaged)).expect("a new file is whole");
    assert_eq!(said(&whole), said(&salvaged));
}

#[tokio::test]
async fn other_files_are_no_sessions() {
    let told = |bytes: &[u8]| small().load(bytes.to_vec()).map(drop).expect_err("it is none").to_string();
    assert_eq!(told(b""), "nothing is saved here yet; `build` begins a new session");
    assert_eq!(
        told(b"{\"type\":\"user\"}\n"),
        "these bytes are not what `save_to` wrote: its first line is no header of ours; hand in all that was saved, from its first line on"
    );
    let original = br#"{"messages":[{"role":"user","content":"hello"}]}"#;
    let header = native::wrap(Format::Body(Protocol::OpenaiChat), original.len() as u64, 1);
    assert_eq!(
        told(&[&header[..], original, b"\n"].concat()),
        "this is a file with 1 conversations, written by openai-chat; a session goes on from what `save_to` wrote"
    );
}

#[tokio::test]
async fn two_sessions_in_one_file_are_told_apart() {
    let mut file = Vec::new();
    let mut begins = Vec::new();
    for number in 0..2 {
        let mut session = small().build().expect("it is built");
        exchange(&mut session, number);
        begins.push(file.len());
        file.extend(saved(&mut session));
    }
    let error = small().load(file.clone()).map(drop).expect_err("which of them?").to_string();
    assert_eq!(
        error,
        format!(
            "the file is not whole: a second session begins at byte {}, and all from there was left out; cut the file in two there, and each part is a session; `SessionBuilder::salvage` reads what can be read",
            begins[1]
        )
    );
    let second = small().load(file.split_off(begins[1])).expect("it is whole");
    assert!(said(&second)[0].1.starts_with("please never touch config1.toml"));
    assert!(small().load(file).is_ok());
}

#[tokio::test]
async fn how_the_provider_counts_is_known_after_loading() {
    let mut session = small().build().expect("it is built");
    for number in 0..9 {
        session
            .append(Message::text(
                Role::User,
                Author::Person,
                format!("{number} {}", "It matters. ".repeat(60)),
            ))
            .expect("it is taken up");
        let counted = session.session().check().tokens.0 * 13 / 10;
        let answer = format!(
            r#"{{"choices":[{{"message":{{"role":"assistant","content":"so"}},"finish_reason":"stop"}}],"usage":{{"prompt_tokens":{counted},"completion_tokens":9}}}}"#
        );
        session.take_reply(&reply(Protocol::OpenaiChat, answer.as_bytes())).expect("it is whole");
    }
    let loaded = small().load(saved(&mut session)).expect("it is whole");
    assert!(
        session.session().budget().scale.theirs(Tokens(1_000)) > Tokens(1_050),
        "{:?}",
        session.session().budget()
    );
    assert_eq!(loaded.session().budget(), session.session().budget());
    assert_eq!(loaded.session().figure(), session.session().figure());
    assert_eq!(loaded.session().check(), session.session().check());
}

/// A summariser that never answers, and says whether it is being waited for.
#[derive(Default)]
struct Mute {
    is_asked: Arc<AtomicBool>,
}

impl Model for Mute {
    fn name(&self) -> &str {
        "mute"
    }

    fn window(&self) -> Tokens {
        Tokens(100_000)
    }

    fn output_max(&self) -> Tokens {
        Tokens(4_000)
    }

    fn summarize(&self, _: SummaryRequest) -> BoxFuture<'_, CallResult> {
        self.is_asked.store(true, Ordering::SeqCst);
        Box::pin(async {
            std::future::pending::<()>().await;
            Failure::Cancelled.into()
        })
    }
}

#[tokio::test]
async fn an_act_that_is_given_up_leaves_the_session_as_it_was() {
    let is_asked = Arc::new(AtomicBool::new(false));
    let mute = Mute { is_asked: is_asked.clone() };
    let mut session = small().summarizer(Arc::new(mute)).build().expect("it is built");
    for number in 0..20 {
        exchange(&mut session, number);
    }
    let before = (said(&session), session.session().log().len());
    let until_asked = async {
        while !is_asked.load(Ordering::SeqCst) {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        done = session.compact() => panic!("nobody answers: {done:?}"),
        () = until_asked => {}
    }
    assert_eq!((said(&session), session.session().log().len()), before);
    exchange(&mut session, 20);
    assert!(session.has_turn_ended());
}

#[tokio::test]
async fn a_second_refusal_of_one_call_goes_back_as_it_came() {
    let mut session = small().build().expect("it is built");
    for number in 0..20 {
        exchange(&mut session, number);
    }
    session.say("and now?").await.expect("it is taken up");
    let said = br#"{"error":{"message":"This model's maximum context length is 4000 tokens. However, your messages resulted in 4600 tokens.","code":"context_length_exceeded"}}"#;
    session.recover(ErrorPlace::Status(400), said).await.expect("room is made");
    assert!(session.session().budget().window <= Tokens(4_000));
    let error = session.recover(ErrorPlace::Status(400), said).await.expect_err("once is enough");
    let SessionError::Refused { why, .. } = &error else { panic!("{error:?}") };
    assert_eq!(why, "this request was compacted and sent again already");
}

#[tokio::test]
async fn a_reply_that_broke_off_is_not_taken_up() {
    let mut session = small().build().expect("it is built");
    session.say("well?").await.expect("it is taken up");
    let cut = reply(Protocol::OpenaiChat, br#"{"choices":[{"message":{"role":"assistant"}}]}"#);
    let error = session.take_reply(&cut).expect_err("nothing came");
    assert!(matches!(error, SessionError::CutOff { .. }) && error.is_passing(), "{error:?}");
    assert_eq!(session.session().history().len(), 1);
}

#[tokio::test]
async fn calls_are_open_until_they_are_answered() {
    let mut session = small().build().expect("it is built");
    session.say("well?").await.expect("it is taken up");
    let body = br#"{"choices":[{"message":{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"ls","arguments":"{}"}},{"id":"c2","type":"function","function":{"name":"rm","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}"#;
    session.take_reply(&reply(Protocol::OpenaiChat, body)).expect("it is whole");
    let calls = session.open_calls().expect("it is in memory");
    let names: Vec<&str> = calls.iter().map(|call| &*call.name).collect();
    assert_eq!((names, session.has_turn_ended()), (vec!["ls", "rm"], false));
    let run = |call: &Call| if &*call.name == "ls" { call.answer("src") } else { call.fail("no such tool") };
    session.answer(calls.iter().map(run)).expect("they are taken up");
    assert_eq!(session.open_calls().expect("it is in memory"), []);
    let newest: Arc<Message> = session.newest().expect("it is in memory").expect("there is one");
    let told: Vec<(String, bool)> = newest.results().map(|result| (result.text(), result.is_error)).collect();
    assert_eq!(told, [("src".to_owned(), false), ("no such tool".to_owned(), true)]);
    assert_eq!(session.answer([]).expect("nothing is no error"), None);
}

#[tokio::test]
async fn a_reply_that_filled_the_window_is_asked_for_again() {
    let mut session = small().build().expect("it is built");
    for number in 0..20 {
        exchange(&mut session, number);
    }
    session.say("and now?").await.expect("it is taken up");
    let before = session.session().check().tokens;
    let full = br#"{"content":[{"type":"text","text":"it"}],"stop_reason":"model_context_window_exceeded"}"#;
    session.take_reply(&reply(Protocol::Anthropic, full)).expect("it is no error");
    assert_eq!((session.session().budget().window, session.has_turn_ended()), (before, false));
    session.prepare().await.expect("room is made");
    assert!(session.session().check().tokens < before);
}

#[tokio::test]
async fn a_policy_that_looks_before_input_does() {
    let builder = small().setting("check.before_input", true).setting("check.before_call", false);
    let mut session = builder.build().expect("it is built");
    for number in 0..20 {
        exchange(&mut session, number);
    }
    let step = session.say("word ".repeat(5_000)).await.expect("room is made");
    assert!(step.record.is_some_and(|record| record.outcome.is_rebuilt()));
    assert_eq!(step.appended.last().map(|entry| entry.id), session.session().leaf());
}

#[tokio::test]
async fn a_policy_that_uses_the_pause_does() {
    let mut session = small().setting("check.idle_seconds", 300).build().expect("it is built");
    for number in 0..8 {
        exchange(&mut session, number);
    }
    let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
    assert!(session.idle(minutes(4)).await.expect("nothing fails").record.is_none());
    let record = session.idle(minutes(5)).await.expect("nothing fails").record;
    assert_eq!(record.map(|record| record.trigger), Some(Trigger::Idle));
}

#[tokio::test]
async fn a_whole_policy_and_settings_are_not_mixed() {
    let both = small().setting("trigger.at", "50%").policy(Policy::default());
    assert_eq!(
        both.build().map(drop).expect_err("which of them?").to_string(),
        "a policy was handed in, and settings beside it; put what they say into the policy"
    );
}

#[tokio::test]
async fn a_window_that_was_learned_is_known_after_loading() {
    let mut session = filled(small().build().expect("it is built")).await;
    session.session_mut().learn_window(Tokens(5_000));
    session.prepare().await.expect("room is made");
    let file = saved(&mut session);
    let loaded = small().load(file.clone()).expect("it is whole");
    assert_eq!((loaded.session().budget(), said(&loaded)), (session.session().budget(), said(&session)));
    let other = LiveSession::for_model("gpt-4o").window(8_000).load(file).expect("it is whole");
    assert_eq!(
        other.session().budget().window,
        Tokens(8_000),
        "what one model taught says nothing of another"
    );
}

/// A summariser that says little, and counts how often it was asked.
#[derive(Default)]
struct Terse {
    asked: Arc<AtomicUsize>,
}

impl Model for Terse {
    fn name(&self) -> &str {
        "terse"
    }

    fn window(&self) -> Tokens {
        Tokens(100_000)
    }

    fn output_max(&self) -> Tokens {
        Tokens(4_000)
    }

    fn summarize(&self, _: SummaryRequest) -> BoxFuture<'_, CallResult> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let said = br###"{"content":[{"type":"text","text":"## Goal\nMend the build.\n\n## Progress\n- read all parts\n"}],"stop_reason":"end_turn","usage":{"input_tokens":500,"output_tokens":20}}"###;
        Box::pin(async { summary_result(Protocol::Anthropic, 200, said) })
    }
}

#[tokio::test]
async fn rules_stay_in_view_where_a_model_writes_the_summary() {
    let builder = LiveSession::for_model("gpt-5").window(24_000).output_max(500);
    let mut session = builder.summarizer(Arc::new(Terse::default())).build().expect("it is built");
    for number in 0..40 {
        exchange(&mut session, number);
        // Asked for by hand it comes down to half of what there is, and that must hold forty rules.
        let filler = Message::text(Role::Assistant, Author::Model, "part of a long story. ".repeat(40));
        session.append(filler).expect("it is taken up");
    }
    let record = session.compact().await.expect("room is made").record.expect("it was asked for");
    assert_eq!(record.change().and_then(|change| change.summarizer.as_deref()), Some("terse"));
    let shown: String = said(&session).into_iter().map(|(_, text)| text).collect();
    let missing = (0..40).filter(|number| !shown.contains(&format!("never touch config{number}.toml")));
    assert_eq!(missing.collect::<Vec<_>>(), [] as [usize; 0], "{:?}", record.notes);
}

#[tokio::test]
async fn a_model_that_is_not_asked_any_more_is_named_in_the_record() {
    let terse = Terse::default();
    let asked = terse.asked.clone();
    let builder = LiveSession::for_model("gpt-5").window(4_000).output_max(300);
    let mut session = builder.summarizer(Arc::new(terse)).build().expect("it is built");
    let mut unasked = 0;
    for number in 0..40 {
        let before = asked.load(Ordering::SeqCst);
        session.say("It matters. ".repeat(500)).await.expect("it is taken up");
        let record = session.prepare().await.expect("nothing fails").record;
        exchange(&mut session, number);
        let is_compacted = record.as_ref().is_some_and(|record| record.outcome.is_rebuilt());
        if let Some(record) = record.filter(|_| is_compacted && asked.load(Ordering::SeqCst) == before) {
            unasked += 1;
            assert!(!record.fallbacks.is_empty(), "{record:?}");
        }
    }
    assert!(unasked > 0, "the context fills up so fast that nobody is asked any more");
}
