//! How much of what a session needs later survives a compaction, by method and window.
//!
//! Each transcript is walked as its agent walked it. Before the reply that finds the context 80 %
//! full, every method compacts to the same size, a quarter of the window; what the rest of the real
//! session then uses is looked up in what the method kept. The extractor of facts is the product's
//! own; what counts as *used* is decided here, from later actions alone.

pub mod chart;
pub mod contexts;
pub mod count;
pub mod future;
pub mod labels;
pub mod load;
pub mod score;
pub mod sentences;
pub mod session;
pub mod walk;
pub mod words;
