//! Presets: policies with a name, each one file of plain data.

use crate::cli::PolicyArgs;
use anyhow::{Context as _, Result, bail};
use epitome_core::{Policy, Settings, Strategy};

/// Every preset that comes with the program: its name and its file.
pub const BUILT_IN: [(&str, &str); 1] = [("default", include_str!("../../../presets/default.toml"))];

/// The settings of a preset.
pub fn settings(name: &str) -> Result<Settings> {
    let Some((_, text)) = BUILT_IN.iter().find(|(known, _)| *known == name) else {
        bail!("there is no preset `{name}`; use one of {}", BUILT_IN.map(|(name, _)| name).join(", "));
    };
    toml::from_str(text).with_context(|| format!("the preset `{name}` is broken"))
}

/// The policy asked for: a preset, and what the command line says on top of it.
pub fn policy(args: &PolicyArgs) -> Result<Policy> {
    let mut settings = settings(&args.preset)?;
    if let Some(target) = args.target {
        settings.trigger.target = Some(target);
    }
    if let Some(strategy) = args.strategy {
        settings.strategy = first(strategy);
    }
    Ok(Policy::try_from(settings)?)
}

/// A strategy, and what follows where it does not make enough room: nothing is dropped that could be summarised.
fn first(strategy: Strategy) -> Vec<Strategy> {
    match strategy {
        Strategy::Trim | Strategy::Prune => vec![strategy, Strategy::Summarize],
        Strategy::Native | Strategy::Delegate | Strategy::Checkpoint => vec![strategy, Strategy::Summarize],
        Strategy::Summarize | Strategy::Drop => vec![strategy],
    }
}

#[cfg(test)]
mod tests {
    use super::{BUILT_IN, settings};
    use epitome_core::Policy;

    #[test]
    fn every_preset_makes_a_policy() {
        for (name, _) in BUILT_IN {
            Policy::try_from(settings(name).expect("it parses")).expect("it is sound");
        }
    }
}
