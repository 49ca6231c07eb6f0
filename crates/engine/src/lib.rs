//! Doing it: sessions that grow, are checked before each call and compacted when that is due, and
//! transcripts replayed through them.
//!
//! What touches the world comes in through ports: originals through an archive, time through [`Clock`].
//!
//! ```
//! use epitome_core::{Author, Budget, Expressible, Log, Message, Policy, Role, Shelf, Tokens, Trigger};
//! use epitome_engine::{Asks, Gauge, Session, Setup, Stopped};
//! use epitome_tokens::{Catalog, Counter};
//! use std::sync::Arc;
//!
//! let gauge = Gauge(Counter::for_model(&Catalog::built_in().find("gpt-5")));
//! let shelf = Arc::new(Shelf::default());
//! let mut session = Session::new(
//!     Log::default(),
//!     Setup {
//!         archive: shelf.clone(),
//!         measure: Arc::new(gauge),
//!         count_method: "o200k_base".into(),
//!         budget: Budget::new(Tokens(4_000), Tokens(0), Tokens(500)),
//!         policy: Arc::new(Policy::default()),
//!         can: Expressible::ALL,
//!         focus: None,
//!         pins: Vec::new(),
//!         clock: Arc::new(Stopped),
//!         asks: Asks::default(),
//!     },
//! );
//! while !session.check().is_due {
//!     let asked = "please never touch config.toml; read src/lib.rs and tell me what parse_header does";
//!     session.say(&shelf, Message::text(Role::User, Author::Person, asked))?;
//!     session.say(&shelf, Message::text(Role::Assistant, Author::Model, "it splits the header at each colon"))?;
//! }
//! let report = session.compact_now(Trigger::Threshold)?;
//! assert!(report.tokens_after < report.tokens_before && !session.check().is_due);
//! assert!(session.shown()?.len() < session.history().len());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod background;
mod branch;
mod breaker;
mod committing;
mod compacting;
mod count;
mod event;
mod gauge;
mod inbox;
mod judgement;
mod port;
mod prepass;
mod preview;
mod progress;
mod recover;
mod replay;
mod report;
mod restore;
mod session;
mod setup;
mod sketch;
mod speculate;
mod switch;
mod tally;
mod thresholds;
mod watch;
mod window;

pub use background::{Background, Spawn};
pub use branch::{Farewell, Leaving, Moved, is_branch_summary};
pub use breaker::Breaker;
pub use compacting::{Begun, Paused, Wish, now};
pub use count::measure_for;
pub use event::Event;
pub use gauge::Gauge;
pub use inbox::{Inbox, InboxFull};
pub use judgement::{Flag, Judgement};
pub use port::{Clock, FileNow, Hook, Model, Pending, Restorer, Stopped};
pub use recover::Recovery;
pub use replay::{Call, replay, replay_asking};
pub use report::{Happened, Made, Report};
pub use restore::Restored;
pub use session::{EngineError, Phase, Session};
pub use setup::{Asks, Setup, TwoCompactors};
pub use sketch::{Sketch, SketchedCalls};
pub use speculate::{Ready, Speculation};
pub use thresholds::Thresholds;
pub use watch::{Check, FigureSource, Point};
pub use window::{Known, NoWindow, Window, WindowFrom};
