//! Clients that wait for a model's summary: their streams are kept alive, their wait has an end, and whoever gives up and comes back
//! finds the work under way.

use crate::stage::{Stage, answer, body, history, serve_for};
use epitome_core::{CallCost, CallResult, Policy, Stop, SummaryReply, SummaryRequest, Tokens};
use epitome_engine::{BoxFuture, Model, SummaryModel, TokioRuntime};
use epitome_server::{OwnModel, SessionRule};
use epitome_upstream::{Keep, Script, Upstream};
use reqwest::{Client, Response, StatusCode};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::{oneshot, watch};

/// A window that these histories outgrow.
const SMALL: u64 = 8_000;
/// Nothing that a test waits for takes longer.
const WAIT_MAX: Duration = Duration::from_secs(30);

/// A model that writes when it is let, and counts.
struct SlowModel {
    begun: AtomicUsize,
    cancelled: Arc<AtomicUsize>,
    may_write: watch::Sender<bool>,
}

/// Counts a call as cancelled where it is dropped before its end.
struct Call(Option<Arc<AtomicUsize>>);

impl Drop for Call {
    fn drop(&mut self) {
        if let Some(cancelled) = &self.0 {
            cancelled.fetch_add(1, Ordering::SeqCst);
        }
    }
}

/// What the model writes; its words tell it from what the embedded summariser writes.
fn written() -> String {
    let line =
        |at: usize| format!("- The person asked for task {at} about the parser, and it is done by now.\n");
    format!("## Goal\n{}\n## Progress\n{}", line(0), (1..12).map(line).collect::<String>())
}

impl Model for SlowModel {
    fn name(&self) -> &str {
        "slow"
    }
    fn window(&self) -> Tokens {
        Tokens(200_000)
    }
    fn output_max(&self) -> Tokens {
        Tokens(8_000)
    }
    fn summarize(&self, _: SummaryRequest) -> BoxFuture<'_, CallResult> {
        Box::pin(async {
            self.begun.fetch_add(1, Ordering::SeqCst);
            let mut call = Call(Some(self.cancelled.clone()));
            let mut may_write = self.may_write.subscribe();
            may_write.wait_for(|may| *may).await.expect("the test holds it");
            call.0 = None;
            let reply = SummaryReply { text: written(), stop: Stop::End, native: None };
            CallResult { result: Ok(reply), spent: CallCost { calls: 1, ..CallCost::default() } }
        })
    }
}

/// A server whose summaries are the slow model's, in front of a scripted provider.
struct Desk {
    model: Arc<SlowModel>,
    upstream: epitome_upstream::Handle,
    url: String,
    running: oneshot::Sender<()>,
    served: tokio::task::JoinHandle<()>,
}

impl Desk {
    async fn new(wait_seconds_max: u64) -> Self {
        let script = Script { keep: Keep::Bodies, tool_rounds: 0, ..Script::default() };
        let upstream = Upstream::start(script).await.expect("a free port");
        let mut settings = Policy::default().settings().clone();
        settings.guard.wait_seconds_max = Some(wait_seconds_max);
        settings.summary.parts = epitome_core::policy::Parts::All;
        let mut rule = SessionRule::alone(Policy::try_from(settings).expect("a policy"));
        let model = Arc::new(SlowModel {
            begun: AtomicUsize::new(0),
            cancelled: Arc::default(),
            may_write: watch::Sender::new(false),
        });
        rule.ports.model = Some(SummaryModel::apart(model.clone()));
        rule.own_model = OwnModel::Unwanted;
        let clock = Arc::new(TokioRuntime::current().expect("a runtime"));
        let (url, running, served) = serve_for(&upstream.base_url, rule, SMALL, clock).await;
        Self { model, upstream, url, running, served }
    }

    fn post(&self, path: &str, body: String) -> reqwest::RequestBuilder {
        Client::new().post(format!("{}{path}", self.url)).header("x-api-key", "a key").body(body)
    }

    fn counts(&self) -> [usize; 2] {
        [&self.model.begun, &*self.model.cancelled].map(|count| count.load(Ordering::SeqCst))
    }

