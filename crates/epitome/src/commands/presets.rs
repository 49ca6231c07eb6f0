//! `epitome presets`: policies with a name, built in and the user's own.

use super::print_json;
use crate::cli::ListArgs;
use crate::columns;
use crate::output::Page;
use crate::settings::{self, Places};
use anyhow::{Context as _, Result};
use epitome_settings::Presets;
use serde_json::json;

/// The longest name of ours.
const NAME_CHARS: usize = 22;

/// Lists the presets, or prints one as the whole file it stands for.
pub fn run(args: &ListArgs) -> Result<()> {
    let own = settings::own_presets(&Places::here(args.config.as_deref())?)?;
    let presets = Presets::with(&own);
    if let Some(name) = &args.name {
        let settings = presets.settings(name)?;
        if args.json {
            return print_json(&settings);
        }
        let mut page = Page::default();
        write!(page, "{}", toml::to_string_pretty(&settings).context("cannot write the preset out")?);
        return page.print();
    }
    let width = columns::of_list().unwrap_or(usize::MAX);
    let (mut all, mut page) = (serde_json::Map::new(), Page::default());
    for name in presets.names() {
        // One that cannot be used does not hide the others.
        let (line, value) = match presets.settings(name) {
            Ok(settings) => (settings.about.clone(), serde_json::to_value(settings)?),
            Err(error) => (format!("cannot be used: {error}"), json!({"error": error.to_string()})),
        };
        let row = format!("{name:<NAME_CHARS$} {line}");
        writeln!(page, "{}", columns::wrap(&row, width, NAME_CHARS + 1));
        all.insert(name.to_owned(), value);
    }
    if args.json { print_json(&all) } else { page.print() }
}
