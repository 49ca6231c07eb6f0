//! Presets: policies with a name, each one file of plain data that states what differs from its base.
//!
//! Those that come with the program are compiled in; an operator's own are handed in as texts. Merging a
//! preset with the other sources is `resolve`'s.

use super::error::SettingsError;
use super::file::SourceText;
use super::layer::{Leaf, SettingOrigin, SettingSource};
use super::nearest::nearest;
use epitome_core::Settings;
use toml::{Table, Value};

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

/// The preset of those who name none, and the base of an operator's own that names none.
pub const DEFAULT: &str = "default";

/// A preset that an operator wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnPreset {
    /// Its name: that of its file, without the ending.
    pub name: String,
    /// The file.
    pub file: SourceText,
}

/// The presets there are: the built-in ones, and an operator's own.
#[derive(Clone, Copy, Debug, Default)]
pub struct Presets<'p> {
    own: &'p [OwnPreset],
}

/// One file of a chain, without its `base`.
#[derive(Debug)]
pub(super) struct PresetFile {
    pub(super) origin: SettingOrigin,
    pub(super) name: String,
    table: Table,
}

/// The names of the presets that come with the program.
pub fn names() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().map(|(name, _)| *name)
}

/// The settings of a preset that comes with the program.
///
/// # Errors
/// Where there is none of this name.
pub fn settings(name: &str) -> Result<Settings, SettingsError> {
    Presets::default().settings(name)
}

impl<'p> Presets<'p> {
    /// The built-in presets and these.
    pub fn with(own: &'p [OwnPreset]) -> Self {
        Self { own }
    }

    /// The names of all of them, the built-in ones first.
    pub fn names(self) -> impl Iterator<Item = &'p str> {
        let built_in = BUILT_IN.iter().map(|(name, _)| -> &'p str { name });
        built_in.chain(self.own.iter().map(|own| own.name.as_str()))
    }

    /// The settings of a preset.
    ///
    /// # Errors
    /// Where there is no preset of this name, or its files cannot be used.
    pub fn settings(self, name: &str) -> Result<Settings, SettingsError> {
        let table = super::layer::table_of(self.leaves(name)?.iter());
        Value::Table(table).try_into().map_err(|error| SettingsError::syntax(name, error))
    }

    /// What a preset says, each value with the file that says it.
    pub(super) fn leaves(self, name: &str) -> Result<Vec<Leaf>, SettingsError> {
        let mut leaves = Vec::new();
        for file in self.chain(name)? {
            leaves.extend(super::layer::native(&file.origin, &file.table)?);
        }
        Ok(leaves)
    }

    /// A preset and those it rests on, the first of them first.
    pub(super) fn chain(self, name: &str) -> Result<Vec<PresetFile>, SettingsError> {
        let mut files: Vec<PresetFile> = Vec::new();
        let mut next = Some(name.to_owned());
        while let Some(name) = next {
            if files.iter().any(|file| file.name == name) {
                let names = files.iter().map(|file| file.name.as_str()).chain([name.as_str()]);
                return Err(SettingsError::PresetCircle { names: names.collect::<Vec<_>>().join(", ") });
            }
            let mut file = self.find(&name, files.last())?;
            next = base_of(&mut file)?;
            files.push(file);
        }
        files.reverse();
        Ok(files)
    }

    /// The file of a preset; `above` is the one that rests on it.
    fn find(self, name: &str, above: Option<&PresetFile>) -> Result<PresetFile, SettingsError> {
        let built_in = BUILT_IN.iter().find(|(known, _)| *known == name);
        let own = self.own.iter().find(|own| own.name == name);
        let (file, text) = match (built_in, own) {
            (Some(_), Some(own)) => {
                return Err(SettingsError::PresetName { name: name.to_owned(), file: own.file.name.clone() });
            }
            (Some((_, text)), None) => (None, *text),
            (None, Some(own)) => (Some(own.file.name.clone()), own.file.text.as_str()),
            (None, None) => return Err(self.unknown(name, above)),
        };
        let origin = SettingOrigin::Preset { name: name.into(), file };
        let table = text.parse().map_err(|error| SettingsError::syntax(&origin.to_string(), error))?;
        Ok(PresetFile { origin, name: name.to_owned(), table })
    }

    fn unknown(self, name: &str, above: Option<&PresetFile>) -> SettingsError {
        SettingsError::UnknownPreset {
            name: name.to_owned(),
            base_of: above.map(|file| file.origin.to_string()),
            nearest: nearest(name, self.names()).map(str::to_owned),
            all: self.names().collect::<Vec<_>>().join(", "),
        }
    }
}

