//! Files of the project as they are now, for policies that bring some back after a compaction. Read below
//! the project's root only, wherever links lead.

use anyhow::{Context as _, Result, bail};
use epitome_engine::{FileNow, Restorer};
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A longer file is more than any policy brings back of one.
const FILE_BYTES_MAX: u64 = 4 << 20;

/// A project's files.
#[derive(Clone, Debug)]
pub struct Project {
    /// Its root, with no links in it.
    root: PathBuf,
    /// When the transcript was last used; a file written after that was changed by someone else.
    used: Option<SystemTime>,
}

impl Project {
    /// The project at `root`, for a transcript last used at `used`.
    pub fn at(root: &Path, used: Option<SystemTime>) -> Result<Self> {
        let failed = || format!("{} is no project; name a folder that is there", root.display());
        let root = root.canonicalize().with_context(failed)?;
        if !root.is_dir() {
            bail!(failed());
        }
        Ok(Self { root, used })
    }

    /// The file `path` names, where it lies below the root.
    fn find(&self, path: &str) -> Option<PathBuf> {
        let file = self.root.join(path).canonicalize().ok()?;
        file.starts_with(&self.root).then_some(file)
    }
}

impl Restorer for Project {
    fn file(&self, path: &str) -> Option<FileNow> {
        let file = self.find(path)?;
        let about = fs::metadata(&file).ok()?;
        if !about.is_file() || about.len() > FILE_BYTES_MAX {
            return None;
        }
        let mut text = String::new();
        File::open(&file).ok()?.take(FILE_BYTES_MAX).read_to_string(&mut text).ok()?;
        let is_changed = about.modified().ok().zip(self.used).is_some_and(|(written, used)| written > used);
        Some(FileNow { text, is_changed })
    }

    fn skills(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    fn servers(&self) -> Vec<(String, String)> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::Project;
    use epitome_engine::{FileNow, Restorer};
    use std::fs;
    use std::time::{Duration, SystemTime};

    #[test]
    fn a_file_below_the_root_comes_back_and_says_whether_it_was_changed() {
        let folder = tempfile::tempdir().expect("there is room");
        let file = folder.path().join("a.txt");
        fs::write(&file, "one").expect("there is room");
        let written = fs::metadata(&file).and_then(|about| about.modified()).expect("it was written");
        let at = |used: SystemTime| Project::at(folder.path(), Some(used)).expect("it is there");
        let now = |is_changed| Some(FileNow { text: "one".into(), is_changed });
        assert_eq!(at(written + Duration::from_secs(1)).file("a.txt"), now(false));
        assert_eq!(at(written - Duration::from_secs(1)).file("a.txt"), now(true));
        assert_eq!(at(written).file(file.to_str().expect("a plain name")), now(false));
    }

    #[test]
    fn nothing_above_the_root_is_read_by_name_or_by_link() {
        let folder = tempfile::tempdir().expect("there is room");
        let root = folder.path().join("root");
        fs::create_dir(&root).expect("there is room");
        fs::write(folder.path().join("secret"), "no").expect("there is room");
        #[cfg(unix)]
        std::os::unix::fs::symlink("../secret", root.join("link")).expect("links can be made");
        let project = Project::at(&root, None).expect("it is there");
        let outside = folder.path().join("secret");
        let found = ["../secret", "link", outside.to_str().expect("a plain name"), "gone", "."];
        assert_eq!(found.map(|path| project.file(path)), [None, None, None, None, None]);
    }
}
