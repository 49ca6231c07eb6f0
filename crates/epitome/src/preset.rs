//! The policy a command works with: a preset, and what settings and the command line say on top of it.

use crate::cli::PolicyArgs;
use crate::settings::{self, Places, Whose};
use anyhow::Result;
use epitome_core::{Policy, Settings};
use epitome_engine::settings::preset;

/// The settings of a preset, as it is.
pub fn settings(name: &str) -> Result<Settings> {
    Ok(preset::settings(name)?)
}

/// The policy that counts here, whatever the model.
pub fn policy(args: &PolicyArgs) -> Result<Policy> {
    let resolved = settings::resolve(&Places::here()?, args, Whose::default())?;
    Ok(resolved.policy.as_ref().clone())
}
