//! The two folders that settings and prompts lie in: the operator's own, and the project's.

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
    /// The operator's: `$XDG_CONFIG_HOME/epitome` or `~/.config/epitome` of the user, or where the file lies
    /// that they name. Nothing where there is no home.
    pub config: Option<PathBuf>,
    /// The operator's settings: `epitome.toml` in that folder, or the file that they name.
    pub operator: Option<PathBuf>,
    /// The project's root: the nearest folder upward with an `epitome.toml` or `.epitome`, else where we are.
    /// Nothing where no project's files are read.
    pub project: Option<PathBuf>,
}

impl Places {
    /// Those of whoever runs the program, where it runs; `named` is the file they name as theirs.
    pub fn here(named: Option<&Path>) -> Result<Self> {
        let folder = std::env::current_dir().context("cannot tell which folder this is")?;
        let project = Some(root_of(&folder));
        if let Some(file) = named {
            if !file.is_file() {
                bail!("there is no file {}; --config names your settings", file.display());
            }
            let config = file.parent().map(Path::to_owned);
            return Ok(Self { config, operator: Some(file.to_owned()), project });
        }
        let config = users_folder();
        let operator = config.as_ref().map(|folder| folder.join(FILE));
        Ok(Self { config, operator, project })
    }

    /// The same without the project's.
    pub fn without_project(self) -> Self {
        Self { project: None, ..self }
    }

    /// The project's settings, where there are any.
    pub fn project_file(&self) -> Option<PathBuf> {
        self.project.as_ref().map(|folder| folder.join(FILE))
    }

    /// The operator's settings by name, be there such a file or not.
    pub fn operator_name(&self) -> String {
        self.operator.as_ref().map_or_else(|| FILE.to_owned(), |file| file.display().to_string())
    }

    /// The folder of the operator's own presets.
    pub fn presets(&self) -> Option<PathBuf> {
        self.config.as_ref().map(|folder| folder.join(PRESETS))
    }

    /// The file that a `project:/` or `config:/` path names; nothing where it is no such path.
    pub fn file(&self, path: &str) -> Result<Option<PathBuf>> {
        let (folder, below) = if let Some(below) = path.strip_prefix("project:/") {
            let Some(project) = &self.project else {
                bail!("`{path}` is a project's file, and a server reads none; put it below config:/");
            };
            (project, below)
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

fn users_folder() -> Option<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let config = variable("XDG_CONFIG_HOME").or_else(|| Some(variable("HOME")?.join(".config")));
    config.map(|folder| folder.join("epitome"))
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
        let places = Places { config: Some("c".into()), operator: None, project: Some("p".into()) };
        let file = |path: &str| places.file(path).map_err(|error| error.to_string());
        assert_eq!(file("project:/prompts/a.md"), Ok(Some(PathBuf::from("p/prompts/a.md"))));
        assert_eq!(file("config:/a.md"), Ok(Some(PathBuf::from("c/a.md"))));
        assert_eq!(file("default"), Ok(None));
        let out = "`project:/../a.md` leads out of its folder; name a file below it";
        assert_eq!(file("project:/../a.md"), Err(out.to_owned()));
        let served =
            places.clone().without_project().file("project:/a.md").map_err(|error| error.to_string());
        let none = "`project:/a.md` is a project's file, and a server reads none; put it below config:/";
        assert_eq!(served, Err(none.to_owned()));
    }
}
