//! For agents with a loop of their own: a session whose requests always fit its model's context window.
//!
//! A model's name goes in, a [`LiveSession`] comes out. It calls nobody: your client sends the bodies it writes, and hands
//! back what came.
//!
//! ```
//! use epitome_session::{LiveSession, Protocol, TurnEnd, reply};
//!
//! # fn send(_: Vec<u8>) -> Vec<u8> {
//! #     br#"{"content":[{"type":"text","text":"it is in src"}],"stop_reason":"end_turn","usage":{"input_tokens":30,"output_tokens":5}}"#.to_vec()
//! # }
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut session = LiveSession::for_model("claude-sonnet-4-5").system("You find things.").build()?;
//! session.say("where is the code?").await?;
//! session.prepare().await?; // compacts where that is due
//! let answer = send(session.body(Protocol::Anthropic)?);
//! session.take_reply(&reply(Protocol::Anthropic, &answer))?;
//! session.end_turn(TurnEnd::Good).await?;
//! assert_eq!(session.newest()?.map(|message| message.said()), Some("it is in src".into()));
//! # Ok(()) }
//! ```
//!
//! `docs/guides/embed.md` has the whole of it, as one program: tools, errors, streams, a model that summarises, saving and
//! loading, undo. What stands behind this is re-exported: [`core`], [`engine`], [`tokens`], [`wire`], [`settings`], and
//! [`toml`] for settings that are tables.

#![warn(missing_debug_implementations)]

mod act;
mod answers;
mod builder;
mod error;
mod live_session;
mod saved;
mod summary_call;
mod tools;
mod turn_stop;

pub use builder::SessionBuilder;
pub use error::{BuildError, SessionError};
pub use live_session::LiveSession;
pub use summary_call::{summary_body, summary_result};
pub use turn_stop::TurnStop;

pub use epitome_core as core;
pub use epitome_engine as engine;
pub use epitome_settings as settings;
pub use epitome_tokens as tokens;
pub use epitome_wire as wire;
pub use toml;

pub use epitome_core::{Author, Block, Call, EntryId, Message, Policy, Record, Role, Tokens, ToolResult};
pub use epitome_engine::{BoxFuture, Event, Model, Ports, Step, TurnEnd, WindowChoice, WindowSource};
pub use epitome_wire::Protocol;
pub use epitome_wire::overflow::ErrorPlace;
pub use epitome_wire::protocol::{ModelReply, reply};
