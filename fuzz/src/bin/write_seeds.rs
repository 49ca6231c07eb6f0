//! Writes what each target starts from: small files of every format, cut from real ones.

#[path = "../../../crates/wire/tests/mutations/seeds.rs"]
mod seeds;

use epitome_core::ZeroMeasure;
use epitome_wire::{Format, ReadError, Transcript, read};
use std::path::Path;
use std::sync::Arc;
use std::{fs, io};

/// Real sessions, seen from this package.
const CORPUS: &str = "../corpus";

fn read_as(from: Option<Format>, bytes: &[u8]) -> Result<Transcript, ReadError> {
    read(Arc::new(bytes.to_vec()), from, &ZeroMeasure)
}

fn main() -> io::Result<()> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    for (number, seed) in seeds::seeds().into_iter().enumerate() {
        let reader = format!("read_{}", seed.format.name().replace('-', "_"));
        for target in [reader.as_str(), "detect", "native_undo"] {
            fs::create_dir_all(corpus.join(target))?;
            fs::write(corpus.join(target).join(format!("seed-{number}")), &seed.bytes)?;
        }
    }
    Ok(())
}
