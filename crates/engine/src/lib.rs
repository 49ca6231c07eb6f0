//! Doing it: sessions that grow, are checked before each call and compacted when that is due, and
//! transcripts replayed through them.
//!
//! What touches the world comes in through ports: originals through an archive, time through [`Clock`].
//!
//! ```
//! use epitome_core::{Author, Budget, Expressible, Log, Message, Policy, Role, Settings, Shelf, Tokens, Trigger};
//! use epitome_engine::{Clock, Gauge, Session, Setup};
//! use epitome_tokens::{Catalog, Counter};
//!
//! struct Stopped;
//! impl Clock for Stopped {
//!     fn now(&self) -> std::time::Duration {
//!         std::time::Duration::ZERO
//!     }
//! }
//!
//! let settings: Settings = toml::from_str(include_str!("../../../presets/default.toml"))?;
//! let policy = Policy::try_from(settings)?;
//! let gauge = Gauge(Counter::for_model(&Catalog::built_in().find("gpt-5")));
//! let shelf = Shelf::default();
//! let mut session = Session::new(
//!     Log::default(),
//!     Setup {
//!         archive: &shelf,
//!         measure: &gauge,
//!         count_method: "o200k_base",
//!         budget: Budget::new(Tokens(4_000), Tokens(0), Tokens(500)),
//!         policy: &policy,
//!         can: Expressible::ALL,
//!         focus: None,
//!         pins: &[],
//!         clock: &Stopped,
//!     },
//! );
//! while !session.check().is_due {
//!     let asked = "please never touch config.toml; read src/lib.rs and tell me what parse_header does";
//!     session.say(&shelf, Message::text(Role::User, Author::Person, asked))?;
//!     session.say(&shelf, Message::text(Role::Assistant, Author::Model, "it splits the header at each colon"))?;
//! }
//! let report = session.compact(Trigger::Threshold)?;
//! assert!(report.tokens_after < report.tokens_before && !session.check().is_due);
//! assert!(session.shown()?.len() < session.history().len());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod gauge;
mod replay;
mod report;
mod session;

pub use gauge::Gauge;
pub use replay::{Call, replay};
pub use report::{Happened, Made, Report};
pub use session::{Check, Clock, EngineError, Session, Setup};
