//! Facts a machine can check.
