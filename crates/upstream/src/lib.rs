//! A scripted stand-in for model providers.
