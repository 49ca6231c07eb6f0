//! Settings that cannot be used: where they were written, and what may be written instead.

use super::foreign;
use super::layer::{Names, SettingSource};
use super::schema::{self, Door};
use epitome_core::PolicyError;
use std::sync::Arc;
use toml::Value;

/// Settings that cannot be used.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// A file that is not there, or not ours to read.
    #[error("cannot read {file}: {why}")]
    Read {
        /// The file.
        file: String,
        /// What the system said.
        why: String,
    },
    /// A file that is no TOML or YAML.
    #[error("{file} is not understood: {why}")]
    Syntax {
        /// The file.
        file: String,
        /// Where it breaks off, and why.
        why: String,
    },
    /// A table where one of its keys is meant.
    #[error("{}: `{}` is a table of settings, and none itself; name one of {}", at.origin, at.key, keys.join(", "))]
    Table {
        /// Where it was written.
        at: Box<SettingSource>,
        /// The settings it holds.
        keys: Vec<&'static str>,
    },
    /// A key that nothing is called.
    #[error("{}: `{}` is no setting; {}", at.origin, at.key, meant(*nearest))]
    UnknownKey {
        /// Where it was written.
        at: Box<SettingSource>,
        /// The name that may be meant.
        nearest: Option<&'static str>,
    },
    /// A key that is gone.
    #[error("{}: `{}` was removed: {instead}", at.origin, at.key)]
    Removed {
        /// Where it was written.
        at: Box<SettingSource>,
        /// What to do instead.
        instead: &'static str,
    },
    /// A table with addresses, names of keys or commands, in a file that comes with a project.
    #[error(
        "{}: `[{}]` is the operator's to say: it names addresses, keys or commands, or says what is kept, and this file comes with the project; \
         write it into the user's `epitome.toml`, or into a file of yours that is read in its place",
        at.origin, at.key
    )]
    Operators {
        /// Where it was written.
        at: Box<SettingSource>,
    },
    /// A setting, said for this run, that the door at work does not look at.
    #[error("{}: `{}` is not used by `{door}`; {}", at.origin, at.key, schema::told(works))]
    Door {
        /// Where it was written.
        at: Box<SettingSource>,
        /// The door at work.
        door: Door,
        /// The doors behind which it works.
        works: &'static [Door],
    },
    /// A target that lies no lower than the point where compaction is due.
    #[error(
        "`trigger.target` is {target} ({target_from}), not below `{at_key}`, {at} ({at_from}): \
         compacting would gain nothing; set the target lower"
    )]
    Target {
        /// The target.
        target: String,
        /// Who said it.
        target_from: String,
        /// The point.
        at: String,
        /// The key that sets it.
        at_key: &'static str,
        /// Who said that.
        at_from: String,
    },
    /// A point that every request has come to.
    #[error(
        "`{at_key}` is {at} ({at_from}): every request would be compacted; leave more of the window to be filled"
    )]
    AlwaysDue {
        /// The point, as it was written.
        at: String,
        /// The key that sets it.
        at_key: &'static str,
        /// Who said it.
        at_from: String,
    },
    /// A value that its key does not take.
    #[error("{}: `{}` is {got}, which it cannot be; {allowed}", at.origin, at.key)]
    Value {
        /// Where it was written.
        at: Box<SettingSource>,
        /// What was written.
        got: String,
        /// What may be written.
        allowed: String,
    },
    /// A preset that is not there.
    #[error("there is no preset `{name}`{}; {}use one of {all}", resting(base_of.as_deref()), instead(nearest.as_deref()))]
    UnknownPreset {
        /// What was asked for.
        name: String,
        /// The preset that names it as its base; nothing where somebody asked for it.
        base_of: Option<String>,
        /// The name that may be meant.
        nearest: Option<String>,
        /// The names there are.
        all: String,
    },
    /// Presets without a first one.
    #[error("presets rest on each other in a circle: {names}; give one of them another `base`")]
    PresetCircle {
        /// Their names, the first again at the end.
        names: String,
    },
    /// An operator's preset that cannot be told from a built-in one.
    #[error("{file} has the name of a built-in preset, `{name}`; rename the file")]
    PresetName {
        /// The name.
        name: String,
        /// Where the operator's lies.
        file: Arc<str>,
    },
    /// Values that are right each by itself and wrong together.
    #[error(transparent)]
    Policy(#[from] PolicyError),
}

fn meant(nearest: Option<&str>) -> String {
    nearest.map_or_else(
        || "the reference of settings lists them".to_owned(),
        |name| format!("did you mean `{name}`?"),
    )
}

fn instead(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!("did you mean `{name}`? "))
}

fn resting(base_of: Option<&str>) -> String {
    base_of.map_or_else(String::new, |preset| format!(", the base of {preset}"))
}

impl SettingsError {
    pub(super) fn syntax(file: &str, error: impl std::fmt::Display) -> Self {
        Self::Syntax { file: file.to_owned(), why: error.to_string().trim_end().to_owned() }
    }

    pub(super) fn unknown(at: SettingSource, key: &str, names: Names) -> Self {
        if let Some(instead) = schema::instead_of(key) {
            return Self::Removed { at: Box::new(at), instead };
        }
        if schema::is_table(key) {
            return Self::Table { at: Box::new(at), keys: schema::keys_below(key).collect() };
        }
        let theirs = match names {
            Names::Ours => None,
            Names::Any => foreign::nearest_to(key),
        };
        Self::UnknownKey { at: Box::new(at), nearest: schema::nearest_to(key).or(theirs) }
    }

    pub(super) fn value(at: &SettingSource, got: &Value, allowed: &str) -> Self {
        Self::Value { at: Box::new(at.clone()), got: got.to_string(), allowed: allowed.to_owned() }
    }
}
