//! epitome-core.
