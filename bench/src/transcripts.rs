//! Transcripts on disk: files or folders of them, compressed or not.

use std::fs;
use std::path::{Path, PathBuf};

/// The files below these paths, in order of their names.
pub fn files(paths: &[PathBuf]) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for path in paths {
        if path.is_dir() {
            let below = fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
            let mut below: Vec<PathBuf> = below.collect();
            below.sort();
            all.extend(files(&below));
        } else if is_transcript(path) {
            all.push(path.clone());
        }
    }
    all
}

fn is_transcript(path: &Path) -> bool {
    let name = path.to_string_lossy();
    let name = name.trim_end_matches(".zst");
    name.ends_with(".jsonl") || name.ends_with(".json")
}

/// The bytes of a file, unpacked where it is compressed.
pub fn unpacked(path: &Path) -> std::io::Result<Vec<u8>> {
    let bytes = fs::read(path)?;
    if path.extension().is_some_and(|ending| ending == "zst") { zstd::decode_all(&*bytes) } else { Ok(bytes) }
}
