//! The program of `docs/guides/embed.md`, put together from what stands there.

use epitome_session::{ErrorPlace, LiveSession, Protocol, TurnEnd, reply};

async fn run_turn(session: &mut LiveSession, service: &Service) -> Result<(), AgentError> {
    while !session.has_turn_ended() {
        let results: Vec<_> = session.open_calls()?.iter().map(|call| run_tool(session, call)).collect();
        session.answer(results)?;
        session.prepare().await?; // compacts where that is due
        let (status, body) = service.send(session.body(Protocol::Anthropic)?).await?;
        match status {
            200 => session.take_reply(&reply(Protocol::Anthropic, &body))?, // with the usage it reports
            _ => session.recover(ErrorPlace::Status(status), &body).await?, // too long: room is made for it
        };
    }
    session.end_turn(TurnEnd::Good).await?;
    Ok(())
}

use epitome_session::core::TextDetail;
use epitome_session::{Call, EntryId, ToolResult};

type AgentError = Box<dyn std::error::Error + Send + Sync>;

const MODEL: &str = "claude-sonnet-4-5";
const SYSTEM: &str = "You answer questions about the files of this folder.";
const READ_FILE: &str = r#"{"name": "read_file", "description": "The text of a file.",
    "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}}"#;
const RECALL: &str = r#"{"name": "recall", "description": "An earlier message of this conversation, by its id (m0123).",
    "input_schema": {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}}"#;

fn run_tool(session: &LiveSession, call: &Call) -> ToolResult {
    let input: serde_json::Value = match serde_json::from_str(&call.input) {
        Ok(input) => input,
        Err(error) => return call.fail(format!("the arguments are no JSON: {error}")),
    };
    let text = |name: &str| input[name].as_str().ok_or_else(|| format!("`{name}` is missing"));
    let found = match &*call.name {
        "read_file" => text("path").and_then(read_file),
        "recall" => text("id").and_then(|id| recall(session, id)),
        other => Err(format!("there is no tool `{other}`")),
    };
    found.map_or_else(|why| call.fail(why), |text| call.answer(text))
}

fn read_file(path: &str) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| error.to_string())
}

fn recall(session: &LiveSession, id: &str) -> Result<String, String> {
    let id: EntryId = id.parse()?;
    let message = session.recall(id).map_err(|error| error.to_string())?;
    Ok(message.plain_text(TextDetail::Whole)) // results included, which `said()` leaves out
}

struct Service {
    client: reqwest::Client,
    url: String,
    key: String,
}

impl Service {
    async fn open(&self, body: Vec<u8>) -> Result<reqwest::Response, reqwest::Error> {
        let request = self.client.post(&self.url).header("x-api-key", &self.key);
        let request = request.header("anthropic-version", "2023-06-01");
        request.header("content-type", "application/json").body(body).send().await
    }

    async fn send(&self, body: Vec<u8>) -> Result<(u16, Vec<u8>), reqwest::Error> {
        let response = self.open(body).await?;
        Ok((response.status().as_u16(), response.bytes().await?.to_vec()))
    }
}

use epitome_session::SessionError;
use std::time::Duration;

async fn run_patiently(session: &mut LiveSession, service: &Service) -> Result<(), AgentError> {
    for seconds in [1, 5, 30] {
        match run_turn(session, service).await {
            Err(error) if is_passing(&error) => tokio::time::sleep(Duration::from_secs(seconds)).await,
            done => return done,
        }
    }
    run_turn(session, service).await
}

fn is_passing(error: &AgentError) -> bool {
    error.is::<reqwest::Error>() || error.downcast_ref().is_some_and(SessionError::is_passing)
}

use epitome_session::wire::sse::Assembler;
use std::io::{self, Write};

