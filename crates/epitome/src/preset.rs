//! The policy a command works with: a preset, and what settings and the command line say on top of it.

use crate::cli::{PolicyArgs, ReadArgs};
use crate::opened::Opened;
use crate::settings::{self, Places};
use anyhow::Result;
use epitome_settings::Resolved;
use std::path::Path;

/// A transcript opened under the policy for its model.
pub fn open(path: &Path, read: &ReadArgs, args: &PolicyArgs) -> Result<(Opened, Resolved)> {
    Opened::under(path, read, |model| settings::resolve(&Places::here()?, args, model))
}
