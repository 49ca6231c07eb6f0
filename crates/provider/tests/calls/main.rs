//! Calls against a scripted server on loopback: what a provider does with everything that can come back.
//! Time stands still and jumps to whatever is waited for.

mod answers;
mod failures;
mod script;

use epitome_core::{CallResult, Purpose, SummaryInput, SummaryRequest, Tokens};
use epitome_engine::{FrozenClock, Model};
use epitome_provider::{Aliases, Dice, Limits, Provider, World};
use epitome_tokens::Catalog;
use script::{Act, Received, Server};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// A die that always shows the most.
#[derive(Debug)]
struct Loaded;

impl Dice for Loaded {
    fn roll(&self) -> f64 {
        1.0
    }
}

const KEY: &str = "sk-test-secret-0001";

/// A provider of this protocol at the server; `more` is added to its alias.
fn provider(url: &str, protocol: &str, more: &str) -> Provider {
    let table = format!(
        "[m]\nprovider = \"compatible\"\nprotocol = \"{protocol}\"\nbase_url = \"{url}\"\nmodel = \"claude-opus-4-5\"\nkey_env = \"KEY\"\n{more}"
    );
    let aliases: Aliases = toml::from_str(&table).expect("the test wrote it");
    let client = reqwest::Client::builder().no_proxy().build().expect("a client can be made");
    let world = World {
        client,
        clock: Arc::new(FrozenClock),
        dice: Arc::new(Loaded),
        windows: Arc::default(),
        limits: Limits::default(),
    };
    let environment = |_: &str| Some(KEY.to_owned());
    aliases.provider("m", Catalog::built_in(), &environment, &world).expect("it is in the table")
}

fn request(purpose: Purpose) -> SummaryRequest {
    let messages = vec![Arc::new(epitome_core::Message::text(
        epitome_core::Role::User,
        epitome_core::Author::Person,
        "we talked",
    ))];
    let body = match purpose {
        Purpose::Native => SummaryInput::Messages { messages, instruction: "".into() },
        Purpose::History | Purpose::TurnPrefix | Purpose::Part { .. } | Purpose::Branch | Purpose::Short => {
            SummaryInput::Text("sum up: we talked".into())
        }
    };
    SummaryRequest { purpose, system: "be brief".into(), body, output_max: Tokens(2_000), attempt: 0 }
}

/// What came of a call, what the server saw, and how long it took.
struct Seen {
    called: CallResult,
    received: Vec<Received>,
    took: Duration,
    provider: Provider,
}

async fn ask(protocol: &str, more: &str, purpose: Purpose, acts: Vec<Act>) -> Seen {
    let server = Server::start(acts).await;
    let provider = provider(&server.url, protocol, more);
    let start = Instant::now();
    let called = provider.summarize(request(purpose)).await;
    Seen { called, received: server.received(), took: start.elapsed(), provider }
}

/// The usual question to a server of Anthropic Messages.
async fn ask_anthropic(acts: Vec<Act>) -> Seen {
    ask("anthropic", "", Purpose::History, acts).await
}

/// A whole reply of Anthropic Messages that says `text` and stops for this reason.
fn says(text: &str, stop: &str) -> Act {
    let delta = format!(
        r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":"{text}"}}}}"#
    );
    let end = format!(
        r#"{{"type":"message_delta","delta":{{"stop_reason":"{stop}"}},"usage":{{"output_tokens":100}}}}"#
    );
    Act::Send(script::stream(&[START, BLOCK, &delta, &end, r#"{"type":"message_stop"}"#]))
}

const START: &str = r#"{"type":"message_start","message":{"content":[],"usage":{"input_tokens":1000,"cache_read_input_tokens":500,"cache_creation_input_tokens":200,"output_tokens":1}}}"#;
const BLOCK: &str = r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#;
