//! The program of `docs/guides/embed.md`, put together from what stands there.

use epitome_session::{ErrorPlace, LiveSession, Protocol, TurnEnd, reply};

async fn run_agent(service: &Service, question: &str) -> Result<LiveSession, AgentError> {
    let mut session = LiveSession::for_model(MODEL).system(SYSTEM).tool(READ_FILE).build()?;
    session.say(question).await?;
    while !session.has_turn_ended() {
        session.prepare().await?; // compacts where that is due
        let (status, body) = service.send(session.body(Protocol::Anthropic)?).await?;
        match status {
            200 => session.take_reply(&reply(Protocol::Anthropic, &body))?, // with the usage it reports
            _ => session.recover(ErrorPlace::Status(status), &body).await?, // too long: room is made for it
        };
        session.answer(session.open_calls()?.iter().map(run_tool))?;
    }
    session.end_turn(TurnEnd::Good).await?;
    Ok(session)
}

use epitome_session::{Call, ToolResult};

type AgentError = Box<dyn std::error::Error + Send + Sync>;

const MODEL: &str = "claude-sonnet-4-5";
const SYSTEM: &str = "You answer questions about the files of this folder.";
const READ_FILE: &str = r#"{"name": "read_file", "description": "The text of a file.",
    "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}}"#;

fn run_tool(call: &Call) -> ToolResult {
    let input: serde_json::Value = serde_json::from_str(&call.input).unwrap_or_default();
    match input["path"].as_str().map(std::fs::read_to_string) {
        Some(Ok(text)) => call.answer(text),
        Some(Err(error)) => call.fail(error.to_string()),
        None => call.fail("`path` is missing"),
    }
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

use epitome_session::wire::sse::Assembler;

async fn stream_reply(session: &mut LiveSession, service: &Service) -> Result<(), AgentError> {
    session.prepare().await?;
    let mut response = service.open(session.body(Protocol::Anthropic)?).await?;
    let status = response.status().as_u16();
    if status != 200 {
        session.recover(ErrorPlace::Status(status), &response.bytes().await?).await?;
        return Ok(());
    }
    let mut assembler = Assembler::new(Protocol::Anthropic);
    while let Some(bytes) = response.chunk().await? {
        assembler.push(&bytes); // and to the screen, for whoever reads along
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
            match self.0.send(body).await {
                Ok((status, body)) => summary_result(Protocol::Anthropic, status, &body),
                Err(error) => Failure::Broken(error.to_string()).into(),
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

fn load(path: &Path, summarizer: Summarizer) -> Result<LiveSession, AgentError> {
    let builder = LiveSession::for_model(MODEL).system(SYSTEM).tool(READ_FILE).field("stream", "true");
    Ok(builder.summarizer(Arc::new(summarizer)).load(fs::read(path)?)?)
}

async fn run(service: impl Fn() -> Service, path: &Path) -> Result<LiveSession, AgentError> {
    let mut session = run_agent(&service(), "What does this project do?").await?;
    save(&mut session, path)?;
    let mut session = load(path, Summarizer(service()))?;
    session.say("And how is it tested?").await?;
    while !session.has_turn_ended() {
        stream_reply(&mut session, &service()).await?;
        session.answer(session.open_calls()?.iter().map(run_tool))?;
    }
    let step = session.compact().await?; // by hand; `prepare` does so by itself where it is due
    println!("{}", serde_json::to_string_pretty(&step.record)?);
    save(&mut session, path)?;
    Ok(session)
}

#[tokio::main]
async fn main() -> Result<(), AgentError> {
    let url = "https://api.anthropic.com/v1/messages".to_owned();
    let key = std::env::var("ANTHROPIC_API_KEY")?;
    let service = || Service { client: reqwest::Client::new(), url: url.clone(), key: key.clone() };
    let session = run(service, Path::new("agent.session")).await?;
    println!("{}", session.newest()?.map(|message| message.said()).unwrap_or_default());
    Ok(())
}

#[cfg(test)]
mod tests;
