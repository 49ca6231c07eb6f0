//! What `--from` and `--to` take, made from the table of formats.

use crate::draw::alternatives;
use epitome_wire::{FORMATS, Format, Protocol, UnknownFormat};
use std::str::FromStr;

/// Asks for the format to be found out.
pub const AUTO: &str = "auto";

/// A format, or none where it is to be found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FromFormat(pub Option<Format>);

impl FromStr for FromFormat {
    type Err = UnknownFormat;
    fn from_str(name: &str) -> Result<Self, UnknownFormat> {
        if name == AUTO { Ok(Self(None)) } else { name.parse().map(|format| Self(Some(format))) }
    }
}

/// The help of `--from`.
pub fn from_help() -> String {
    let names = [AUTO].into_iter().chain(FORMATS.iter().map(|row| row.name));
    format!("The transcript's format: {}", alternatives(names))
}

/// The help of a `--to` that takes any format that is written.
pub fn to_help() -> String {
    let names = [Format::Native.name()].into_iter().chain(Protocol::ALL.map(Protocol::name));
    format!(
        "The format to write: the transcript's own where its tool can resume from it, or {}",
        alternatives(names)
    )
}

/// The help of the `--to` of an export.
pub fn export_help() -> String {
    let names = [Format::Native.name()].into_iter().chain(Protocol::ALL.map(Protocol::name));
    format!(
        "The format to write: the one the session came in where nothing was added, or its tool can resume from it; else {}",
        alternatives(names)
    )
}

/// The help of a `--to` that takes a protocol.
pub fn protocol_help() -> String {
    format!("The protocol to write: {}", alternatives(Protocol::ALL.map(Protocol::name).into_iter()))
}
