//! Settings: from what people wrote in many places to one checked policy that knows who said what.
//!
//! Pure: texts come in, values go out. Weakest first: a preset (built in, or the operator's own), the user's `epitome.toml`, the
//! project's, the agent's file (after those it inherits from), tables for the model at work, the environment,
//! flags, and overrides for one call. Values are merged key by key, so that what is not said differs from
//! what is said to be the default.
//!
//! ```
//! use epitome_settings::{Sources, SourceText, resolve};
//!
//! let text = "preset = \"pi\"\n[trigger]\nat = \"70%\"".to_owned();
//! let project = Some(SourceText { name: "epitome.toml".into(), text });
//! let resolved = resolve(&Sources { project, ..Sources::default() })?;
//! assert_eq!(resolved.policy.trigger.at.to_string(), "70%");
//! assert_eq!(resolved.source("trigger.at").map(ToString::to_string), Some("epitome.toml: trigger.at".into()));
//! assert_eq!(resolved.source("keep.newest").map(ToString::to_string), Some("preset pi".into()));
//! # Ok::<(), epitome_settings::SettingsError>(())
//! ```

#![warn(missing_debug_implementations)]

mod agent;
mod doors;
mod environment;
mod error;
mod file;
pub mod foreign;
mod layer;
mod live;
mod nearest;
pub mod preset;
pub mod prompts;
mod resolve;
pub mod schema;
mod span;
mod store;
mod together;

pub use agent::parent;
pub use error::SettingsError;
pub use file::{ServerTables, SourceText};
pub use layer::{Leaf, SettingOrigin, SettingSource};
pub use live::{FileStamp, Files, LivePolicy, PolicyFiles};
pub use preset::{OwnPreset, Presets};
pub use resolve::{FlagValue, ResolvedPolicy, Sources, resolve};
pub use schema::Door;
pub use span::{parse_size, parse_span};
pub use store::{STORE_KEYS, StoreSettings};
