//! The program as a process, from its arguments to what it printed.

use serde_json::Value;
use std::process::{Command, Output};

pub(crate) fn epitome(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_epitome")).args(args).output().expect("the program runs")
}

/// What the program printed; it must have succeeded.
pub(crate) fn printed(args: &[&str]) -> Vec<u8> {
    let output = epitome(args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// The same, where it is JSON.
pub(crate) fn parsed(args: &[&str]) -> Value {
    serde_json::from_slice(&printed(args)).unwrap_or_else(|error| panic!("{args:?}: {error}"))
}
