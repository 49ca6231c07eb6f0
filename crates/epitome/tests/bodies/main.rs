//! Request bodies through the program: in their own protocol true to the byte, in another with nothing lost unsaid.

mod cut;
mod large;
mod parts;

use epitome_wire::Protocol;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};

/// What the program makes of a file: standard output and standard error.
fn epitome(args: &[&str]) -> (Vec<u8>, String) {
    let Output { status, stdout, stderr } =
        Command::new(env!("CARGO_BIN_EXE_epitome")).args(args).output().expect("the program runs");
    let stderr = String::from_utf8(stderr).expect("UTF-8");
    assert!(status.success(), "{args:?}: {stderr}");
    (stdout, stderr)
}

/// A file in a folder of its own.
struct BodyFile {
    folder: tempfile::TempDir,
}

impl BodyFile {
    fn of(body: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder can be made");
        std::fs::write(folder.path().join("body.json"), body).expect("it can be written");
        Self { folder }
    }

    fn path(&self) -> String {
        self.beside("body.json")
    }

    fn beside(&self, name: &str) -> String {
        Path::new(self.folder.path()).join(name).to_str().expect("UTF-8").to_owned()
    }
}

/// The name of the field that holds the messages.
fn list_field(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Anthropic | Protocol::OpenaiChat => "messages",
        Protocol::OpenaiResponses => "input",
    }
}

/// The elements of a body's list, as they stand in it.
fn elements(protocol: Protocol, body: &str) -> Vec<String> {
    let fields: BTreeMap<String, &RawValue> = serde_json::from_str(body).expect("a body");
    let list: Vec<&RawValue> = serde_json::from_str(fields[list_field(protocol)].get()).expect("a list");
    list.into_iter().map(|element| element.get().to_owned()).collect()
}

/// Every string in a value, however deep.
fn strings(value: &Value, found: &mut String) {
    match value {
        Value::String(text) => {
            found.push_str(text);
            found.push('\n');
        }
        Value::Array(values) => values.iter().for_each(|value| strings(value, found)),
        Value::Object(fields) => fields.values().for_each(|value| strings(value, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
