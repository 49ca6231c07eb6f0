//! The file ledger against ledgers made by hand.

use super::count::O200k;
use super::load::load_file;
use epitome_core::ledger::{Ledger, Operation};
use serde::Deserialize;
use std::collections::HashSet;
use std::fs;
use std::path::Path;

/// A ledger made by hand.
#[derive(Deserialize)]
struct Label {
    transcript: String,
    files: Vec<Labelled>,
    #[serde(default)]
    same_file: Vec<SameFile>,
    #[serde(default)]
    ignore: Vec<String>,
}

/// One file that calls wrote in several ways.
#[derive(Deserialize)]
struct SameFile {
    paths: Vec<String>,
    last: Operation,
}

impl Label {
    /// What was last done to a labelled file, under any of its paths.
    fn last(&self, file: &Labelled) -> Operation {
        let same = self.same_file.iter().find(|same| same.paths.contains(&file.path));
        same.map_or(file.last, |same| same.last)
    }
}

#[derive(Deserialize)]
struct Labelled {
    path: String,
    read: bool,
    created: bool,
    modified: bool,
    deleted: bool,
    last: Operation,
    doubt: Option<String>,
}

/// How a computed ledger compares.
pub struct Match {
    /// The transcript.
    pub transcript: String,
    /// F1 over pairs of path and operation.
    pub operations: f64,
    /// F1 over pairs of path and last operation.
    pub last: f64,
    /// What is only in one of the two: `-` missing, `+` too much.
    pub differences: Vec<String>,
}

/// Compares each label file of a folder with the ledger of its transcript in the corpus.
pub fn compare(labels: &Path, corpus: &Path) -> Vec<Result<Match, String>> {
    let entries = fs::read_dir(labels).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<_> = entries.filter(|path| path.extension().is_some_and(|e| e == "json")).collect();
    files.sort();
    files.iter().map(|file| compare_one(file, corpus)).collect()
}

fn compare_one(file: &Path, corpus: &Path) -> Result<Match, String> {
    let text = fs::read_to_string(file).map_err(|error| error.to_string())?;
    let label: Label = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let path = corpus.join(format!("{}.zst", label.transcript));
    let sessions =
        load_file(&path, &O200k::default()).map_err(|why| format!("{}: {why}", label.transcript))?;
    // Labels are of the main thread, which stands first; sidechains follow.
    let session = sessions.first().ok_or_else(|| format!("{}: no conversation", label.transcript))?;
    let ledger = Ledger::of(session.messages.iter().map(|said| (said.id, &*said.message)));
    Ok(matched(label, &ledger))
}

fn matched(label: Label, ledger: &Ledger) -> Match {
    // The ledger has one path for one file, whichever of them a call wrote.
    let spelled =
        |path: &str| ledger.file(path).map_or_else(|| path.to_owned(), |file| file.path.to_string());
    let doubtful = label.files.iter().filter(|file| file.doubt.is_some()).map(|file| file.path.as_str());
    let left_out: HashSet<String> =
        doubtful.chain(label.ignore.iter().map(String::as_str)).map(spelled).collect();
    let (mut truth, mut truth_last) = (HashSet::new(), HashSet::new());
    for file in label.files.iter().filter(|file| !left_out.contains(&spelled(&file.path))) {
        let path = spelled(&file.path);
        truth_last.insert((path.clone(), label.last(file)));
        truth.extend(operations(&path, file.read, file.created, file.modified, file.deleted));
    }
    let (mut ours, mut ours_last) = (HashSet::new(), HashSet::new());
    for file in ledger.files.iter().filter(|file| !left_out.contains(&*file.path)) {
        ours_last.insert((file.path.to_string(), file.last));
        ours.extend(operations(&file.path, file.read, file.created, file.modified, file.deleted));
    }
    let mut differences: Vec<String> =
        truth.difference(&ours).map(|(path, op)| format!("- {op:?} {path}")).collect();
    differences.extend(ours.difference(&truth).map(|(path, op)| format!("+ {op:?} {path}")));
    differences.sort();
    Match {
        transcript: label.transcript.clone(),
        operations: f1(&truth, &ours),
        last: f1(&truth_last, &ours_last),
        differences,
    }
}

fn operations(
    path: &str,
    read: bool,
    created: bool,
    modified: bool,
    deleted: bool,
) -> Vec<(String, Operation)> {
    let flags = [
        (read, Operation::Read),
        (created, Operation::Created),
        (modified, Operation::Modified),
        (deleted, Operation::Deleted),
    ];
    flags
        .into_iter()
        .filter(|(is_set, _)| *is_set)
        .map(|(_, operation)| (path.to_owned(), operation))
        .collect()
}

fn f1(truth: &HashSet<(String, Operation)>, ours: &HashSet<(String, Operation)>) -> f64 {
    let both = truth.intersection(ours).count() as f64;
    if truth.is_empty() && ours.is_empty() { 1.0 } else { 2.0 * both / (truth.len() + ours.len()) as f64 }
}
