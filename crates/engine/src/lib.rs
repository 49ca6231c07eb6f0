//! The engine: sessions over a log, the driver that puts a plan's questions to models, hooks and operators, and the port
//! to a store. What a compaction is, is `core`'s.
//!
//! From pure to wired: a [`Timeline`] is derived from a log; a [`Session`] adds policy and budget ([`Assembly`]
//! chooses them, alone); a [`Driver`] puts a plan's questions to the [`Ports`]; a [`store::Store`] keeps what was
//! appended; an [`Engine`] joins them for many sessions at once. Whoever embeds one session in an agent's loop finds all of
//! this ready in `epitome-session`. With the feature `tokio`, a `TokioRuntime` is their clock, and runs what is done in the
//! background; what takes the processor is given to its `off_executor`.
//!
//! ```
//! use epitome_core::{Author, Message, Policy, Role, Tokens, Trigger};
//! use epitome_engine::{Assembly, Driver, Session, WindowFacts};
//! use epitome_tokens::Catalog;
//!
//! # futures_util::FutureExt::now_or_never(async {
//! let stated = WindowFacts { stated: Some(Tokens(8_000)), ..WindowFacts::default() };
//! let model = Catalog::built_in().find("gpt-5");
//! let mut session = Session::empty(Assembly::new(Policy::default().into(), model, stated)?);
//! let driver = Driver::default(); // asks nobody: the embedded summariser writes
//! for _ in 0..200 {
//!     let asked = "please never touch config.toml; read src/lib.rs and tell me what parse_header does";
//!     session.append(Message::text(Role::User, Author::Person, asked))?;
//!     driver.prepare(&mut session).await?; // before each call
//!     let context = session.shown()?; // what to send
//!     session.append(Message::text(Role::Assistant, Author::Model, "it splits the header at each colon"))?;
//! #   assert!(session.check().tokens < Tokens(8_000) && !context.is_empty());
//! }
//! assert!(!session.compactions().is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).expect("nobody was asked")?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![warn(missing_debug_implementations)]

mod assembly;
mod branch;
mod breaker;
mod calibration;
mod check;
mod count;
mod debug;
mod driver;
mod engine;
mod error;
mod event;
mod far_ledger;
mod fixed_size;
mod growth_tracker;
mod live_part;
mod ports;
mod pre_passes;
mod read_ahead;
mod recorded_calls;
mod remedy;
mod replay;
mod restore;
mod session;
mod speculation;
pub mod store;
mod timeline;
#[cfg(feature = "tokio")]
mod tokio_runtime;
mod unrecorded_part;
mod usage_anchor;
mod view_tally;
mod window_evidence;

pub use assembly::{Assembly, NoWindow, RefusalFigures, Thresholds, WindowChoice, WindowFacts, WindowSource};
pub use branch::{BranchDifference, BranchExit, NavigationOutcome, is_branch_summary};
pub use breaker::Breaker;
pub use calibration::{CalibrationTable, SharedCalibration};
pub use check::{Check, FigureSource, LookPoint, Permission};
pub use count::{ModelMeasure, measure_for};
pub use driver::{AskScope, CompactOptions, Driver, PlanSketch, Recovery, SketchedCalls, TurnEnd};

pub use engine::{Checkout, Engine, HashedMessages, InputPlace, PreparedSession};
pub use error::{EngineError, TimelineError};
pub use event::Event;
pub use live_part::LivePart;
pub use ports::{
    BoxFuture, Clock, FileNow, FrozenClock, Hook, HookRole, Model, Operator, Ports, RequestWaiter, Restorer,
    Spawn, SummaryModel, TwoCompactors, Waiter,
};
pub use recorded_calls::RecordedCalls;
pub use remedy::{Remedy, RemedyEffect};
pub use replay::{ReplayInput, ReplayedCall, replay};
pub use session::{AppendedEntry, Phase, Session, SessionOptions, Step};
pub use speculation::{Background, PreparedCompaction, Speculation};
pub use timeline::{Lens, Timeline};
#[cfg(feature = "tokio")]
pub use tokio_runtime::{LostWork, NoRuntime, TokioRuntime};
pub use window_evidence::WindowEvidence;
