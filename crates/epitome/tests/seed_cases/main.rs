//! The cases of the systems that epitome reproduces, through the doors of the program: real processes, a scripted
//! provider on a loopback socket, and files as those systems write them. A test's name begins with the number of its case,
//! and the line above it names its door.

mod aura;
mod claude_code;
mod door;
mod kaged;
mod omp;
mod operator_use;
mod pi;
#[path = "../serve/stage.rs"]
#[allow(dead_code, reason = "the tests of the proxy use the rest")]
mod stage;
mod transcripts;
