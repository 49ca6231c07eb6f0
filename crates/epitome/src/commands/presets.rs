//! `epitome presets`: policies with a name.

use super::print_json;
use crate::cli::ListArgs;
use crate::output::Page;
use crate::preset::{self, BUILT_IN};
use anyhow::Result;

/// Lists the presets, or prints one as its file says it.
pub fn run(args: &ListArgs) -> Result<()> {
    if let Some(name) = &args.name {
        let settings = preset::settings(name)?;
        if args.json {
            return print_json(&settings);
        }
        let text = BUILT_IN.iter().find(|(known, _)| known == name).map_or("", |(_, text)| text);
        let mut page = Page::default();
        write!(page, "{text}");
        return page.print();
    }
    let (mut all, mut page) = (serde_json::Map::new(), Page::default());
    for (name, _) in BUILT_IN {
        let settings = preset::settings(name)?;
        writeln!(page, "{name:<16} {}", settings.about);
        all.insert(name.to_owned(), serde_json::to_value(settings)?);
    }
    if args.json { print_json(&all) } else { page.print() }
}