/// Takes the name of the base out of a preset's file. An operator's own rests on the default where it says
/// nothing; the default alone rests on none.
fn base_of(file: &mut PresetFile) -> Result<Option<String>, SettingsError> {
    let at = |key: &str| SettingSource { origin: file.origin.clone(), key: key.to_owned() };
    if let Some(named) = file.table.get("preset") {
        return Err(SettingsError::value(&at("preset"), named, "a preset names what it rests on as `base`"));
    }
    match file.table.remove("base") {
        Some(Value::String(base)) => Ok(Some(base)),
        Some(value) => Err(SettingsError::value(&at("base"), &value, "write a preset's name")),
        None => Ok((file.name != DEFAULT).then(|| DEFAULT.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::{DEFAULT, OwnPreset, Presets, names, settings};
    use crate::SourceText;
    use epitome_core::{Policy, Settings};

    fn own(name: &str, text: &str) -> OwnPreset {
        let file = SourceText { name: format!("presets/{name}.toml").into(), text: text.to_owned() };
        OwnPreset { name: name.to_owned(), file }
    }

    #[test]
    fn every_preset_makes_a_policy_and_states_its_base() {
        for (name, text) in super::BUILT_IN {
            let settings = settings(name).unwrap_or_else(|error| panic!("{name}: {error}"));
            Policy::try_from(settings).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(text.starts_with("base = "), *name != DEFAULT, "{name}");
        }
    }

    #[test]
    fn no_preset_repeats_its_base() {
        for name in names() {
            let leaves = Presets::default().leaves(name).unwrap_or_else(|error| panic!("{name}: {error}"));
            for (at, leaf) in leaves.iter().enumerate() {
                let below = leaves[..at].iter().rfind(|below| below.key == leaf.key);
                let says = format!("{name}: {} says {} again", leaf.source, leaf.key);
                assert!(below.is_none_or(|below| below.value != leaf.value), "{says}");
            }
        }
    }

    #[test]
    fn the_default_preset_is_what_the_core_takes_where_nothing_is_set() {
        assert_eq!(settings("default"), Ok(Settings::default()));
    }

    #[test]
    fn a_base_comes_before_what_rests_on_it() {
        let own = [own("mine", "base = \"yours\""), own("yours", "base = \"omp@18.x\"")];
        let chain = Presets::with(&own).chain("mine").expect("both are presets");
        let names: Vec<&str> = chain.iter().map(|file| file.name.as_str()).collect();
        assert_eq!(names, ["default", "pi", "pi@0.58", "omp@17", "omp@18", "omp@18.x", "yours", "mine"]);
    }

    #[test]
    fn an_own_preset_states_what_differs_and_rests_on_the_default_where_it_names_no_base() {
        let own = [own("mine", "mode = \"ask\"")];
        let expected = Settings { mode: epitome_core::policy::TriggerMode::Ask, ..Settings::default() };
        assert_eq!(Presets::with(&own).settings("mine"), Ok(expected));
    }

    #[test]
    fn a_preset_that_cannot_be_used_is_told_with_its_file() {
        let own = [
            own("a", "base = \"b\""),
            own("b", "base = \"a\""),
            own("c", "base = \"kagd\""),
            own("pi", "mode = \"ask\""),
            own("d", "base = \"default\"\n[triger]\nat = \"70%\""),
            own("e", "preset = \"pi\""),
            own("f", "base = 3"),
        ];
        let told = |name: &str| Presets::with(&own).settings(name).expect_err("it is refused").to_string();
        assert_eq!(
            ["a", "pi", "d", "e", "f"].map(told),
            [
                "presets rest on each other in a circle: a, b, a; give one of them another `base`",
                "presets/pi.toml has the name of a built-in preset, `pi`; rename the file",
                "preset d (presets/d.toml): `triger` is no setting; did you mean `trigger`?",
                "preset e (presets/e.toml): `preset` is \"pi\", which it cannot be; a preset names what it rests on as `base`",
                "preset f (presets/f.toml): `base` is 3, which it cannot be; write a preset's name",
            ]
        );
        let missing = "there is no preset `kagd`, the base of preset c (presets/c.toml); did you mean `kaged`? use one of default, aura, ";
        assert!(told("c").starts_with(missing), "{}", told("c"));
    }

    #[test]
    fn a_preset_that_is_not_there_is_told_with_the_one_that_may_be_meant() {
        let error = settings("claude-cod").expect_err("there is none");
        let said = "there is no preset `claude-cod`; did you mean `claude-code`? use one of default, aura, aura@code, ";
        assert!(error.to_string().starts_with(said), "{error}");
    }
}
