//! One path for one file: an index from every spelling met to the file's place in the ledger.
//!
//! Nothing is looked up on a disk. A relative path is the file of an absolute one where a folder the session
//! is known to have worked in lies between them, or where no other file met ends like it.

use super::path::{identity, is_absolute, join};
use std::collections::HashMap;
use std::sync::Arc;

/// Folders a session worked in; past so many it wanders, and the newest say most.
const FOLDERS_MAX: usize = 32;

/// Where each file stands, by all its spellings. Every compaction goes on from a copy of what is known of the files of a long
/// session: copies share it, and write what is new to them beside it.
#[derive(Clone, Debug, Default)]
pub(super) struct PathIndex {
    shared: Arc<SpellingTable>,
    own: SpellingTable,
    /// The person's home, where an absolute path has shown it.
    home: Option<String>,
    /// Folders worked in, in the order they were first met.
    folders: Vec<String>,
    /// Whether one of the folders was told to be the session's own: then no other is guessed.
    is_folder_told: bool,
}

/// Places by spelling.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct SpellingTable {
    places: HashMap<String, usize>,
    /// The spellings that end in each name.
    by_name: HashMap<Box<str>, Vec<String>>,
}

impl SpellingTable {
    /// Takes down where a spelling leads, which `is_met` elsewhere already or not.
    fn set(&mut self, path: String, place: usize, is_met: bool) {
        if self.places.insert(path.clone(), place).is_none() && !is_met {
            self.by_name.entry(name(&path).into()).or_default().push(path);
        }
    }

    /// Takes over all that another knows.
    fn absorb(&mut self, other: Self) {
        self.places.extend(other.places);
        other.by_name.into_iter().for_each(|(name, met)| self.by_name.entry(name).or_default().extend(met));
    }

    fn named(&self, name: &str) -> impl Iterator<Item = &String> {
        self.by_name.get(name).into_iter().flatten()
    }
}

impl PathIndex {
    /// Whether it knows no file.
    pub(super) fn is_empty(&self) -> bool {
        self.shared.places.is_empty() && self.own.places.is_empty()
    }

    fn place(&self, path: &str) -> Option<usize> {
        self.own.places.get(path).or_else(|| self.shared.places.get(path)).copied()
    }

    /// The spellings met that end in this name, in the order they were met.
    fn met(&self, name: &str) -> impl Iterator<Item = &String> {
        self.shared.named(name).chain(self.own.named(name))
    }

    /// Takes down where a spelling leads: in what is shared as soon as no copy shares it.
    fn set(&mut self, path: String, place: usize) {
        match Arc::get_mut(&mut self.shared) {
            Some(alone) => {
                alone.absorb(std::mem::take(&mut self.own));
                alone.set(path, place, false);
            }
            None => {
                let is_met = self.shared.places.contains_key(&path);
                self.own.set(path, place, is_met);
            }
        }
    }

    /// Takes down a folder that commands were run in.
    pub(super) fn enter(&mut self, folder: &str) {
        self.see_home(folder);
        let folder = self.spelling(folder);
        if is_absolute(&folder) && !self.folders.contains(&folder) {
            if self.folders.len() == FOLDERS_MAX {
                self.folders.remove(1);
            }
            self.folders.push(folder);
        }
    }

    /// Takes down the folder that the session is said to work in.
    pub(super) fn tell_folder(&mut self, folder: &str) {
        self.is_folder_told = true;
        self.enter(folder);
    }

    /// Where the file of this path stands, in whatever spelling it was met before.
    pub(super) fn find(&self, path: &str) -> Option<usize> {
        let path = self.spelling(path);
        self.place(&path)
            .or_else(|| if is_absolute(&path) { self.find_ending(&path) } else { self.find_below(&path) })
    }

    /// Notes that a file is spelled so as well.
    pub(super) fn link(&mut self, path: &str, place: usize) {
        self.see_home(path);
        let path = self.spelling(path);
        if self.place(&path) != Some(place) {
            self.set(path, place);
        }
    }

    /// Whether `path` lies below `folder`, in any spelling.
    pub(super) fn is_below(&self, path: &str, folder: &str) -> bool {
        let (path, folder) = (self.spelling(path), self.spelling(folder));
        let lies_in = |folder: &str| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
        lies_in(&folder) || (!is_absolute(&folder) && self.joined(&folder).any(|folder| lies_in(&folder)))
    }

    /// Takes down the first home met. Whose home `~` is no call says; a session has one person.
    fn see_home(&mut self, path: &str) {
        if self.home.is_none() {
            self.home = home_of(path);
        }
    }

    /// One spelling of the many that a path has by its form alone; a home is `~`.
    fn spelling(&self, path: &str) -> String {
        let path = identity(path);
        let in_home = self
            .home
            .as_deref()
            .and_then(|home| path.strip_prefix(home))
            .filter(|rest| rest.starts_with('/'));
        in_home.map(|rest| format!("~{rest}")).unwrap_or(path)
    }

