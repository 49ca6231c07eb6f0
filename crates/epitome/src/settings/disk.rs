//! Settings' files as they lie on disk.

use epitome_settings::{FileStamp, Files};
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// Settings and prompts are written by hand; a file longer than this is something else.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// The files of this machine.
#[derive(Clone, Copy, Debug)]
pub struct Disk;

impl Files for Disk {
    fn stamp(&self, path: &Path) -> Option<FileStamp> {
        let about = fs::metadata(path).ok()?;
        let written = about.modified().ok()?.duration_since(UNIX_EPOCH).unwrap_or_default();
        Some(FileStamp { written, bytes: about.len() })
    }

    fn read(&self, path: &Path) -> Result<String, String> {
        read(path).map_err(|error| error.to_string())
    }

    fn list(&self, folder: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).into_iter().flatten();
        let mut found: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        found.retain(|path| path.extension().is_some_and(|ending| ending == "toml") && path.is_file());
        found.sort();
        found
    }
}

/// What a file holds, where it can be one that someone wrote by hand.
pub fn read(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(FILE_BYTES_MAX + 1).read_to_string(&mut text)?;
    if text.len() as u64 > FILE_BYTES_MAX {
        return Err(io::Error::other(format!("it is longer than {FILE_BYTES_MAX} bytes")));
    }
    Ok(text)
}

/// Writes a file that is not there yet, and the folders above it; whether it was written.
pub fn write_new(path: &Path, text: &str) -> io::Result<bool> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    match File::create_new(path) {
        Ok(mut file) => io::Write::write_all(&mut file, text.as_bytes()).map(|()| true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}
