//! Where things of the user's are: their home, the folders that variables move, our own cache.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The user's home, where one is known.
pub fn home() -> Option<PathBuf> {
    std::env::home_dir().filter(|home| !home.as_os_str().is_empty())
}

/// The folder a variable names, where it is set to something.
pub fn named(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).filter(|value: &OsString| !value.is_empty()).map(PathBuf::from)
}

/// The folder a variable names, else one below the user's home.
pub fn folder(variable: &str, below_home: &str) -> Option<PathBuf> {
    named(variable).or_else(|| Some(home()?.join(below_home)))
}

/// Our own folder for what can be made again.
pub fn cache() -> Option<PathBuf> {
    Some(folder("XDG_CACHE_HOME", ".cache")?.join("epitome"))
}

/// Our own folder for what is to be kept.
pub fn data() -> Option<PathBuf> {
    Some(folder("XDG_DATA_HOME", ".local/share")?.join("epitome"))
}

/// A path as people write it: their home is `~`.
pub fn shown(path: &Path) -> String {
    let below = home().and_then(|home| path.strip_prefix(&home).ok().map(Path::to_owned));
    match below {
        Some(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
        Some(rest) => format!("~/{}", rest.display()),
        None => path.display().to_string(),
    }
}