    fn joined<'p>(&'p self, relative: &'p str) -> impl Iterator<Item = String> + 'p {
        self.folders.iter().rev().map(move |folder| join(folder, relative))
    }

    /// The file a relative path names.
    fn find_below(&self, relative: &str) -> Option<usize> {
        let known = self.joined(relative).find_map(|path| self.place(&path));
        known.or_else(|| self.find_only(relative, |met| is_absolute(met) && ends_with_path(met, relative)))
    }

    /// The file that was met by a relative path only, and has now shown where it lies.
    fn find_ending(&self, absolute: &str) -> Option<usize> {
        let is_joined = |met: &str| self.joined(met).any(|path| path == absolute);
        let mut met = self.met(name(absolute));
        if let Some(relative) = met.find(|met| !is_absolute(met) && is_joined(met)) {
            return self.place(relative);
        }
        self.find_only(absolute, |met| !is_absolute(met) && ends_with_path(absolute, met))
    }

    /// The one file of this name for which `is_same` holds. None where a folder was told, or several would do.
    fn find_only(&self, path: &str, is_same: impl Fn(&str) -> bool) -> Option<usize> {
        let met = self.met(name(path)).filter(|_| !self.is_folder_told);
        let mut places = met.filter(|met| is_same(met)).filter_map(|met| self.place(met));
        let first = places.next()?;
        places.all(|place| place == first).then_some(first)
    }
}

/// Two of them are the same where they know the same, whatever of it they share with others.
impl PartialEq for PathIndex {
    fn eq(&self, other: &Self) -> bool {
        let places = |index: &Self| {
            let all = index.shared.places.iter().chain(&index.own.places);
            all.map(|(path, place)| (path.clone(), *place)).collect::<HashMap<_, _>>()
        };
        let rest = |index: &Self| (index.home.clone(), index.folders.clone(), index.is_folder_told);
        rest(self) == rest(other) && places(self) == places(other)
    }
}

impl Eq for PathIndex {}

fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Whether `path` ends in `end`, part by part. A bare name is too little: every folder may have its README.
fn ends_with_path(path: &str, end: &str) -> bool {
    end.contains('/') && path.strip_suffix(end).is_some_and(|before| before.ends_with('/'))
}

/// The home a path lies in, where its spelling shows it.
fn home_of(path: &str) -> Option<String> {
    let path = identity(path);
    let parts: Vec<&str> = path.split('/').collect();
    match parts.as_slice() {
        ["", "home", user, ..] => Some(format!("/home/{user}")),
        ["", "Users", user, ..] => Some(format!("/Users/{user}")),
        ["", "root", ..] => Some("/root".to_owned()),
        [drive, "Users", user, ..] if drive.ends_with(':') => Some(format!("{drive}/Users/{user}")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::PathIndex;

    /// An index of files met in this order, each new to it or not; gives their places.
    fn places(index: &mut PathIndex, met: &[&str]) -> Vec<usize> {
        let mut count = 0;
        met.iter()
            .map(|path| {
                let place = index.find(path).unwrap_or(count);
                count = count.max(place + 1);
                index.link(path, place);
                place
            })
            .collect()
    }

    #[test]
    fn every_spelling_of_a_file_leads_to_it() {
        let met = [
            "/home/ann/p/src/a.rs",
            "src/a.rs",
            "./src/a.rs",
            "~/p/src/a.rs",
            "src/b.rs",
            "/home/ann/p/src/b.rs",
        ];
        assert_eq!(places(&mut PathIndex::default(), &met), [0, 0, 0, 0, 1, 1]);
        let met = ["D:\\p\\src\\a.go", "/d/p/src/a.go", "src/a.go", "src\\a.go"];
        assert_eq!(places(&mut PathIndex::default(), &met), [0, 0, 0, 0]);
    }

    #[test]
    fn what_could_be_two_files_is_two() {
        let met =
            ["/p/web/src/a.ts", "/p/api/src/a.ts", "src/a.ts", "a.ts", "/p/docs/README.md", "README.md"];
        assert_eq!(places(&mut PathIndex::default(), &met), [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn a_folder_worked_in_places_a_bare_name() {
        let mut index = PathIndex::default();
        index.enter("/p/docs");
        assert_eq!(places(&mut index, &["/p/docs/README.md", "README.md", "/p/README.md"]), [0, 0, 1]);
    }

    #[test]
    fn where_the_folder_is_told_no_other_is_guessed() {
        let mut index = PathIndex::default();
        index.tell_folder("/p");
        assert_eq!(places(&mut index, &["/q/src/a.rs", "src/a.rs", "/p/src/a.rs"]), [0, 1, 1]);
    }
}
