//! The policy a command works with: a preset, and what settings and the command line say on top of it.

use crate::cli::PolicyArgs;
use crate::opened::Opened;
use crate::settings::{self, Places};
use anyhow::Result;
use epitome_core::{Policy, Settings};
use epitome_engine::settings::preset;

/// The settings of a preset, as it is.
pub fn settings(name: &str) -> Result<Settings> {
    Ok(preset::settings(name)?)
}

/// Refuses settings that cannot be used, before any file is read.
pub fn check(args: &PolicyArgs) -> Result<()> {
    settings::resolve(&Places::here()?, args, None).map(drop)
}

/// The policy for a transcript, by its model; a window that settings state becomes its window.
pub fn policy_for(args: &PolicyArgs, opened: &mut Opened) -> Result<Policy> {
    let model = Some(opened.model.id.as_str()).filter(|name| !name.is_empty());
    let resolved = settings::resolve(&Places::here()?, args, model)?;
    if let (Some(tokens), Some(source)) = (resolved.policy.window.tokens, resolved.source("window.tokens")) {
        opened.state_window(tokens, source.to_string());
    }
    Ok(resolved.policy.as_ref().clone())
}
