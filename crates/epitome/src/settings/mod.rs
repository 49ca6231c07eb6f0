//! Where settings are found on this machine: the user's folder, the project's root, agents' files, the
//! environment. What they mean is the settings crate's to say.

mod disk;
mod place;
pub mod prompt;

pub use disk::Disk;
pub use place::Places;

use crate::cli::PolicyArgs;
use anyhow::{Context as _, Result, bail};
use epitome_core::Strategy;
use epitome_settings::{
    self as settings, Door, FlagValue, OwnPreset, PolicyFiles, ResolvedPolicy, SourceText, Sources,
};
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// How far back an agent's ancestry is followed: deeper than any tree of agents, short of a circle.
const ANCESTORS_MAX: usize = 8;

/// What settings are asked for: where they lie, what the command line says, and for which door.
#[derive(Clone, Debug)]
pub struct Lookup {
    /// Where they lie.
    pub places: Places,
    /// What the command line says.
    pub args: PolicyArgs,
    /// The door at work, where one is.
    pub door: Option<Door>,
}

impl Lookup {
    /// Those of `args`, for `door`. A server reads no project's files.
    pub fn new(args: PolicyArgs, door: Option<Door>) -> Result<Self> {
        let places = Places::here(args.config.as_deref())?;
        let places = if door == Some(Door::Serve) { places.without_project() } else { places };
        Ok(Self { places, args, door })
    }

    /// The settings that count for `model`.
    pub fn resolve(&self, model: Option<&str>) -> Result<ResolvedPolicy> {
        let (watched, rest) = self.found(model)?;
        Ok(settings::resolve(&watched.read(&Disk, &rest)?)?)
    }

    /// The files behind them, and what does not come from files.
    pub fn found(&self, model: Option<&str>) -> Result<(PolicyFiles, Sources)> {
        let Self { places, args, door } = self;
        let rest = Sources {
            model: model.map(str::to_owned),
            door: *door,
            environment: environment(),
            flags: flags(args),
            ..Sources::default()
        };
        let mut watched = PolicyFiles {
            presets: places.presets(),
            user: places.operator.clone(),
            project: places.project_file(),
            agents: Vec::new(),
        };
        if let Some(agent) = &args.agent {
            let named = settings::resolve(&watched.read(&Disk, &rest)?)?.agents;
            watched.agents = ancestry(places, &named, agent)?;
        }
        Ok((watched, rest))
    }
}

/// The presets that the operator wrote.
pub fn own_presets(places: &Places) -> Result<Vec<OwnPreset>> {
    Ok(PolicyFiles { presets: places.presets(), ..PolicyFiles::default() }.own_presets(&Disk)?)
}

/// The environment, as far as it is text.
fn environment() -> Vec<(String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

fn flags(args: &PolicyArgs) -> Vec<FlagValue> {
    let flag = |name: &str, key: &str, text: String| FlagValue { name: name.into(), key: key.into(), text };
    let preset = args.preset.as_ref().map(|name| flag("--preset", "preset", name.clone()));
    let target = args.target.map(|target| flag("--target", "trigger.target", target.to_string()));
    let strategy = args.strategy.map(|strategy| flag("--strategy", "strategy", first(strategy)));
    let by = args.summarizer.as_ref().map(|who| flag("--summarizer", "summary.by", who.clone()));
    let set = args.set.iter().map(|set| flag(&format!("--set {}", set.key), &set.key, set.value.clone()));
    preset.into_iter().chain(target).chain(strategy).chain(by).chain(set).collect()
}

/// A strategy, and what follows where it does not make enough room: nothing is dropped that could be summarised.
fn first(strategy: Strategy) -> String {
    match strategy {
        Strategy::Trim | Strategy::Prune | Strategy::Native | Strategy::Delegate | Strategy::Checkpoint => {
            format!("{strategy},{}", Strategy::Summarize)
        }
        Strategy::Summarize | Strategy::Drop => strategy.to_string(),
    }
}

/// The file of `agent`, after those of the agents it inherits from.
fn ancestry(places: &Places, named: &Table, agent: &str) -> Result<Vec<PathBuf>> {
    let folder = places.project.as_deref().unwrap_or(Path::new(""));
    let by_name = |name: &str| named.get(name).and_then(Value::as_str).map(|path| folder.join(path));
    let mut files = vec![by_name(agent).unwrap_or_else(|| agent.into())];
    while let Some(parent) = parent_of(files.last().expect("it begins with one"))? {
        if files.len() == ANCESTORS_MAX {
            bail!("{agent} has more than {ANCESTORS_MAX} ancestors; check that no agent is its own `parent`");
        }
        let child = files.last().and_then(|file| file.parent()).unwrap_or(Path::new(""));
        files.push(by_name(&parent).unwrap_or_else(|| child.join(&parent)));
    }
    files.reverse();
    Ok(files)
}

fn parent_of(file: &Path) -> Result<Option<String>> {
    let name = file.display().to_string();
    let text = disk::read(file).with_context(|| format!("cannot read the agent {name}"))?;
    Ok(settings::parent(&SourceText { name: name.into(), text })?)
}

/// What an `epitome.toml` begins as.
const TEMPLATE: &str = include_str!("template.toml");

/// Writes the project's `epitome.toml` where it is missing: where it lies, and whether it was written.
pub fn scaffold(places: &Places) -> Result<(PathBuf, bool)> {
    let file = places.project_file().context("the project's folder is known")?;
    let written = disk::write_new(&file, TEMPLATE);
    let is_new = written.with_context(|| format!("cannot write {}", file.display()))?;
    Ok((file, is_new))
}

#[cfg(test)]
mod tests {
    use super::{SourceText, Sources, TEMPLATE, settings};
    use std::path::Path;

    fn resolve(text: String) -> settings::ResolvedPolicy {
        let project = Some(SourceText { name: "epitome.toml".into(), text });
        settings::resolve(&Sources { project, ..Sources::default() }).expect("the template is in order")
    }

    #[test]
    fn the_template_is_in_order_with_and_without_its_comments() {
        let plain = resolve(TEMPLATE.to_owned());
        let lines = TEMPLATE
            .lines()
            .map(|line| line.strip_prefix('#').filter(|rest| !rest.starts_with(' ')).unwrap_or(line));
        let whole = resolve(lines.collect::<Vec<_>>().join("\n"));
        assert_eq!(plain.policy.trigger, whole.policy.trigger);
        assert_eq!(whole.policy.summary.prompt, super::prompt::SCAFFOLD);
        assert!(whole.agents.contains_key("reviewer"));
    }

    #[test]
    fn an_agent_is_read_after_those_it_inherits_from() {
        let folder = tempfile::tempdir().expect("there is room");
        let write =
            |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("there is room");
        write("base.md", "---\ncompaction: {threshold: 60}\n---\n");
        write("child.md", "---\nparent: base.md\n---\n");
        let places = super::Places { config: None, operator: None, project: Some(folder.path().to_owned()) };
        let named = "child = \"child.md\"".parse().expect("a table");
        let found = super::ancestry(&places, &named, "child").expect("both are there");
        let names: Vec<_> = found.iter().filter_map(|path| Path::new(path).file_name()).collect();
        assert_eq!(names, ["base.md", "child.md"]);
        write("base.md", "---\nparent: child.md\n---\n");
        let circle = super::ancestry(&places, &named, "child").expect_err("it never ends").to_string();
        assert_eq!(circle, "child has more than 8 ancestors; check that no agent is its own `parent`");
    }
}
