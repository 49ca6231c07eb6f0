//! The house in order: how files open, how long they and their functions are, what may depend on what,
//! and that documents keep up with the program.

mod documents;
mod source;

use std::fs;
use std::path::{Path, PathBuf};

/// The repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A file of the repository, by its path in it.
fn text(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The Rust files below a folder, by their path in the repository, with their text.
fn rust_files(folder: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    walk(&root().join(folder), &mut found);
    found.sort();
    found.retain(|path| path.extension().is_some_and(|ending| ending == "rs"));
    let name = |path: &Path| path.strip_prefix(root()).expect("below the root").display().to_string();
    found.iter().map(|path| (name(path), fs::read_to_string(path).expect("source is text"))).collect()
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        if path.is_dir() { walk(&path, found) } else { found.push(path) }
    }
}

/// The folders of our crates, with their names.
fn crates() -> Vec<String> {
    let all = fs::read_dir(root().join("crates")).expect("there are crates");
    let names = all.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> =
        names.filter(|name| root().join("crates").join(name).join("Cargo.toml").exists()).collect();
    names.sort();
    names
}

/// Source that ships: every crate's `src`, and the benchmarks'.
fn shipped() -> Vec<(String, String)> {
    let folders = crates().into_iter().map(|name| format!("crates/{name}/src"));
    folders.chain(["bench/src".to_owned()]).flat_map(|folder| rust_files(&folder)).collect()
}

/// Tests that stand in files of their own.
fn tests() -> Vec<(String, String)> {
    let folders = crates().into_iter().map(|name| format!("crates/{name}/tests"));
    folders.chain(["bench/tests".to_owned()]).flat_map(|folder| rust_files(&folder)).collect()
}

/// Fails with everything that is wrong, not only the first.
fn none_of(faults: Vec<String>) {
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}
