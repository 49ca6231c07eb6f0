//! epitome-engine.
