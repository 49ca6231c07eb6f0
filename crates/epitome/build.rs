//! Facts of a build that the program tells of itself: commit, profile, target, compiler, and the licences of the crates
//! in it, as their own manifests say them. Nothing is fetched; what cannot be found out is left empty.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // A file that is not there would have this run at every build.
    let head = output("git", &["rev-parse", "--git-path", "logs/HEAD"]).unwrap_or_default();
    for file in ["../../Cargo.lock", &head].into_iter().filter(|file| Path::new(file).is_file()) {
        println!("cargo::rerun-if-changed={file}");
    }
    let variable = |name: &str| env::var(name).unwrap_or_default();
    let commit = output("git", &["rev-parse", "--short=12", "HEAD"]).unwrap_or_default();
    println!("cargo::rustc-env=EPITOME_COMMIT={commit}");
    println!("cargo::rustc-env=EPITOME_PROFILE={}", variable("PROFILE"));
    println!("cargo::rustc-env=EPITOME_TARGET={}", variable("TARGET"));
    let rustc = output(&variable("RUSTC"), &["--version"]).unwrap_or_default();
    println!("cargo::rustc-env=EPITOME_RUSTC={rustc}");
    let list: String = licences().iter().map(|(name, licence)| format!("{licence}\t{name}\n")).collect();
    let out = PathBuf::from(variable("OUT_DIR"));
    fs::write(out.join("licences.txt"), list).expect("the build's own folder can be written to");
}

/// What a program prints, where it can be run here.
fn output(program: &str, args: &[&str]) -> Option<String> {
    let run = Command::new(program).args(args).output().ok()?;
    run.status.success().then(|| String::from_utf8_lossy(&run.stdout).trim().to_owned())
}

/// The licence of each crate that the program is made of, by name and version.
fn licences() -> BTreeMap<String, String> {
    let tree =
        ["tree", "--locked", "--offline", "--edges", "normal", "--prefix", "none", "--format", "{p}\t{l}"];
    let listed = output(&env::var("CARGO").unwrap_or_else(|_| "cargo".into()), &tree);
    let lines: BTreeSet<String> = listed.unwrap_or_default().lines().map(str::to_owned).collect();
    let parsed = lines.iter().filter_map(|line| line.split_once('\t'));
    parsed.map(|(name, licence)| (crate_name(name), plain(licence))).collect()
}

/// A name and a version; where the source lies is this machine's.
fn crate_name(listed: &str) -> String {
    let mut words = listed.split(' ');
    let (name, version) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    format!("{name} {}", version.trim_start_matches('v'))
}

/// One spelling for one licence.
fn plain(licence: &str) -> String {
    let licence = licence.trim_end_matches(" (*)").trim();
    if licence.is_empty() {
        return "unknown".to_owned();
    }
    // An expression of several levels stays as it is.
    if licence.contains('(') || licence.contains(" AND ") {
        return licence.to_owned();
    }
    let mut parts: Vec<&str> =
        licence.split(" OR ").flat_map(|part| part.split('/')).map(str::trim).collect();
    parts.sort_by_key(|part| (Path::new(part) != Path::new("MIT"), *part));
    parts.join(" OR ")
}
