//! `epitome version`: which program this is, how it was built, and the licences of what is in it.

use super::print_json;
use crate::cli::VersionArgs;
use crate::output::Page;
use anyhow::Result;
use serde::Serialize;
use std::collections::BTreeMap;

/// What is known of this build.
#[derive(Serialize)]
struct Build {
    version: &'static str,
    /// The commit it was built from; nothing where it was built from a package.
    commit: Option<&'static str>,
    profile: &'static str,
    target: &'static str,
    rustc: &'static str,
    license: &'static str,
    /// The crates in it, by licence.
    licences: BTreeMap<&'static str, Vec<&'static str>>,
}

/// A line for each crate in the program: its licence, its name and its version, written when it was built.
const CRATES: &str = include_str!(concat!(env!("OUT_DIR"), "/licences.txt"));

/// Prints the version, and with `--verbose` the rest.
pub fn run(args: &VersionArgs) -> Result<()> {
    let build = Build {
        version: env!("CARGO_PKG_VERSION"),
        commit: option_env!("EPITOME_COMMIT").filter(|commit| !commit.is_empty()),
        profile: env!("EPITOME_PROFILE"),
        target: env!("EPITOME_TARGET"),
        rustc: env!("EPITOME_RUSTC"),
        license: env!("CARGO_PKG_LICENSE"),
        licences: by_licence(CRATES),
    };
    if args.json { print_json(&build) } else { page(&build, args).print() }
}

fn page(build: &Build, args: &VersionArgs) -> Page {
    let mut page = Page::default();
    writeln!(page, "epitome {}", build.version);
    if !args.verbose {
        return page;
    }
    writeln!(page, "  commit    {}", build.commit.unwrap_or("not known: built from a package"));
    writeln!(page, "  build     {}, {}", build.profile, build.target);
    writeln!(page, "  compiler  {}", build.rustc);
    writeln!(page, "  licence   {}", build.license);
    writeln!(page, "\nIn it, by licence:");
    for (licence, crates) in &build.licences {
        let text = format!("  {licence}: {}", crates.join(", "));
        writeln!(page, "{}", crate::columns::wrap(&text, crate::columns::of_stdout(), 4));
    }
    page
}

fn by_licence(lines: &'static str) -> BTreeMap<&'static str, Vec<&'static str>> {
    let mut by: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (licence, name) in lines.lines().filter_map(|line| line.split_once('\t')) {
        by.entry(licence).or_default().push(name);
    }
    by
}

#[cfg(test)]
mod tests {
    use super::{CRATES, by_licence};

    #[test]
    fn every_crate_in_the_program_has_a_licence() {
        let by = by_licence(CRATES);
        let serde = by.iter().find(|(_, crates)| crates.iter().any(|name| name.starts_with("serde ")));
        assert_eq!(serde.map(|(licence, _)| *licence), Some("MIT OR Apache-2.0"));
        assert!(!by.contains_key("unknown"), "{:?}", by.get("unknown"));
    }
}
