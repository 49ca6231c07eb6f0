//! The guide's program, run against a stand-in for the provider.

use super::{Service, run, run_agent};
use epitome_session::core::Outcome;
use epitome_session::{LiveSession, SessionError};
use epitome_upstream::{Handle, Place, Script, Upstream};

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

/// The strategies of the compactions on the path, oldest first.
fn outcomes(session: &LiveSession) -> Vec<&'static str> {
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
    let session = run_agent(&service(&upstream), "what is here?").await.expect("it ends");
    assert!(session.has_turn_ended());
    assert!(session.session().budget().window.0 <= SMALL_WINDOW, "{:?}", session.session().budget());
    let report = upstream.report();
    assert_eq!((report.violations.len(), session.session().log().len() > 80), (0, true), "{report:?}");
    assert!(!outcomes(&session).is_empty(), "{report:?}");
}

#[tokio::test]
async fn a_request_that_is_too_long_is_sent_again() {
    let upstream =
        upstream(Script { plan: "chat:3=overflow".parse().expect("a plan"), ..Script::default() }).await;
    let session = run_agent(&service(&upstream), "what is here?").await.expect("it ends");
    let report = upstream.report();
    assert_eq!((report.overflows, report.violations.len(), session.has_turn_ended()), (1, 0, true));
}

#[tokio::test]
async fn the_whole_program_runs_and_its_file_holds_all_of_it() {
    let upstream = upstream(Script::default()).await;
    let folder = tempfile::tempdir().expect("there is room");
    let path = folder.path().join("agent.session");
    let session = run(|| service(&upstream), &path).await.expect("it ends");
    assert_eq!(outcomes(&session), ["model"]);
    let saved = std::fs::read(&path).expect("it was saved");
    let loaded = LiveSession::for_model(super::MODEL).load(saved).expect("it is whole");
    assert_eq!(loaded.shown().expect("it is there"), session.shown().expect("it is there"));
    assert_eq!(loaded.session().log().len(), session.session().log().len());
}

#[tokio::test]
async fn an_overflow_inside_a_stream_is_recovered_from() {
    let upstream = upstream(Script { overflow_place: Place::Stream, ..Script::default() }).await;
    let folder = tempfile::tempdir().expect("there is room");
    let path = folder.path().join("agent.session");
    upstream.plan("chat:7=overflow".parse().expect("a plan"));
    let session = run(|| service(&upstream), &path).await.expect("it ends");
    let report = upstream.report();
    assert_eq!((report.overflows, report.violations.len(), session.has_turn_ended()), (1, 0, true));
}

#[tokio::test]
async fn what_is_not_about_size_comes_back_in_the_providers_words() {
    let upstream =
        upstream(Script { plan: "chat:1=401".parse().expect("a plan"), ..Script::default() }).await;
    let error = run_agent(&service(&upstream), "what is here?").await.expect_err("it was refused");
    let error = error.downcast::<SessionError>().expect("of a session");
    let SessionError::Refused { why, said, .. } = *error else { panic!("{error:?}") };
    assert_eq!(why, "a smaller request would not help");
    assert!(said.contains("authentication_error"), "{said}");
}

#[tokio::test]
async fn a_summariser_that_fails_is_stood_in_for() {
    let upstream =
        upstream(Script { plan: "summary:*=500".parse().expect("a plan"), ..Script::default() }).await;
    let folder = tempfile::tempdir().expect("there is room");
    let path = folder.path().join("agent.session");
    let session = run(|| service(&upstream), &path).await.expect("it ends");
    assert_eq!(outcomes(&session), ["embedded"]);
}
