//! epitome-wire.
