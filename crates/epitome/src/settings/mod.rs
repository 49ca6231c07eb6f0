//! Where settings are found on this machine: the user's folder, the project's root, agents' files, the
//! environment. What they mean is the settings crate's to say.

mod agent;
mod disk;
mod place;
pub mod prompt;
mod server;

pub use agent::AgentFolder;
pub use disk::Disk;
pub use place::Places;
pub use server::{ServerChoice, ShownServer};

use crate::cli::PolicyArgs;
use anyhow::{Context as _, Result};
use epitome_core::Strategy;
use epitome_settings::{
    self as settings, Door, FlagValue, OwnPreset, PolicyFiles, ResolvedPolicy, Sources, StoreSettings,
};
use std::path::PathBuf;

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
            is_user_named: args.config.is_some(),
            project: places.project_file(),
            agents: Vec::new(),
        };
        if let Some(agent) = &args.agent {
            let named = settings::resolve(&watched.read(&Disk, &rest)?)?.agents;
            watched.agents = agent::named_files(places.project.as_deref(), &named, agent)?;
        }
        Ok((watched, rest))
    }

    /// The same with the files of an agent among them.
    pub fn found_with(&self, model: Option<&str>, agents: Vec<PathBuf>) -> Result<(PolicyFiles, Sources)> {
        let (watched, rest) = self.found(model)?;
        Ok((PolicyFiles { agents, ..watched }, rest))
    }
}

/// What the operator says of the store: in their file and in the environment, whatever project this is.
pub fn of_store() -> Result<StoreSettings> {
    Ok(Lookup::new(PolicyArgs::default(), Some(Door::Serve))?.resolve(None)?.store)
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
    use super::{Sources, TEMPLATE, settings};
    use epitome_settings::SourceText;

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
        assert_eq!(
            (&plain.policy.trigger, &plain.policy.keep, &plain.policy.mode),
            (&whole.policy.trigger, &whole.policy.keep, &whole.policy.mode)
        );
        assert_eq!(whole.policy.summary.prompt, super::prompt::SCAFFOLD);
        assert!(whole.agents.contains_key("reviewer"));
    }
}
