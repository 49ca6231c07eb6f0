//! Benchmarks.

pub mod retention;
pub mod speed;
