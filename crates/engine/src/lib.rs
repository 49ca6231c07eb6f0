//! Doing it: sessions that grow, are checked before each call and compacted when that is due, and
//! transcripts replayed through them.
//!
//! What touches the world comes in through ports: originals through an archive, time through [`Clock`].

mod gauge;
mod replay;
mod report;
mod session;

pub use gauge::Gauge;
pub use replay::{Call, replay};
pub use report::{Happened, Made, Report};
pub use session::{Check, Clock, EngineError, Session, Setup};
