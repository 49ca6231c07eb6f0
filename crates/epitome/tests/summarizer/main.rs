//! Summaries by a model, at the command line: the program itself, real transcripts, and a scripted provider
//! on a loopback socket.

mod dry;
mod failures;
mod hybrid;
mod presets;
mod ranges;
mod serve;
mod sources;
mod stage;
