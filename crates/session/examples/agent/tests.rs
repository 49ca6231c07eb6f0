//! The guide's program, run against a stand-in for the provider.

use super::{
    AgentError, RECALL, Service, Summarizer, open, run, run_tool, run_turn, save, stream_reply, undo_newest,
};
use epitome_session::core::Outcome;
use epitome_session::{LiveSession, SessionError};
use epitome_upstream::{Handle, Place, Script, Upstream};
use std::path::PathBuf;
use tempfile::TempDir;

/// Forty rounds of calls do not fit this window.
const SMALL_WINDOW: u64 = 3_000;
/// What every summary request says in its system prompt.
const MARKER: &str = "You write summaries of work";

async fn upstream(script: Script) -> Handle {
    let script = Script { summary_markers: vec![MARKER.into()], ..script };
    Upstream::start(script).await.expect("a port is free")
}

fn service(upstream: &Handle) -> Service {
    let url = format!("{}/v1/messages", upstream.base_url);
    Service { client: reqwest::Client::new(), url, key: "a-key".into() }
}

/// A place for the session, which is gone with the folder.
fn place() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("there is room");
    let path = folder.path().join("agent.session");
    (folder, path)
}

async fn ask(upstream: &Handle, question: &str) -> Result<LiveSession, AgentError> {
    let (_folder, path) = place();
    run(|| service(upstream), &path, question).await
}

/// A second question, its reply streamed.
async fn ask_streaming(session: &mut LiveSession, upstream: &Handle) -> Result<(), AgentError> {
    session.say("and how is it tested?").await?;
    while !session.has_turn_ended() {
        let results: Vec<_> = session.open_calls()?.iter().map(|call| run_tool(session, call)).collect();
        session.answer(results)?;
        stream_reply(session, &service(upstream)).await?;
    }
    Ok(())
}

/// Who wrote the summaries of the compactions on the path, oldest first.
fn writers(session: &LiveSession) -> Vec<&'static str> {
    let records = session.session().compactions().iter().map(|&id| {
        let mark = session.session().log().mark_of(id);
        mark.and_then(|mark| mark.record()).expect("a compaction has its record").clone()
    });
    records
        .map(|record| match &record.outcome {
            Outcome::Compacted(change) if change.summarizer.as_deref() == Some("claude-haiku-4-5") => "model",
            Outcome::Compacted(_) => "embedded",
            other => panic!("{other:?}"),
        })
        .collect()
}

#[tokio::test]
async fn a_window_smaller_than_anybody_knew_is_learned_and_kept_to() {
    let script = Script { window_tokens: Some(SMALL_WINDOW), tool_rounds: 40, ..Script::default() };
    let upstream = upstream(script).await;
    let session = ask(&upstream, "what is here?").await.expect("it ends");
    assert!(session.has_turn_ended());
    assert!(session.session().budget().window.0 <= SMALL_WINDOW, "{:?}", session.session().budget());
    let report = upstream.report();
    assert_eq!((report.violations.len(), session.session().log().len() > 80), (0, true), "{report:?}");
    assert!(!writers(&session).is_empty(), "{report:?}");
}

#[tokio::test]
async fn a_request_that_is_too_long_is_sent_again() {
    let plan = "chat:16=overflow".parse().expect("a plan");
    let upstream = upstream(Script { plan, tool_rounds: 20, ..Script::default() }).await;
    let session = ask(&upstream, "what is here?").await.expect("it ends");
    let report = upstream.report();
    assert_eq!((report.overflows, report.violations.len(), session.has_turn_ended()), (1, 0, true));
}

#[tokio::test]
async fn the_program_goes_on_from_its_file_at_each_run() {
    let upstream = upstream(Script::default()).await;
    let (_folder, path) = place();
    let first = run(|| service(&upstream), &path, "what is here?").await.expect("it ends");
    let second = run(|| service(&upstream), &path, "and there?").await.expect("it goes on");
    assert!(second.session().history().len() > first.session().history().len());
    let mut third = open(&path, Summarizer(service(&upstream))).expect("it is whole");
    assert_eq!(third.shown().expect("it is there"), second.shown().expect("it is there"));
    ask_streaming(&mut third, &upstream).await.expect("it ends");
    let before = third.shown().expect("it is there");
    third.compact().await.expect("it can be");
    assert_eq!(writers(&third), ["model"]);
    assert!(undo_newest(&mut third).expect("there is one").is_some());
    assert_eq!(third.shown().expect("it is there"), before);
    save(&mut third, &path).expect("there is room");
    let loaded = open(&path, Summarizer(service(&upstream))).expect("it is whole");
    assert_eq!(loaded.shown().expect("it is there"), before);
    assert_eq!(loaded.session().log().len(), third.session().log().len());
}

