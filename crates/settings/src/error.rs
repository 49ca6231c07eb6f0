//! Settings that cannot be used: where they were written, and what may be written instead.

use super::foreign;
use super::layer::{Names, Source};
use super::schema;
use epitome_core::PolicyError;
use std::sync::Arc;
use toml::Value;

/// Settings that cannot be used.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
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
    /// A key that nothing is called.
    #[error("{}: `{}` is no setting; {}", at.origin, at.key, meant(*nearest))]
    UnknownKey {
        /// Where it was written.
        at: Box<Source>,
        /// The name that may be meant.
        nearest: Option<&'static str>,
    },
    /// A value that its key does not take.
    #[error("{}: `{}` is {got}, which it cannot be; {allowed}", at.origin, at.key)]
    Value {
        /// Where it was written.
        at: Box<Source>,
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
    #[error("the settings make no policy: {0}")]
    Policy(#[from] PolicyError),
}

fn meant(nearest: Option<&str>) -> String {
    nearest.map_or_else(
        || "docs/reference/settings.md lists them".to_owned(),
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

    pub(super) fn unknown(at: Source, key: &str, names: Names) -> Self {
        let theirs = match names {
            Names::Ours => None,
            Names::Any => foreign::nearest_to(key),
        };
        Self::UnknownKey { at: Box::new(at), nearest: schema::nearest_to(key).or(theirs) }
    }

    pub(super) fn value(at: &Source, got: &Value, allowed: &str) -> Self {
        Self::Value { at: Box::new(at.clone()), got: got.to_string(), allowed: allowed.to_owned() }
    }
}
