//! The upstream from outside: a plain HTTP client on a real socket.

mod cache;
mod checks;
mod client;
mod faults;
mod program;
mod protocols;
mod readers;
mod replay;
mod summaries;
mod window;
