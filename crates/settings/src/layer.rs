//! What one source says: values by key, each with where it was written.

use super::error::SettingsError;
use super::store::STORE;
use super::{foreign, schema};
use serde::Serialize;
use std::fmt;
use std::sync::Arc;
use toml::{Table, Value};

/// Who said something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase", tag = "from")]
pub enum SettingOrigin {
    /// Nobody: what the program does where no source says otherwise.
    Program,
    /// A preset.
    Preset {
        /// The one that says it; a preset may rest on others.
        name: Arc<str>,
        /// The path of an operator's own; nothing where it comes with the program.
        #[serde(skip_serializing_if = "Option::is_none")]
        file: Option<Arc<str>>,
    },
    /// The user's `epitome.toml`.
    User {
        /// Its path.
        file: Arc<str>,
    },
    /// The project's `epitome.toml`.
    Project {
        /// Its path.
        file: Arc<str>,
    },
    /// An agent's own file.
    Agent {
        /// Its path.
        file: Arc<str>,
    },
    /// A table for some models in either `epitome.toml`.
    Model {
        /// Its path.
        file: Arc<str>,
        /// The models it is for.
        pattern: Arc<str>,
    },
    /// The environment.
    Environment,
    /// A flag of the command line.
    Flag,
    /// An override for one call.
    Override,
}

impl fmt::Display for SettingOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Program => f.write_str("the program"),
            Self::Preset { name, file: None } => write!(f, "preset {name}"),
            Self::Preset { name, file: Some(file) } => write!(f, "preset {name} ({file})"),
            Self::User { file } | Self::Project { file } | Self::Agent { file } => f.write_str(file),
            Self::Model { file, pattern } => write!(f, "{file} [model.\"{pattern}\"]"),
            Self::Environment => f.write_str("environment"),
            Self::Flag => f.write_str("command line"),
            Self::Override => f.write_str("this call"),
        }
    }
}

impl SettingOrigin {
    /// Whether it comes with a project, and not from whoever runs the program. A table for some models has no
    /// place for what is asked here, whosever file it stands in.
    pub(super) fn is_of_project(&self) -> bool {
        match self {
            Self::Project { .. } | Self::Agent { .. } => true,
            Self::Program
            | Self::Preset { .. }
            | Self::User { .. }
            | Self::Model { .. }
            | Self::Environment
            | Self::Flag
            | Self::Override => false,
        }
    }
}

/// Tables that name addresses, keys or commands, or say what is kept: a file that comes with a project may not have them.
const OPERATORS: [&str; 5] = [ALIAS, HOOK, STORE, UPSTREAM, SERVE];
/// Models by the operator's own names.
pub(super) const ALIAS: &str = "alias";
/// Commands that are asked and told of compactions.
pub(super) const HOOK: &str = "hook";
/// Where a server sends requests.
pub(super) const UPSTREAM: &str = "upstream";
/// What else a server is told.
pub(super) const SERVE: &str = "serve";

/// Where a value was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SettingSource {
    /// By whom.
    #[serde(flatten)]
    pub origin: SettingOrigin,
    /// Under which name, which can be another system's.
    #[serde(rename = "as")]
    pub key: String,
}

impl fmt::Display for SettingSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.origin {
            SettingOrigin::Program | SettingOrigin::Preset { .. } => write!(f, "{}", self.origin),
            SettingOrigin::User { .. }
            | SettingOrigin::Project { .. }
            | SettingOrigin::Agent { .. }
            | SettingOrigin::Model { .. }
            | SettingOrigin::Environment
            | SettingOrigin::Flag
            | SettingOrigin::Override => write!(f, "{}: {}", self.origin, self.key),
        }
    }
}

/// One value and where it was written.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Leaf {
    /// The setting: `trigger.at`.
    pub key: String,
    /// Its value.
    pub value: Value,
    /// Where it was written.
    #[serde(flatten)]
    pub source: SettingSource,
}