    /// Waits until the model was asked, and calls cancelled, so often.
    async fn until(&self, counts: [usize; 2]) {
        let until = Instant::now() + WAIT_MAX;
        while self.counts() != counts {
            assert!(Instant::now() < until, "{:?} and not {counts:?}", self.counts());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    fn write(&self) {
        self.model.may_write.send_replace(true);
    }

    /// Who wrote each summary, and how many calls that took.
    async fn summaries(&self) -> Vec<(Value, Value)> {
        let (_, listed) = answer(Client::new().get(format!("{}/api/v1/sessions", self.url))).await;
        let listed: Value = serde_json::from_slice(&listed).expect("a list");
        let records = listed.as_array().expect("a list").iter();
        let records = records.flat_map(|one| one["compactions"].as_array().expect("a list"));
        records.map(|one| (one["summarizer"].clone(), one["spent"]["calls"].clone())).collect()
    }

    /// Who wrote each summary.
    async fn summarizers(&self) -> Vec<Value> {
        self.summaries().await.into_iter().map(|(who, _)| who).collect()
    }
}

/// The same history in each protocol, streamed.
fn bodies() -> [(&'static str, String); 3] {
    let turns: Vec<(String, String)> = (0..60)
        .map(|turn| {
            (format!("task {turn} about the parser: {}", "words ".repeat(90)), format!("done {turn}"))
        })
        .collect();
    let chat = |key: &str, last: &str| {
        let said = turns.iter().flat_map(|(user, reply)| {
            [json!({"role": "user", "content": user}), json!({"role": "assistant", "content": reply})]
        });
        let messages: Vec<Value> = said.chain([json!({"role": "user", "content": last})]).collect();
        json!({"model": "gpt-4.1", "stream": true, key: messages}).to_string()
    };
    [
        ("/v1/messages", body(&history(60, "the parser"), true)),
        ("/v1/chat/completions", chat("messages", "and now?")),
        ("/v1/responses", chat("input", "and now?")),
    ]
}

/// The next bytes of a stream, as text.
async fn next(response: &mut Response) -> String {
    let piece = tokio::time::timeout(WAIT_MAX, response.chunk()).await.expect("in time");
    String::from_utf8_lossy(&piece.expect("it goes on").expect("there is more")).into_owned()
}

async fn rest(mut response: Response) -> String {
    let mut all = String::new();
    while let Some(piece) = response.chunk().await.expect("it ends well") {
        all += &String::from_utf8_lossy(&piece);
    }
    all
}

const PINGS: [&str; 3] = ["event: ping\ndata: {\"type\": \"ping\"}\n\n", ": waiting\n\n", ": waiting\n\n"];

#[tokio::test]
async fn a_stream_that_must_wait_is_opened_with_pings_and_ends_as_the_providers_does() {
    for ((path, body), ping) in bodies().into_iter().zip(PINGS) {
        let desk = Desk::new(120).await;
        let mut response = desk.post(path, body).send().await.expect("it is opened");
        assert_eq!((response.status(), desk.counts()), (StatusCode::OK, [1, 0]), "{path}");
        assert_eq!(response.headers()["content-type"], "text/event-stream; charset=utf-8");
        assert_eq!(next(&mut response).await, ping, "{path}: nothing was written yet");
        desk.write();
        let events = rest(response).await;
        assert!(
            events.contains("message_stop")
                || events.contains("[DONE]")
                || events.contains("response.completed")
        );
        assert_eq!(
            (desk.summarizers().await, desk.upstream.report().violations),
            (vec![json!("slow")], vec![])
        );
    }
}

#[tokio::test]
async fn what_the_provider_refuses_goes_out_as_an_event_once_the_stream_is_open() {
    for ((path, body), ping) in bodies().into_iter().zip(PINGS) {
        let desk = Desk::new(120).await;
        desk.upstream.plan("chat:*=529".parse().expect("a plan"));
        let mut response = desk.post(path, body).send().await.expect("it is opened");
        assert_eq!(next(&mut response).await, ping);
        desk.write();
        let events = rest(response).await;
        let data = events.lines().filter_map(|line| line.strip_prefix("data: "));
        let told: Vec<Value> = data.map(|data| serde_json::from_str(data).expect("JSON")).collect();
        let names: Vec<&str> = events.lines().filter_map(|line| line.strip_prefix("event: ")).collect();
        match path {
            "/v1/messages" => {
                assert_eq!((names, &told[0]["type"]), (vec!["error"], &json!("error")));
                assert_eq!(told[0]["error"]["type"], "overloaded_error");
            }
            "/v1/chat/completions" => {
                assert!(names.is_empty() && told[0]["error"]["message"].is_string(), "{events}");
            }
            _ => {
                assert_eq!(names, ["error", "response.failed"]);
                assert_eq!(told[1]["response"]["status"], "failed");
                assert!(told[1]["response"]["error"]["code"].is_string(), "{events}");
            }
        }
    }
}

#[tokio::test]
async fn a_request_without_a_stream_waits_for_its_own_status() {
    let desk = Desk::new(120).await;
    desk.upstream.plan("chat:*=529".parse().expect("a plan"));
    let request = desk.post("/v1/messages", body(&history(60, "the parser"), false));
    let waiting = tokio::spawn(answer(request));
    desk.until([1, 0]).await;
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    desk.write();
    assert_eq!(waiting.await.expect("it is answered").0.as_u16(), 529);
}

#[tokio::test]
async fn a_summary_that_takes_too_long_is_cancelled_and_the_request_goes_on_without_a_model() {
    let desk = Desk::new(1).await;
    let (status, _) = answer(desk.post("/v1/messages", body(&history(60, "the parser"), false))).await;
    assert_eq!((status, desk.counts()), (StatusCode::OK, [1, 1]));
    assert_eq!(desk.summarizers().await, [json!("the embedded summariser")]);
    let again = answer(desk.post("/v1/messages", body(&history(60, "the parser"), false))).await;
    assert_eq!((again.0, desk.counts()), (StatusCode::OK, [1, 1]), "and nobody is asked for it again");
}

#[tokio::test]
async fn a_client_that_gives_up_and_comes_back_joins_the_work_under_way() {
    let desk = Desk::new(120).await;
    let request = || desk.post("/v1/messages", body(&history(60, "the parser"), false));
    let first = tokio::spawn(request().send());
    desk.until([1, 0]).await;
    first.abort();
    let second = tokio::spawn(answer(request()));
    // Longer than a client that hung up is waited for: somebody else waits by then.
    tokio::time::sleep(Duration::from_millis(3_500)).await;
    assert_eq!(desk.counts(), [1, 0], "one call, still under way");
    desk.write();
    assert_eq!(second.await.expect("it is answered").0, StatusCode::OK);
    let [begun, cancelled] = desk.counts();
    assert_eq!(
        (desk.summaries().await, cancelled),
        (vec![(json!("slow"), json!(begun))], 0),
        "paid for once"
    );
}

#[tokio::test]
async fn the_last_client_to_hang_up_cancels_the_call_and_leaves_nothing_locked() {
    let desk = Desk::new(120).await;
    let request = || desk.post("/v1/messages", body(&history(60, "the parser"), true));
    let waiting: Vec<_> = (0..2).map(|_| tokio::spawn(request().send())).collect();
    desk.until([1, 0]).await;
    waiting.iter().for_each(tokio::task::JoinHandle::abort);
    desk.until([1, 1]).await;
    assert_eq!(desk.summarizers().await, Vec::<Value>::new(), "nothing was changed");
    desk.write();
    assert_eq!(answer(request()).await.0, StatusCode::OK);
    let [begun, cancelled] = desk.counts();
    assert_eq!((desk.summaries().await, cancelled), (vec![(json!("slow"), json!(begun - 1))], 1));
}

#[tokio::test]
async fn a_server_that_is_told_twice_to_stop_waits_for_no_compaction() {
    let desk = Desk::new(120).await;
    let response = desk.post("/v1/messages", body(&history(60, "the parser"), true)).send().await;
    let response = response.expect("it is opened");
    desk.until([1, 0]).await;
    let Desk { model, running, served, .. } = desk;
    // The stage's second word follows its first at once.
    drop(running);
    tokio::time::timeout(Duration::from_secs(5), served).await.expect("it ends").expect("it ends well");
    drop(response);
    let until = Instant::now() + WAIT_MAX;
    while model.cancelled.load(Ordering::SeqCst) == 0 && Instant::now() < until {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(model.cancelled.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_provider_that_is_slow_by_itself_keeps_its_own_status() {
    let stage = Stage::new(Script::default(), 64_000).await;
    stage.upstream.plan("chat:1=slow=2500+529".parse().expect("a plan"));
    let (status, _) = answer(stage.post("/v1/messages", body(&history(1, "x"), true))).await;
    assert_eq!(status.as_u16(), 529, "nothing is opened while only the provider is waited for");
}
