//! The embedded summariser.
