//! Counting tokens, and knowing the models they are counted for.
//!
//! A [`Counter`] counts with the model's own tokenizer where it is published, and estimates where it
//! is not; either way it says which ([`Method`]). A [`Calibration`] corrects estimates by the usage a
//! provider reports. The [`Catalog`] knows windows, prices and image rules, and where each figure
//! comes from. Nothing here touches a clock, a file or the network: what it needs is handed in.
//! What a context is and when it must shrink is left to other crates; so are protocols.

pub mod estimate;

pub use estimate::{Family, Running, estimate};
