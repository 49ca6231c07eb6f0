//! What always holds of a summary.
