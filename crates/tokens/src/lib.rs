//! epitome-tokens.
