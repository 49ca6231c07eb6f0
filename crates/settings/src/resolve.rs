//! From everything that was written to one policy, each value with who said it.

use super::error::SettingsError;
use super::file::{self, File, Text, is_match};
use super::foreign::{self, VARIABLES};
use super::layer::{Layer, Leaf, Names, Origin, Source, table_of};
use super::preset::{self, OwnPreset, Presets};
use super::{agent, environment, schema};
use epitome_core::{Policy, Settings};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use toml::{Table, Value};

/// Everything that can be said about how to compact, weakest first. What is not there says nothing.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// Presets of the operator's own, which may be named wherever a built-in one may.
    pub presets: Vec<OwnPreset>,
    /// The user's `epitome.toml`.
    pub user: Option<Text>,
    /// The project's.
    pub project: Option<Text>,
    /// The agent's file, after those of the agents it inherits from, the first ancestor first.
    pub agents: Vec<Text>,
    /// The model at work; tables of either `epitome.toml` may be for it.
    pub model: Option<String>,
    /// Variables of the environment; those that are not ours are passed over.
    pub environment: Vec<(String, String)>,
    /// Flags of the command line.
    pub flags: Vec<Flag>,
    /// Overrides for this call, by our names or another system's.
    pub overrides: Table,
}

/// A flag that sets a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flag {
    /// The flag, as it is written: `--target`.
    pub name: String,
    /// The setting, or `preset`.
    pub key: String,
    /// Its value, as it is written in the environment.
    pub text: String,
}

/// A policy, and how it came about.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// The policy.
    pub policy: Arc<Policy>,
    /// The preset below it.
    pub preset: String,
    /// Every value that counts, with who said it, in the order of [`schema::KEYS`].
    pub leaves: Vec<Leaf>,
    /// `[alias.NAME]` of both files, for the provider crate to read.
    pub aliases: Table,
    /// `[agents]` of both files: paths by name.
    pub agents: Table,
    /// What a person should know: what has no effect, and what acts otherwise than it was written.
    pub notes: Vec<String>,
}

/// A value with the strength of its source.
#[derive(Clone, Debug)]
pub(super) struct Said {
    pub(super) rank: usize,
    pub(super) leaf: Leaf,
}

/// What counts so far, by key.
pub(super) type Settled = BTreeMap<String, Said>;

/// The strength of presets; every other source is stronger.
const PRESET_RANK: usize = 0;

/// Makes one policy of everything that was said.
///
/// # Errors
/// The first key or value that cannot be used, with where it was written.
pub fn resolve(sources: &Sources) -> Result<Resolved, SettingsError> {
    let (read, presets) = (Read::of(sources)?, Presets::with(&sources.presets));
    let chosen = read.layers.iter().rev().find_map(|layer| layer.preset.clone());
    let preset = chosen.unwrap_or_else(|| preset::DEFAULT.to_owned());
    let mut ours = Settled::new();
    for leaf in presets.leaves(&preset)? {
        settle(&mut ours, PRESET_RANK, leaf);
    }
    let mut theirs = Settled::new();
    for (rank, layer) in (1..).zip(read.layers) {
        layer.native.into_iter().for_each(|leaf| settle(&mut ours, rank, leaf));
        layer.foreign.into_iter().for_each(|leaf| settle(&mut theirs, rank, leaf));
    }
    let mut notes = pass_over_variables(&mut theirs, presets, &preset)?;
    let translated = foreign::translate(&theirs, &ours)?;
    notes.extend(translated.notes);
    for said in translated.said {
        notes.extend(settle_translated(&mut ours, said));
    }
    honour_asked_reserve(&mut ours);
    let settings = settings_of(&ours)?;
    let leaves = leaves_of(ours, &settings);
    let policy = Arc::new(Policy::try_from(settings)?);
    Ok(Resolved { policy, preset, leaves, aliases: read.aliases, agents: read.agents, notes })
}

/// What all sources but the preset say, weakest first.
struct Read {
    layers: Vec<Layer>,
    aliases: Table,
    agents: Table,
}

impl Read {
    fn of(sources: &Sources) -> Result<Self, SettingsError> {
        let user = read_file(sources.user.as_ref(), |file| Origin::User { file })?;
        let project = read_file(sources.project.as_ref(), |file| Origin::Project { file })?;
        let mut models = models_for(sources.model.as_deref(), user.models);
        models.extend(models_for(sources.model.as_deref(), project.models));
        let mut layers = vec![user.layer, project.layer];
        for text in &sources.agents {
            layers.push(agent::read(text)?);
        }
        layers.extend(models);
        layers.push(environment::read(&sources.environment)?);
        layers.push(read_flags(&sources.flags)?);
        let mut overrides = Layer::default();
        overrides.gather(&Origin::Override, &sources.overrides, "", Names::Any)?;
        layers.push(overrides);
        let over = |mut weak: Table, strong: Table| {
            weak.extend(strong);
            weak
        };
        let (aliases, agents) = (over(user.aliases, project.aliases), over(user.agents, project.agents));
        Ok(Self { layers, aliases, agents })
    }
}

