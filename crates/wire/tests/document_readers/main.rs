//! The readers of whole documents and request bodies: on real files, on small ones, and on bad ones.

mod broken;
mod corpus;
mod detection;
#[path = "../reading/mod.rs"]
mod reading;
mod samples;
#[path = "../words/mod.rs"]
mod words;

use epitome_wire::{Format, ReadError, Transcript, read};
use reading::ByteMeasure;
use std::sync::Arc;

/// The one place that calls the reader.
fn read_as(from: Option<Format>, bytes: &[u8]) -> Result<Transcript, ReadError> {
    read(Arc::new(bytes.to_vec()), from, &ByteMeasure)
}
