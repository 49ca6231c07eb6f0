//! The two folders that settings and prompts lie in.

use anyhow::{Context as _, Result, bail};
use std::path::{Component, Path, PathBuf};

/// The file of settings, in either folder.
pub const FILE: &str = "epitome.toml";
/// What else of a project is ours.
const FOLDER: &str = ".epitome";
/// The folder of the user's own presets, in theirs.
const PRESETS: &str = "presets";

/// The folders that settings and prompts lie in.
#[derive(Clone, Debug)]
pub struct Places {
    /// The user's: `$XDG_CONFIG_HOME/epitome`, or `~/.config/epitome`. Nothing where there is no home.
    pub config: Option<PathBuf>,
    /// The project's root: the nearest folder upward with an `epitome.toml` or `.epitome`, else where we are.
    pub project: PathBuf,
}

impl Places {
    /// Those of whoever runs the program, where it runs.
    pub fn here() -> Result<Self> {
        let folder = std::env::current_dir().context("cannot tell which folder this is")?;
        let variable =
            |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let config = variable("XDG_CONFIG_HOME").or_else(|| Some(variable("HOME")?.join(".config")));
        Ok(Self { config: config.map(|folder| folder.join("epitome")), project: root_of(&folder) })
    }

    /// The folder of the user's own presets.
    pub fn presets(&self) -> Option<PathBuf> {
        self.config.as_ref().map(|folder| folder.join(PRESETS))
    }

    /// The file that a `project:/` or `config:/` path names; nothing where it is no such path.
    pub fn file(&self, path: &str) -> Result<Option<PathBuf>> {
        let (folder, below) = if let Some(below) = path.strip_prefix("project:/") {
            (&self.project, below)
        } else if let Some(below) = path.strip_prefix("config:/") {
            let Some(config) = &self.config else {
                bail!("`{path}` is below the user's folder, and there is none: set HOME or XDG_CONFIG_HOME");
            };
            (config, below)
        } else {
            return Ok(None);
        };
        if !Path::new(below).components().all(|step| matches!(step, Component::Normal(_))) {
            bail!("`{path}` leads out of its folder; name a file below it");
        }
        Ok(Some(folder.join(below)))
    }
}

fn root_of(folder: &Path) -> PathBuf {
    let is_root = |folder: &&Path| folder.join(FILE).is_file() || folder.join(FOLDER).is_dir();
    folder.ancestors().find(is_root).unwrap_or(folder).to_owned()
}

#[cfg(test)]
mod tests {
    use super::Places;
    use std::path::PathBuf;

    #[test]
    fn a_path_stays_below_its_folder() {
        let places = Places { config: Some("c".into()), project: "p".into() };
        let file = |path: &str| places.file(path).map_err(|error| error.to_string());
        assert_eq!(file("project:/prompts/a.md"), Ok(Some(PathBuf::from("p/prompts/a.md"))));
        assert_eq!(file("config:/a.md"), Ok(Some(PathBuf::from("c/a.md"))));
        assert_eq!(file("default"), Ok(None));
        let out = "`project:/../a.md` leads out of its folder; name a file below it";
        assert_eq!(file("project:/../a.md"), Err(out.to_owned()));
    }
}
