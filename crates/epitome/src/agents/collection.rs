//! The sessions of this machine put together: listed, read as deep as somebody needs, several at a time, and kept in
//! the index.

use super::index::SessionIndex;
use super::scan::scan;
use super::{IdPlace, SessionFigures, SessionFile, list};
use epitome_tokens::Catalog;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

pub use super::scan::Depth;

/// More threads than this wait for the disk and for each other.
const THREADS_MAX: usize = 8;

/// A session, and what is known of it.
#[derive(Clone, Debug)]
pub struct FoundSession {
    pub file: SessionFile,
    pub figures: SessionFigures,
}

impl FoundSession {
    /// The id that its agent opens it by.
    pub fn id(&self) -> &str {
        match self.file.agent.row().id {
            IdPlace::FileName => &self.file.id,
            IdPlace::Record => self.figures.id.as_deref().unwrap_or(&self.file.id),
        }
    }

    /// What people know it by: the name somebody gave it, else what was asked first.
    pub fn title(&self) -> Option<&str> {
        self.figures.title.as_deref().or(self.figures.prompt.as_deref())
    }
}

/// The files of all sessions, the newest first, and what is known of them.
pub struct SessionCollection<'c> {
    pub files: Vec<SessionFile>,
    index: SessionIndex<'c>,
}

impl<'c> SessionCollection<'c> {
    /// Lists what there is; nothing is read but the index.
    pub fn gather(catalog: &'c Catalog, overrides: Option<&Path>) -> Self {
        let index = SessionIndex::load(catalog, overrides);
        let mut files = list(&index);
        files.sort_by(|a, b| b.modified_ms.cmp(&a.modified_ms).then_with(|| a.path.cmp(&b.path)));
        Self { files, index }
    }

    /// What is known of these files, read where it has to be. What cannot be read, or holds nothing that anybody said, is
    /// left out.
    pub fn read(&mut self, files: &[SessionFile], depth: Depth) -> Vec<FoundSession> {
        let indexed: Vec<Option<SessionFigures>> =
            files.iter().map(|file| self.index.get(file, depth)).collect();
        let is_missing =
            |(file, known): &(&SessionFile, &Option<_>)| known.is_none() && complete(file).is_none();
        let missing: Vec<&SessionFile> =
            files.iter().zip(&indexed).filter(is_missing).map(|(file, _)| file).collect();
        let mut read = scan_all(&missing, depth, self.index.catalog()).into_iter();
        let mut sessions = Vec::with_capacity(files.len());
        for (file, indexed) in files.iter().zip(indexed) {
            let figures = indexed.unwrap_or_else(|| {
                // What could not be read now may be the next time.
                let found = complete(file).or_else(|| read.next().flatten());
                found.inspect(|found| self.index.put(file, found.clone())).unwrap_or_default()
            });
            let file = file.clone();
            sessions.extend(figures.is_session().then_some(FoundSession { file, figures }));
        }
        sessions
    }

    /// Keeps what was read for the next time.
    pub fn keep(&mut self) {
        self.index.save(&self.files);
    }
}

/// What its database said of a session, where that is all there is to know.
fn complete(file: &SessionFile) -> Option<SessionFigures> {
    file.known.clone().filter(|known| known.is_whole)
}

/// What each file tells, in order; none where it cannot be read.
fn scan_all(files: &[&SessionFile], depth: Depth, catalog: &Catalog) -> Vec<Option<SessionFigures>> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut scanned = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(&file) = files.get(at) else { return scanned };
            scanned.push((at, scan(file, depth, catalog).ok().map(|figures| with_known(file, figures))));
        }
    };
    let threads =
        std::thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX).min(files.len());
    let mut all = vec![None; files.len()];
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        for (at, figures) in threads.into_iter().filter_map(|thread| thread.join().ok()).flatten() {
            all[at] = figures;
        }
    });
    all
}

/// Figures with what the file's surroundings say, where it says nothing itself.
fn with_known(file: &SessionFile, mut figures: SessionFigures) -> SessionFigures {
    if let Some(known) = &file.known {
        figures.project = figures.project.or_else(|| known.project.clone());
    }
    figures
}
