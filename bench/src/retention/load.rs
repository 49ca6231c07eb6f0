//! Reading transcripts: files or folders of them, compressed or not.

use super::count::O200k;
use super::session::Session;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Conversations shorter than this never reach the smallest window.
const TOKENS_MIN: u64 = 20_000;

/// The long conversations of these files, and a line on each file that could not be read.
pub fn load(paths: &[PathBuf]) -> (Vec<Session>, Vec<String>) {
    let (mut sessions, mut problems) = (Vec::new(), Vec::new());
    for path in files(paths) {
        match load_file(&path, &O200k::default()) {
            Ok(found) => sessions.extend(found.into_iter().filter(|session| session.tokens() >= TOKENS_MIN)),
            Err(why) => problems.push(format!("{}: {why}", path.display())),
        }
    }
    (sessions, problems)
}

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

/// The conversations of one file.
pub fn load_file(path: &Path, measure: &O200k) -> Result<Vec<Session>, String> {
    let bytes = unpacked(path).map_err(|error| error.to_string())?;
    let transcript = epitome_wire::read(Arc::new(bytes), None, measure).map_err(|error| error.to_string())?;
    let name = short_name(path);
    Ok(transcript.conversations.iter().filter_map(|conversation| Session::of(&name, conversation)).collect())
}

fn short_name(path: &Path) -> String {
    let file = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let folder = path.parent().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    let stem = file.split(".json").next().unwrap_or(&file).trim_end_matches(".traj").to_owned();
    folder.map_or(stem.clone(), |folder| format!("{folder}/{stem}"))
}
