//! Calling models: the engine's `Model` port over HTTP.
//!
//! A [`Provider`] speaks Anthropic Messages, OpenAI Chat Completions or OpenAI Responses with any address
//! that serves them. It streams, retries hiccups within bounds, learns windows from refusals, prices what
//! it spent, and hands everything else to the core as a [`Failure`](epitome_core::Failure). How bodies are
//! written and replies are read is `epitome_wire`'s; whether a summary is any good is the core's.
//!
//! ```
//! use epitome_engine::{Model, FrozenClock};
//! use epitome_provider::{Aliases, World};
//! use epitome_tokens::Catalog;
//! use std::sync::Arc;
//!
//! let aliases: Aliases = toml::from_str(
//!     r#"
//!     [cheap]
//!     provider = "ollama"
//!     model = "qwen3:8b"
//!     window = 32768
//!     "#,
//! )?;
//! let world = World::new(Arc::new(FrozenClock))?;
//! let no_environment = |_: &str| None;
//! let provider = aliases.provider("cheap", Catalog::built_in(), &no_environment, &world)?;
//! assert_eq!((provider.name(), provider.window().0), ("cheap", 32_768));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod alias;
mod attempt;
mod body;
mod call;
mod explain;
mod judge;
mod key;
mod limits;
mod options;
mod prefix;
mod provider;
mod retry;
mod service;

pub use alias::{Alias, AliasError, Aliases};
pub use key::{ApiKey, Credential};
pub use limits::{Dice, Entropy, Limits};
pub use options::Effort;
pub use prefix::LastRequest;
pub use provider::{Provider, ProviderSetup, World, WorldError};
pub use service::Service;
