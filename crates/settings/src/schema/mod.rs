//! The settings there are: each key with its kind, whether it may be left unset, and the doors it works behind.
//!
//! The core's types decide what a policy is. This list says the same for people: it is what refusals,
//! documents and screens are made from, and a test holds it and the types together.

mod door;
mod keys;
mod kind;
mod removed;

pub use door::Door;
pub(crate) use door::told;
pub use keys::KEYS;
pub use kind::{ValueKind, parse_window};
pub(crate) use removed::instead_of;
pub use removed::{REMOVED, RemovedSetting};

use super::nearest::nearest;

/// One setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// Its name: `trigger.at`.
    pub name: &'static str,
    /// What may be written.
    pub kind: ValueKind,
    /// Whether it may be unset, by `none` where something below sets it.
    pub optional: bool,
    /// The doors behind which it works.
    pub doors: &'static [Door],
    /// What it says, in a sentence for people.
    pub about: &'static str,
}

/// What unsets an optional key that a weaker source has set.
pub const UNSET: &str = "none";

/// The setting called `name`.
pub fn find(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.name == name)
}

/// Whether `name` is a table that holds settings.
pub fn is_table(name: &str) -> bool {
    keys_below(name).next().is_some()
}

/// The settings that the table called `name` holds.
pub(crate) fn keys_below(name: &str) -> impl Iterator<Item = &'static str> {
    let is_below = move |key: &&str| key.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'));
    KEYS.iter().map(|key| key.name).filter(is_below)
}

/// What chooses the preset that the settings rest on, beside them in every file.
pub(crate) const PRESET: &str = "preset";

/// The setting or table whose name is most like `name`, where one is.
pub fn nearest_to(name: &str) -> Option<&'static str> {
    let tables = KEYS.iter().filter_map(|key| key.name.split_once('.')).map(|(table, _)| table);
    nearest(name, KEYS.iter().map(|key| key.name).chain(tables).chain([PRESET]))
}

impl Key {
    /// What `text` means here, as an environment variable or a flag gives it.
    ///
    /// # Errors
    /// What may be written instead.
    pub fn parse(&self, text: &str) -> Result<toml::Value, String> {
        if self.optional && text == UNSET {
            return Ok(text.into());
        }
        self.kind.parse(text).and_then(|value| self.check(value))
    }

    /// `value` as the policy's types want it, where it is one of this kind.
    ///
    /// # Errors
    /// What may be written instead.
    pub fn check(&self, value: toml::Value) -> Result<toml::Value, String> {
        if self.optional && value.as_str() == Some(UNSET) {
            return Ok(value);
        }
        if let Some(gone) = removed::gone_word(self.name, &value) {
            return Err(format!("`{}` was removed: {}", gone.word.unwrap_or_default(), gone.instead));
        }
        let none = if self.optional { ", or `none` to unset it" } else { "" };
        self.kind.check(value).map_err(|allowed| format!("{allowed}{none}"))
    }
}

#[cfg(test)]
mod tests {
    use super::{KEYS, Key, UNSET, find};
    use epitome_core::Settings;
    use std::collections::BTreeSet;

    /// The fields of the table at `path`, as serde names them when it meets one it does not know.
    fn fields(path: &str) -> BTreeSet<String> {
        let mut table = default();
        let mut at = &mut table;
        for step in path.split('.').filter(|step| !step.is_empty()) {
            let inner = at.entry(step).or_insert_with(|| toml::Table::new().into());
            at = inner.as_table_mut().expect("it is a table");
        }
        at.insert("no such field".into(), true.into());
        let error = Settings::try_from_table(table).expect_err("the field is unknown");
        let listed = error.lines().next().and_then(|line| line.split("expected").nth(1));
        let listed = listed.expect("serde lists what it expects");
        listed.split('`').skip(1).step_by(2).map(str::to_owned).collect()
    }

    fn default() -> toml::Table {
        toml::Table::try_from(Settings::default()).expect("settings are a table")
    }

    trait TryFromTable: Sized {
        fn try_from_table(table: toml::Table) -> Result<Self, String>;
    }

    impl TryFromTable for Settings {
        fn try_from_table(table: toml::Table) -> Result<Self, String> {
            toml::Value::Table(table).try_into().map_err(|error: toml::de::Error| error.to_string())
        }
    }

    #[test]
    fn the_list_names_what_the_types_name() {
        let mut named = BTreeSet::new();
        for top in fields("") {
            if super::is_table(&top) {
                named.extend(fields(&top).iter().map(|field| format!("{top}.{field}")));
            } else {
                named.insert(top);
            }
        }
        let listed: BTreeSet<String> = KEYS.iter().map(|key| key.name.to_owned()).collect();
        assert_eq!(listed, named);
    }

    fn settings_with(key: &Key, value: toml::Value) -> Result<Settings, String> {
        let mut table = default();
        let (above, name) = key.name.rsplit_once('.').unwrap_or(("", key.name));
        let at = if above.is_empty() {
            &mut table
        } else {
            let inner = table.entry(above).or_insert_with(|| toml::Table::new().into());
            inner.as_table_mut().expect("it is a table")
        };
        at.insert(name.into(), value);
        Settings::try_from_table(table)
    }

    #[test]
    fn every_example_of_a_kind_is_what_the_types_take() {
        for key in KEYS {
            for text in key.kind.examples() {
                let value = key.parse(&text).unwrap_or_else(|why| panic!("{} = {text}: {why}", key.name));
                settings_with(key, value).unwrap_or_else(|why| panic!("{} = {text}: {why}", key.name));
            }
        }
    }

    #[test]
    fn only_optional_keys_can_be_unset() {
        let at = find("trigger.at").expect("it is a key");
        let target = find("trigger.target").expect("it is a key");
        assert_eq!(target.parse(UNSET), Ok(UNSET.into()));
        assert_eq!(at.parse(UNSET), Err("`none` is no threshold; write 80%, 160000 or -20000".into()));
    }
}
