//! Settings that change while the program runs: files are read again when they have changed.

use super::error::SettingsError;
use super::file::SourceText;
use super::preset::OwnPreset;
use super::resolve::{ResolvedPolicy, Sources, resolve};
use epitome_core::Policy;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use toml::Table;

/// Where files come from.
pub trait Files: Send + Sync {
    /// When `path` was last written and how long it is; nothing where there is no such file.
    fn stamp(&self, path: &Path) -> Option<FileStamp>;
    /// What it holds.
    ///
    /// # Errors
    /// What the system said.
    fn read(&self, path: &Path) -> Result<String, String>;
    /// The TOML files that lie in `folder`, in order; none where there is no such folder.
    fn list(&self, folder: &Path) -> Vec<PathBuf>;
}

/// What tells one state of a file from another without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStamp {
    /// When it was written, since some fixed moment.
    pub written: Duration,
    /// How long it is.
    pub bytes: u64,
}

/// The files behind a policy. The two `epitome.toml` and the folder need not be there; agents' files must.
#[derive(Clone, Debug, Default)]
pub struct PolicyFiles {
    /// The folder of the operator's own presets.
    pub presets: Option<PathBuf>,
    /// The user's `epitome.toml`.
    pub user: Option<PathBuf>,
    /// Whether the user named that file, so that it must be there.
    pub is_user_named: bool,
    /// The project's.
    pub project: Option<PathBuf>,
    /// The agent's file, after those of the agents it inherits from.
    pub agents: Vec<PathBuf>,
}

/// A policy that follows its files. A file that cannot be used leaves the last good policy in force.
pub struct LivePolicy {
    files: Arc<dyn Files>,
    watched: PolicyFiles,
    /// What does not come from files.
    rest: Sources,
    stamps: Vec<(PathBuf, Option<FileStamp>)>,
    /// What was said when the policy in force was resolved.
    sources: Sources,
    resolved: Arc<ResolvedPolicy>,
    fault: Option<SettingsError>,
}

impl std::fmt::Debug for LivePolicy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LivePolicy")
            .field("watched", &self.watched)
            .field("preset", &self.resolved.preset)
            .field("fault", &self.fault)
            .finish_non_exhaustive()
    }
}

impl LivePolicy {
    /// Reads the files for the first time; `rest` is what is said elsewhere.
    ///
    /// # Errors
    /// Where they cannot be used: there is no last good policy yet.
    pub fn open(files: Arc<dyn Files>, watched: PolicyFiles, rest: Sources) -> Result<Self, SettingsError> {
        let stamps = watched.stamps(&*files);
        let sources = watched.read(&*files, &rest)?;
        let resolved = Arc::new(resolve(&sources)?);
        Ok(Self { files, watched, rest, stamps, sources, resolved, fault: None })
    }

    /// The policy as the files are now.
    pub fn policy(&mut self) -> Arc<Policy> {
        self.check().policy.clone()
    }

    /// The same with how it came about.
    pub fn check(&mut self) -> &Arc<ResolvedPolicy> {
        let stamps = self.watched.stamps(&*self.files);
        if stamps != self.stamps {
            self.stamps = stamps;
            self.fault = self.read_again().err();
        }
        &self.resolved
    }

    /// Resolves the files as they are now; where they cannot be used nothing is changed.
    fn read_again(&mut self) -> Result<(), SettingsError> {
        let sources = self.watched.read(&*self.files, &self.rest)?;
        self.resolved = Arc::new(resolve(&sources)?);
        self.sources = sources;
        Ok(())
    }

    /// The policy for one call that says some of it otherwise, by our names or another system's.
    ///
    /// # Errors
    /// Where what it says cannot be used.
    pub fn with_overrides(&mut self, overrides: Table) -> Result<ResolvedPolicy, SettingsError> {
        self.check();
        resolve(&Sources { overrides, ..self.sources.clone() })
    }

    /// Why the newest state of the files is not in force, where it is not.
    pub fn fault(&self) -> Option<&SettingsError> {
        self.fault.as_ref()
    }
}

impl PolicyFiles {
    fn stamps(&self, files: &dyn Files) -> Vec<(PathBuf, Option<FileStamp>)> {
        let named = self.user.iter().chain(&self.project).chain(&self.agents).cloned();
        let all = self.presets.iter().flat_map(|folder| files.list(folder)).chain(named);
        all.map(|path| (path.clone(), files.stamp(&path))).collect()
    }

    /// The operator's own presets, as they are now.
    ///
    /// # Errors
    /// Where a file is there and cannot be read.
    pub fn own_presets(&self, files: &dyn Files) -> Result<Vec<OwnPreset>, SettingsError> {
        let own = |path: PathBuf| {
            let name = path.file_stem()?.to_str()?.to_owned();
            Some(text(files, &path).map(|file| OwnPreset { name, file }))
        };
        self.presets.iter().flat_map(|folder| files.list(folder)).filter_map(own).collect()
    }

    /// `rest` with the files as they are now.
    ///
    /// # Errors
    /// Where a file is there and cannot be read, or an agent's or one that the user named is not there.
    pub fn read(&self, files: &dyn Files, rest: &Sources) -> Result<Sources, SettingsError> {
        let open = |path: &Option<PathBuf>| {
            let there = path.as_ref().filter(|path| files.stamp(path).is_some());
            there.map(|path| text(files, path)).transpose()
        };
        let agents = self.agents.iter().map(|path| text(files, path)).collect::<Result<_, _>>()?;
        let presets = self.own_presets(files)?;
        let user = match &self.user {
            Some(named) if self.is_user_named => Some(text(files, named)?),
            Some(_) | None => open(&self.user)?,
        };
        Ok(Sources { presets, user, project: open(&self.project)?, agents, ..rest.clone() })
    }
}

fn text(files: &dyn Files, path: &Path) -> Result<SourceText, SettingsError> {
    let file = path.display().to_string();
    let text = files.read(path).map_err(|why| SettingsError::Read { file: file.clone(), why })?;
    Ok(SourceText { name: file.into(), text })
}