#[tokio::test]
async fn an_overflow_inside_a_stream_is_recovered_from() {
    let upstream = upstream(Script { overflow_place: Place::Stream, ..Script::default() }).await;
    let mut session = ask(&upstream, "what is here?").await.expect("it ends");
    upstream.plan("chat:1=overflow".parse().expect("a plan"));
    ask_streaming(&mut session, &upstream).await.expect("it ends");
    let report = upstream.report();
    assert_eq!((report.overflows, report.violations.len(), session.has_turn_ended()), (1, 0, true));
}

#[tokio::test]
async fn a_stream_that_is_cut_off_leaves_the_session_as_it_was() {
    let upstream = upstream(Script::default()).await;
    let mut session = ask(&upstream, "what is here?").await.expect("it ends");
    upstream.plan("chat:1=cut".parse().expect("a plan"));
    let error = ask_streaming(&mut session, &upstream).await.expect_err("it was cut off");
    let is_cut =
        error.is::<reqwest::Error>() || matches!(error.downcast_ref(), Some(SessionError::CutOff { .. }));
    assert!(is_cut && super::is_passing(&error), "{error}");
    let newest = session.newest().expect("it is there").map(|message| message.said());
    assert_eq!(newest.as_deref(), Some("and how is it tested?"));
    run_turn(&mut session, &service(&upstream)).await.expect("it goes on");
}

#[tokio::test(start_paused = true)]
async fn what_passes_is_waited_for() {
    let plan = "chat:1=429,2=500".parse().expect("a plan");
    let upstream = upstream(Script { plan, ..Script::default() }).await;
    let session = ask(&upstream, "what is here?").await.expect("it ends");
    assert!(session.has_turn_ended());
}

#[tokio::test]
async fn what_is_not_about_size_comes_back_in_the_providers_words_and_the_session_is_saved() {
    let upstream =
        upstream(Script { plan: "chat:1=401".parse().expect("a plan"), ..Script::default() }).await;
    let (_folder, path) = place();
    let error = run(|| service(&upstream), &path, "what is here?").await.expect_err("it was refused");
    let error = error.downcast::<SessionError>().expect("of a session");
    let SessionError::Refused { why, said, .. } = *error else { panic!("{error:?}") };
    assert_eq!(why, "a smaller request would not help");
    assert!(said.contains("authentication_error"), "{said}");
    let mut again = open(&path, Summarizer(service(&upstream))).expect("it is whole");
    run_turn(&mut again, &service(&upstream)).await.expect("it goes on");
    assert!(again.has_turn_ended());
}

#[tokio::test]
async fn a_summariser_that_fails_is_stood_in_for() {
    let upstream =
        upstream(Script { plan: "summary:*=500".parse().expect("a plan"), ..Script::default() }).await;
    let mut session = ask(&upstream, "what is here?").await.expect("it ends");
    ask_streaming(&mut session, &upstream).await.expect("it ends");
    session.compact().await.expect("it can be");
    assert_eq!(writers(&session), ["embedded"]);
}

#[tokio::test]
async fn the_tool_for_it_recalls_what_was_said_and_what_tools_gave() {
    let upstream = upstream(Script::default()).await;
    let session = ask(&upstream, "what is here?").await.expect("it ends");
    let recall = |id: &str| super::recall(&session, id);
    assert_eq!(recall("m0000").expect("it is there").trim(), "what is here?");
    let ids = session.session().history().iter().copied();
    let answered = ids
        .into_iter()
        .find(|&id| session.recall(id).is_ok_and(|message| message.results().next().is_some()));
    let answered = answered.expect("the model called a tool").to_string();
    assert!(!recall(&answered).expect("it is there").trim().is_empty());
    assert_eq!(recall("12").expect_err("no id"), "`12` is not a pointer; one looks like m0123");
    assert!(recall("m9999").is_err() && RECALL.contains("m0123"));
}
