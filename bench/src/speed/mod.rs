//! Speed: how long each part of a compaction takes, and how that grows with the session.

pub mod figures;
pub mod file;
pub mod session;
