//! Presets: policies with a name, each one file of plain data.

use super::error::SettingsError;
use super::layer::{Leaf, Origin};
use super::nearest::nearest;
use epitome_core::Settings;
use toml::Table;

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../presets/", $name, ".toml")))),*]
    };
}

/// Every preset that comes with the program: its name and its file.
pub const BUILT_IN: &[(&str, &str)] = files![
    "default",
    "aura",
    "aura@code",
    "pi",
    "pi@0.58",
    "pi@0.83",
    "pi@0.87",
    "claude-code",
    "claude-code@2.1",
    "kaged",
    "kaged@2026-05",
    "omp@17",
    "omp@18",
    "omp@18.x",
    "operator-use",
    "operator-use@2",
    "operator-use-sliding",
    "operator-use-prune",
];

/// The preset of those who name none.
pub const DEFAULT: &str = "default";

/// A preset rests on another at most this often; the longest chain of ours is five files.
const BASES_MAX: usize = 8;

/// The names of all presets.
pub fn names() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().map(|(name, _)| *name)
}

/// A preset and those it rests on, the first of them first, each without its `base`.
pub(super) fn chain(name: &str) -> Result<Vec<(&'static str, Table)>, SettingsError> {
    let mut files = Vec::new();
    let mut next = Some(name.to_owned());
    while let Some(name) = next {
        let (known, text) = find(&name)?;
        let mut table: Table = text.parse().map_err(|error| SettingsError::syntax(known, error))?;
        next = table.remove("base").and_then(|base| base.as_str().map(str::to_owned));
        files.push((known, table));
        assert!(files.len() <= BASES_MAX, "presets do not rest on each other in a circle");
    }
    files.reverse();
    Ok(files)
}

fn find(name: &str) -> Result<(&'static str, &'static str), SettingsError> {
    let found = BUILT_IN.iter().find(|(known, _)| *known == name);
    found.copied().ok_or_else(|| SettingsError::UnknownPreset {
        name: name.to_owned(),
        nearest: nearest(name, names()),
    })
}

/// What a preset says, each value with the file that says it.
pub(super) fn leaves(name: &str) -> Result<Vec<Leaf>, SettingsError> {
    let mut leaves = Vec::new();
    for (name, table) in chain(name)? {
        let origin = Origin::Preset { name: name.into() };
        leaves.extend(super::layer::native(&origin, &table)?);
    }
    Ok(leaves)
}

/// A preset with its bases, as one table.
pub fn table(name: &str) -> Result<Table, SettingsError> {
    Ok(super::layer::table_of(leaves(name)?.iter()))
}

/// The settings of a preset.
///
/// # Errors
/// Where there is no preset of this name.
pub fn settings(name: &str) -> Result<Settings, SettingsError> {
    toml::Value::Table(table(name)?).try_into().map_err(|error| SettingsError::syntax(name, error))
}

#[cfg(test)]
mod tests {
    use super::{chain, names, settings};
    use epitome_core::{Policy, Settings};

    #[test]
    fn every_preset_makes_a_policy() {
        for name in names() {
            let settings = settings(name).unwrap_or_else(|error| panic!("{name}: {error}"));
            Policy::try_from(settings).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }

    #[test]
    fn the_default_preset_is_what_the_core_takes_where_nothing_is_set() {
        assert_eq!(settings("default"), Ok(Settings::default()));
    }

    #[test]
    fn a_base_comes_before_what_rests_on_it() {
        let files = chain("omp@18.x").expect("it is a preset");
        let names: Vec<&str> = files.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["pi", "pi@0.58", "omp@17", "omp@18", "omp@18.x"]);
    }

    #[test]
    fn a_preset_that_is_not_there_is_told_with_the_one_that_may_be_meant() {
        let error = settings("claude-cod").expect_err("there is none");
        let said = "there is no preset `claude-cod`; did you mean `claude-code`? use one of default, aura, aura@code, ";
        assert!(error.to_string().starts_with(said), "{error}");
    }
}
