//! The index of figures: what was read of each file, by its path, length and time, so that it is read once.
//!
//! It is one file in the user's cache, replaced as a whole. One that is missing, broken, of another version or made
//! with other prices is an empty one: everything in it can be read again.

use super::scan::Depth;
use super::{SessionFigures, SessionFile, home};
use crate::output::{self, Readers};
use epitome_tokens::Catalog;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};

/// Another one where figures are read otherwise.
const VERSION: u32 = 4;

/// What is known of files.
pub struct SessionIndex<'c> {
    catalog: &'c Catalog,
    place: Option<PathBuf>,
    stored: StoredIndex,
    is_changed: bool,
}

#[derive(Default, Serialize, Deserialize)]
struct StoredIndex {
    version: u32,
    /// The program and the prices it was made with.
    made_with: String,
    files: HashMap<String, StoredFile>,
}

#[derive(Clone, Serialize, Deserialize)]
struct StoredFile {
    bytes: u64,
    modified_ms: i64,
    figures: SessionFigures,
}

impl<'c> SessionIndex<'c> {
    /// The index of this user's sessions, priced by `catalog`, which `overrides` is part of.
    pub fn load(catalog: &'c Catalog, overrides: Option<&Path>) -> Self {
        let place = home::cache().map(|cache| cache.join("sessions.json"));
        let made_with = made_with(overrides);
        let text = place.as_deref().and_then(|place| std::fs::read_to_string(place).ok());
        let stored = text.and_then(|text| serde_json::from_str::<StoredIndex>(&text).ok());
        let stored = stored.filter(|stored| stored.version == VERSION && stored.made_with == made_with);
        let fresh = || StoredIndex { version: VERSION, made_with: made_with.clone(), files: HashMap::new() };
        Self { catalog, place, stored: stored.unwrap_or_else(fresh), is_changed: false }
    }

    /// What figures are priced by.
    pub fn catalog(&self) -> &'c Catalog {
        self.catalog
    }

    /// What is known of a file, where it was read as deep and has not changed since.
    pub fn get(&self, file: &SessionFile, depth: Depth) -> Option<SessionFigures> {
        let stored = self.stored.files.get(&*file.path.to_string_lossy())?;
        let is_same = stored.bytes == file.bytes && stored.modified_ms == file.modified_ms;
        let is_deep = stored.figures.is_whole || depth == Depth::Ends;
        (is_same && is_deep).then(|| stored.figures.clone())
    }

    pub fn put(&mut self, file: &SessionFile, figures: SessionFigures) {
        let (bytes, modified_ms) = (file.bytes, file.modified_ms);
        let stored = StoredFile { bytes, modified_ms, figures };
        self.stored.files.insert(file.path.to_string_lossy().into_owned(), stored);
        self.is_changed = true;
    }

    /// Writes it where something is new, without files that are gone. Where it cannot be written, the next time takes as
    /// long as this one.
    pub fn save(&mut self, listed: &[SessionFile]) {
        let Some(place) = self.place.as_deref().filter(|_| self.is_changed) else { return };
        let listed: HashSet<_> = listed.iter().map(|file| file.path.to_string_lossy()).collect();
        self.stored.files.retain(|path, _| listed.contains(&**path));
        drop(write(place, &self.stored));
    }
}

/// Replaces a file of the cache by what `value` says.
pub fn write(place: &Path, value: &impl Serialize) -> anyhow::Result<()> {
    if let Some(folder) = place.parent() {
        private_folder(folder)?;
    }
    output::write_for(Readers::Owner, Some(place), |out| Ok(serde_json::to_writer(out, value)?))
}

/// Makes a folder that only its owner reads: it holds what was asked in sessions.
fn private_folder(folder: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder)
}

/// Names the program and the user's own figures for models, which its prices come from.
fn made_with(overrides: Option<&Path>) -> String {
    let own = overrides.and_then(|path| std::fs::read(path).ok()).unwrap_or_default();
    let mut hasher = DefaultHasher::new();
    own.hash(&mut hasher);
    format!("{} {:016x}", env!("CARGO_PKG_VERSION"), hasher.finish())
}