fn read_file(text: Option<&Text>, origin: impl Fn(Arc<str>) -> Origin) -> Result<File, SettingsError> {
    text.map_or_else(|| Ok(File::default()), |text| file::read(&origin(text.name.clone()), text))
}

/// The tables for `model`, the one with the longest pattern last: it means fewest models.
fn models_for(model: Option<&str>, tables: Vec<(String, Layer)>) -> Vec<Layer> {
    let mut meant = tables;
    meant.retain(|(pattern, _)| model.is_some_and(|model| is_match(pattern, model)));
    meant.sort_by_key(|(pattern, _)| pattern.len());
    meant.into_iter().map(|(_, layer)| layer).collect()
}

fn read_flags(flags: &[Flag]) -> Result<Layer, SettingsError> {
    let mut layer = Layer::default();
    for Flag { name, key, text } in flags {
        let source = Source { origin: Origin::Flag, key: name.clone() };
        if key == "preset" {
            layer.preset = Some(text.clone());
            continue;
        }
        let Some(known) = schema::find(key) else {
            let at = Source { key: key.clone(), ..source };
            return Err(SettingsError::unknown(at, key, Names::Ours));
        };
        let parsed = known.parse(text);
        let value =
            parsed.map_err(|allowed| SettingsError::value(&source, &text.as_str().into(), &allowed))?;
        layer.native.push(Leaf { key: key.clone(), value, source });
    }
    Ok(layer)
}

fn settle(settled: &mut Settled, rank: usize, leaf: Leaf) {
    settled.insert(leaf.key.clone(), Said { rank, leaf });
}

/// Settles what another system's name stood for. A note where the same source says it by our name as well.
fn settle_translated(ours: &mut Settled, said: Said) -> Option<String> {
    let present = ours.get(&said.leaf.key).filter(|present| present.rank >= said.rank);
    let note = present.filter(|present| present.rank == said.rank && present.leaf.source != said.leaf.source);
    let note = note
        .map(|present| format!("{} has no effect: {} says it too", said.leaf.source, present.leaf.source));
    if present.is_none() {
        ours.insert(said.leaf.key.clone(), said);
    }
    note
}

/// Takes out the variables of another program where the preset is not of its family.
fn pass_over_variables(
    theirs: &mut Settled,
    presets: Presets<'_>,
    preset: &str,
) -> Result<Vec<String>, SettingsError> {
    let (family, names) = VARIABLES;
    if presets.chain(preset)?.iter().any(|link| link.name == family) {
        return Ok(Vec::new());
    }
    let taken = names.iter().filter_map(|name| theirs.remove(*name));
    Ok(taken.map(|said| format!("{} counts only with the preset {family}", said.leaf.source)).collect())
}

/// A reserve that somebody asked for does not give way, be it equal to the preset's.
fn honour_asked_reserve(ours: &mut Settled) {
    let Some(at) = ours.get("trigger.at").filter(|at| at.rank > PRESET_RANK).cloned() else { return };
    let key = "trigger.yields";
    let yields = ours.get(key).filter(|yields| yields.rank == PRESET_RANK);
    if yields.is_some_and(|yields| yields.leaf.value.as_bool() == Some(true)) {
        let leaf = Leaf { key: key.to_owned(), value: Value::Boolean(false), source: at.leaf.source };
        settle(ours, at.rank, leaf);
    }
}

fn settings_of(ours: &Settled) -> Result<Settings, SettingsError> {
    let table = table_of(ours.values().map(|said| &said.leaf));
    Value::Table(table).try_into().map_err(|error| SettingsError::syntax("the settings", error))
}

/// Every value that counts, in order; where nobody said one, the program did.
fn leaves_of(mut ours: Settled, settings: &Settings) -> Vec<Leaf> {
    let effective = Table::try_from(settings).expect("settings were made from a table");
    let program = |key: &schema::Key| {
        let (above, name) = key.name.rsplit_once('.')?;
        let value = effective.get(above)?.get(name)?.clone();
        let source = Source { origin: Origin::Program, key: key.name.to_owned() };
        Some(Leaf { key: key.name.to_owned(), value, source })
    };
    let leaf = |key: &schema::Key| ours.remove(key.name).map(|said| said.leaf).or_else(|| program(key));
    schema::KEYS.iter().filter_map(leaf).collect()
}

impl Resolved {
    /// Who said the setting called `key`; nobody where it is unset.
    pub fn source(&self, key: &str) -> Option<&Source> {
        self.leaves.iter().find(|leaf| leaf.key == key).map(|leaf| &leaf.source)
    }
}

/// A resolved policy as it is printed and sent.
impl Serialize for Resolved {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct as _;
        let mut fields = serializer.serialize_struct("Resolved", 3)?;
        fields.serialize_field("preset", &self.preset)?;
        fields.serialize_field("settings", &self.leaves)?;
        fields.serialize_field("notes", &self.notes)?;
        fields.end()
    }
}
