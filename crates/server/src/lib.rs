//! The proxy: agents point their base URL at it, and their contexts fit.