async fn stream_reply(session: &mut LiveSession, service: &Service) -> Result<(), AgentError> {
    session.prepare().await?;
    let mut response = service.open(session.stream_body(Protocol::Anthropic)?).await?;
    let status = response.status().as_u16();
    if status != 200 {
        session.recover(ErrorPlace::Status(status), &response.bytes().await?).await?;
        return Ok(());
    }
    let mut assembler = Assembler::new(Protocol::Anthropic);
    while let Some(bytes) = response.chunk().await? {
        assembler.push(&bytes);
        print!("{}", assembler.newest_text()); // what was said in these bytes, for whoever reads along
        io::stdout().flush()?;
    }
    let answer = assembler.finish();
    match &answer.error {
        Some(error) => session.recover(ErrorPlace::InStream, error.as_bytes()).await?,
        None => session.take_reply(&answer)?,
    };
    Ok(())
}

use epitome_session::core::{CallResult, Failure, SummaryRequest};
use epitome_session::{BoxFuture, Model, Tokens, summary_body, summary_result};

const SUMMARY_TIME_MAX: Duration = Duration::from_secs(120);

struct Summarizer(Service);

impl Model for Summarizer {
    fn name(&self) -> &str {
        "claude-haiku-4-5"
    }

    fn window(&self) -> Tokens {
        Tokens(200_000)
    }

    fn output_max(&self) -> Tokens {
        Tokens(8_192)
    }

    fn summarize(&self, request: SummaryRequest) -> BoxFuture<'_, CallResult> {
        Box::pin(async move {
            let body = match summary_body(Protocol::Anthropic, self.name(), &request) {
                Ok(body) => body,
                Err(error) => return Failure::Refused(error.to_string()).into(),
            };
            match tokio::time::timeout(SUMMARY_TIME_MAX, self.0.send(body)).await {
                Ok(Ok((status, body))) => summary_result(Protocol::Anthropic, status, &body),
                Ok(Err(error)) => Failure::Broken(error.to_string()).into(),
                Err(_) => Failure::TimedOut.into(),
            }
        })
    }
}

use std::fs::{self, OpenOptions};
use std::path::Path;
use std::sync::Arc;

fn save(session: &mut LiveSession, path: &Path) -> Result<(), AgentError> {
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    Ok(session.save_to(&mut file)?)
}

fn open(path: &Path, summarizer: Summarizer) -> Result<LiveSession, AgentError> {
    let builder = LiveSession::for_model(MODEL).system(SYSTEM).tool(READ_FILE).tool(RECALL);
    let builder = builder.summarizer(Arc::new(summarizer));
    match fs::read(path) {
        Ok(saved) => Ok(builder.load(saved)?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(builder.build()?),
        Err(error) => Err(error.into()),
    }
}

fn undo_newest(session: &mut LiveSession) -> Result<Option<EntryId>, AgentError> {
    let newest = session.session().compactions().last().copied();
    if let Some(compaction) = newest {
        session.session_mut().undo(compaction)?; // and `redo(compaction)` uses it again
    }
    Ok(newest)
}

async fn run(service: impl Fn() -> Service, path: &Path, question: &str) -> Result<LiveSession, AgentError> {
    let mut session = open(path, Summarizer(service()))?;
    session.say(question).await?;
    let done = run_patiently(&mut session, &service()).await;
    if done.is_err() {
        session.end_turn(TurnEnd::Broken).await?;
    }
    save(&mut session, path)?; // whatever came of it: the next run goes on from here
    done.map(|()| session)
}

#[tokio::main]
async fn main() -> Result<(), AgentError> {
    let url = "https://api.anthropic.com/v1/messages".to_owned();
    let key = std::env::var("ANTHROPIC_API_KEY")?;
    let service = || Service { client: reqwest::Client::new(), url: url.clone(), key: key.clone() };
    let path = Path::new("agent.session");
    let mut session = run(service, path, "What does this project do?").await?;
    println!("{}", session.newest()?.map(|message| message.said()).unwrap_or_default());

    session.say("And how is it tested?").await?; // the same as a stream
    while !session.has_turn_ended() {
        let results: Vec<_> = session.open_calls()?.iter().map(|call| run_tool(&session, call)).collect();
        session.answer(results)?;
        stream_reply(&mut session, &service()).await?;
    }
    let step = session.compact().await?; // by hand; `prepare` does so by itself where it is due
    println!("{}", serde_json::to_string_pretty(&step.record)?);
    undo_newest(&mut session)?;
    save(&mut session, path)
}

#[cfg(test)]
mod tests;
