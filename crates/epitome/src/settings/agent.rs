//! Agents' files, each after those of the agents it inherits from: named on the command line, or in a folder that the
//! operator of a server names. What they say is the settings crate's to read.

use super::disk;
use anyhow::{Context as _, Result, bail};
use epitome_settings::{self as settings, SourceText};
use std::path::{Component, Path, PathBuf};
use toml::{Table, Value};

/// How far back an agent's ancestry is followed: deeper than any tree of agents, short of a circle.
const ANCESTORS_MAX: usize = 8;
/// How agents' files end; a name is looked for with each of them.
const ENDINGS: [&str; 3] = ["md", "yaml", "yml"];

/// A folder of agents' files whose settings a server heeds.
#[derive(Clone, Debug)]
pub struct AgentFolder(PathBuf);

impl AgentFolder {
    /// The folder; refused where there is none.
    pub fn open(folder: PathBuf) -> Result<Self> {
        if !folder.is_dir() {
            bail!("there is no folder {}; --agents names one of agents' files", folder.display());
        }
        Ok(Self(folder))
    }

    /// The file of the agent called `name`, after those of the agents it inherits from, all of them in the folder.
    pub fn files(&self, name: &str) -> Result<Vec<PathBuf>> {
        ancestry(name, |name, _| self.file(name))
    }

    fn file(&self, name: &str) -> Result<PathBuf> {
        let below = Path::new(name);
        let is_plain = |step: Component<'_>| matches!(step, Component::Normal(_) | Component::CurDir);
        let endings = ENDINGS.into_iter().map(|ending| format!("{name}.{ending}"));
        let mut places = std::iter::once(name.to_owned()).chain(endings).map(|file| self.0.join(file));
        let found = places.find(|file| file.is_file()).filter(|_| below.components().all(is_plain));
        found.with_context(|| format!("there is no agent `{name}` in {}", self.0.display()))
    }
}

/// The file of `agent`, a path or a name among `named`, after those of the agents it inherits from.
pub(super) fn named_files(folder: Option<&Path>, named: &Table, agent: &str) -> Result<Vec<PathBuf>> {
    let folder = folder.unwrap_or(Path::new(""));
    let by_name = |name: &str| named.get(name).and_then(Value::as_str).map(|path| folder.join(path));
    ancestry(agent, |name, child| {
        let beside = || child.and_then(Path::parent).unwrap_or(Path::new("")).join(name);
        Ok(by_name(name).unwrap_or_else(beside))
    })
}

/// The file of `agent` after its ancestors'; `find` tells the file of a name, beside the one that names it.
fn ancestry(agent: &str, find: impl Fn(&str, Option<&Path>) -> Result<PathBuf>) -> Result<Vec<PathBuf>> {
    let mut files = vec![find(agent, None)?];
    while let Some(parent) = parent_of(files.last().expect("it begins with one"))? {
        if files.len() == ANCESTORS_MAX {
            bail!("{agent} has more than {ANCESTORS_MAX} ancestors; check that no agent is its own `parent`");
        }
        files.push(find(&parent, files.last().map(PathBuf::as_path))?);
    }
    files.reverse();
    Ok(files)
}

fn parent_of(file: &Path) -> Result<Option<String>> {
    let name = file.display().to_string();
    let text = disk::read(file).with_context(|| format!("cannot read the agent {name}"))?;
    Ok(settings::parent(&SourceText { name: name.into(), text })?)
}

#[cfg(test)]
mod tests {
    use super::{AgentFolder, named_files};
    use std::path::{Path, PathBuf};

    fn names(files: &[PathBuf]) -> Vec<&str> {
        files.iter().filter_map(|path| path.file_name()?.to_str()).collect()
    }

    #[test]
    fn an_agent_is_read_after_those_it_inherits_from() {
        let folder = tempfile::tempdir().expect("there is room");
        let write =
            |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("there is room");
        write("base.md", "---\ncompaction: {threshold: 60}\n---\n");
        write("child.md", "---\nparent: base.md\n---\n");
        let named = "child = \"child.md\"".parse().expect("a table");
        let files = || named_files(Some(folder.path()), &named, "child");
        assert_eq!(names(&files().expect("both are there")), ["base.md", "child.md"]);
        write("base.md", "---\nparent: child.md\n---\n");
        let circle = files().expect_err("it never ends").to_string();
        assert_eq!(circle, "child has more than 8 ancestors; check that no agent is its own `parent`");
    }

    #[test]
    fn a_folder_of_agents_is_not_left() {
        let all = tempfile::tempdir().expect("there is room");
        let write = |name: &str, text: &str| {
            let file = all.path().join(name);
            std::fs::create_dir_all(file.parent().unwrap_or(Path::new(""))).expect("there is room");
            std::fs::write(file, text).expect("there is room");
        };
        write("outside.md", "");
        write("agents/child.yaml", "parent: team/base");
        write("agents/team/base.md", "");
        write("agents/sly.md", "---\nparent: ../outside.md\n---\n");
        let folder = AgentFolder::open(all.path().join("agents")).expect("it is there");
        assert_eq!(names(&folder.files("child").expect("both are there")), ["base.md", "child.yaml"]);
        let refused = |name: &str| folder.files(name).expect_err("it lies elsewhere").to_string();
        let told =
            |name: &str| format!("there is no agent `{name}` in {}", all.path().join("agents").display());
        assert_eq!(refused("../outside"), told("../outside"));
        assert_eq!(refused("sly"), told("../outside.md"));
    }
}
