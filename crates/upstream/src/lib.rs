//! A scripted stand-in for model providers, for tests and demonstrations.
//!
//! It speaks Anthropic Messages, OpenAI Chat Completions and OpenAI Responses, whole and streamed, in the
//! providers' own shapes. Requests are checked by the strict validators, counted with the model's counter
//! and held against a window; answers come from a recording, from a small agent, or go wrong as told.
//! What a client makes of all this is left to the client.

mod agent;
mod answer;
mod cache;
mod chain;
mod complaint;
mod dice;
mod endpoint;
mod mishap;
mod models;
mod order;
mod overflow;
mod parsed_request;
mod plan;
mod prompt;
mod provider;
mod recording;
mod refusal;
mod reply;
mod report;
mod script;
mod seal;
mod serve;
mod server;
mod summary;
mod tool;
mod upstream;
mod write;

pub use endpoint::Kind;
pub use order::{Fault, Order};
pub use overflow::{ERROR_ROWS, ErrorRow, Style};
pub use plan::Plan;
pub use recording::{Recording, RecordingError};
pub use refusal::Strictness;
pub use report::{Breach, NOTES_MAX, REQUESTS_MAX, Recorded, Report, credential_hash};
pub use script::{Keep, Place, Script};
pub use seal::Binding;
pub use upstream::{Handle, Upstream};
