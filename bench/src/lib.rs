//! Benchmarks.

pub mod speed;
pub mod transcripts;
