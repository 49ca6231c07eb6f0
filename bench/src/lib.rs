//! Benchmarks.

pub mod retention;
