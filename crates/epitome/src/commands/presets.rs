//! `epitome presets`: policies with a name.

use super::print_json;
use crate::cli::ListArgs;
use crate::output::Page;
use anyhow::{Context as _, Result};
use epitome_settings::preset;

/// Lists the presets, or prints one as the whole file it stands for.
pub fn run(args: &ListArgs) -> Result<()> {
    if let Some(name) = &args.name {
        let settings = preset::settings(name)?;
        if args.json {
            return print_json(&settings);
        }
        let mut page = Page::default();
        write!(page, "{}", toml::to_string_pretty(&settings).context("cannot write the preset out")?);
        return page.print();
    }
    let (mut all, mut page) = (serde_json::Map::new(), Page::default());
    for name in preset::names() {
        let settings = preset::settings(name)?;
        writeln!(page, "{name:<22} {}", settings.about);
        all.insert(name.to_owned(), serde_json::to_value(settings)?);
    }
    if args.json { print_json(&all) } else { page.print() }
}
