//! A bed for tests: a session under a preset, with a scripted model, scripted hooks and a clock that
//! moves only when someone waits. Nothing takes time and nothing is random, so whole values can be
//! asserted on.
//!
//! ```
//! use epitome_core::Trigger;
//! use epitome_testbed::Bed;
//!
//! let mut bed = Bed::new("aura", 100_000);
//! bed.talk(20, 500); // twenty messages of 500 tokens
//! let record = bed.compact(Trigger::Manual);
//! assert_eq!(record.change().map(|change| change.superseded.len()), Some(10));
//! assert_eq!(bed.model.requests().len(), 1);
//! ```

mod bed;
mod clock;
mod gauge;
mod hook;
mod model;
mod operator;
mod outcome;
mod postgres;
mod scene;
pub mod stores;
mod test_store;

pub use bed::{Bed, Maker, now};
pub use clock::TestClock;
pub use gauge::Quarter;
pub use hook::TestHook;
pub use model::{TestModel, cut_off, empty, failed, good, tool_call, written};
pub use operator::TestOperator;
pub use outcome::{change, word};
pub use postgres::TestPostgres;
pub use scene::{compact, compacted, due, stubborn, summary};
pub use test_store::TestStore;