/// What one source says.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Layer {
    /// The preset it asks for.
    pub(super) preset: Option<String>,
    /// Settings of ours.
    pub(super) native: Vec<Leaf>,
    /// Settings by other systems' names, not translated yet.
    pub(super) foreign: Vec<Leaf>,
}

/// Which names a table may use.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Names {
    /// Ours.
    Ours,
    /// Ours, and those of the systems that presets are named after.
    Any,
}

/// The settings of `table`, all of them ours.
pub(super) fn native(origin: &SettingOrigin, table: &Table) -> Result<Vec<Leaf>, SettingsError> {
    let mut layer = Layer::default();
    layer.gather(origin, table, "", Names::Ours)?;
    Ok(layer.native)
}

impl Layer {
    /// Takes up what `table` says. It stands at `place` of what was written: `features.compaction`.
    pub(super) fn gather(
        &mut self,
        origin: &SettingOrigin,
        table: &Table,
        place: &str,
        names: Names,
    ) -> Result<(), SettingsError> {
        self.gather_below(origin, table, place, "", names)
    }

    fn gather_below(
        &mut self,
        origin: &SettingOrigin,
        table: &Table,
        place: &str,
        above: &str,
        names: Names,
    ) -> Result<(), SettingsError> {
        for (name, value) in table {
            let key = join(above, name);
            let source = SettingSource { origin: origin.clone(), key: join(place, &key) };
            if key == "preset" {
                let named = value
                    .as_str()
                    .ok_or_else(|| SettingsError::value(&source, value, "write a preset's name"))?;
                self.preset = Some(named.to_owned());
            } else if names == Names::Any && foreign::is_meant(&key, value) {
                self.foreign.push(Leaf { key, value: value.clone(), source });
            } else if let Some(known) = schema::find(&key) {
                let checked = known.check(value.clone());
                let value = checked.map_err(|allowed| SettingsError::value(&source, value, &allowed))?;
                self.native.push(Leaf { key, value, source });
            } else if let Some(inner) = value.as_table().filter(|_| is_table(&key, names)) {
                self.gather_below(origin, inner, place, &key, names)?;
            } else if OPERATORS.contains(&key.as_str()) && origin.is_of_project() {
                return Err(SettingsError::Operators { at: Box::new(source) });
            } else {
                return Err(SettingsError::unknown(source, &key, names));
            }
        }
        Ok(())
    }
}

fn is_table(key: &str, names: Names) -> bool {
    schema::is_table(key) || (names == Names::Any && foreign::is_table(key))
}

/// `above.name`, or `name` alone.
pub(super) fn join(above: &str, name: &str) -> String {
    if above.is_empty() { name.to_owned() } else { format!("{above}.{name}") }
}

/// Leaves as a table; of several with one key the last counts, and what is unset is left out. Tables are
/// there even where nothing in them is set.
pub(super) fn table_of<'l>(leaves: impl Iterator<Item = &'l Leaf>) -> Table {
    let tables = schema::KEYS.iter().filter_map(|key| key.name.split_once('.'));
    let mut table: Table = tables.map(|(above, _)| (above.to_owned(), Table::new().into())).collect();
    for leaf in leaves {
        let (inner, name) = match leaf.key.split_once('.') {
            Some((above, name)) => (table.get_mut(above).and_then(Value::as_table_mut), name),
            None => (Some(&mut table), leaf.key.as_str()),
        };
        let inner = inner.expect("every table was put in above");
        if leaf.is_unset() {
            inner.remove(name);
        } else {
            inner.insert(name.to_owned(), leaf.value.clone());
        }
    }
    table
}

impl Leaf {
    /// Whether it takes back what a weaker source set.
    pub fn is_unset(&self) -> bool {
        let is_optional = schema::find(&self.key).is_some_and(|key| key.optional);
        is_optional && self.value.as_str() == Some(schema::UNSET)
    }
}
