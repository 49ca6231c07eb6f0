//! Merging of all sources by strength into one policy, each value with who said it. Each source is
//! read by its own module; what other systems' names mean is `foreign`'s.

use super::error::SettingsError;
use super::file::{self, ServerTables, SettingsFile, SourceText, is_match};
use super::foreign::{self, VARIABLES};
use super::layer::{Layer, Leaf, Names, SettingOrigin, SettingSource, table_of};
use super::preset::{self, OwnPreset, Presets};
use super::schema::{self, Door};
use super::store::{self, StoreSettings};
use super::{agent, doors, environment, together};
use epitome_core::{Policy, Settings, Tokens};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use toml::{Table, Value};

/// Everything that can be said about how to compact, weakest first. What is not there says nothing.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// Presets of the operator's own, which may be named wherever a built-in one may.
    pub presets: Vec<OwnPreset>,
    /// The operator's own: the user's `epitome.toml`, or a file they name in its place.
    pub user: Option<SourceText>,
    /// The project's, which may set policy and choose among what the operator defined.
    pub project: Option<SourceText>,
    /// The agent's file, after those of the agents it inherits from, the first ancestor first.
    pub agents: Vec<SourceText>,
    /// The model at work; tables of either `epitome.toml` may be for it.
    pub model: Option<String>,
    /// The door at work; what does not work there is refused or noted. Nothing is where there is none.
    pub door: Option<Door>,
    /// Variables of the environment; those that are not ours are passed over.
    pub environment: Vec<(String, String)>,
    /// Flags of the command line.
    pub flags: Vec<FlagValue>,
    /// Overrides for this call, by our names or another system's.
    pub overrides: Table,
}

/// A flag that sets a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlagValue {
    /// The flag, as it is written: `--target`.
    pub name: String,
    /// The setting, or `preset`.
    pub key: String,
    /// Its value, as it is written in the environment.
    pub text: String,
}

/// A policy, and how it came about.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ResolvedPolicy {
    /// The policy.
    pub policy: Arc<Policy>,
    /// The preset below it.
    pub preset: String,
    /// Every value that counts, with who said it, in the order of [`schema::KEYS`].
    pub leaves: Vec<Leaf>,
    /// The door they are for, where they are for one.
    pub door: Option<Door>,
    /// `[alias.NAME]` of the operator's file, for the provider crate to read.
    pub aliases: Table,
    /// `[hook.NAME]` of the operator's file, for whoever runs commands to read.
    pub hooks: Table,
    /// `[store]`, with what the environment and flags say of it.
    pub store: StoreSettings,
    /// `[upstream]` and `[serve]` of the operator's file, for a server to read.
    pub server: ServerTables,
    /// `[agents]` of both files: paths by name.
    pub agents: Table,
    /// What a person should know: what has no effect, and what acts otherwise than it was written.
    pub notes: Vec<String>,
}

/// A value with the strength of its source.
#[derive(Clone, Debug)]
pub(super) struct RankedValue {
    pub(super) rank: usize,
    pub(super) leaf: Leaf,
}

/// What counts so far, by key.
pub(super) type EffectiveValues = BTreeMap<String, RankedValue>;

/// The strength of presets; every other source is stronger.
const PRESET_RANK: usize = 0;

/// Makes one policy of everything that was said.
///
/// # Errors
/// The first key or value that cannot be used, with where it was written.
pub fn resolve(sources: &Sources) -> Result<ResolvedPolicy, SettingsError> {
    let (read, presets) = (SourceLayers::of(sources)?, Presets::with(&sources.presets));
    let chosen = read.layers.iter().rev().find_map(|layer| layer.preset.clone());
    let preset = chosen.unwrap_or_else(|| preset::DEFAULT.to_owned());
    let mut ours = EffectiveValues::new();
    for leaf in presets.leaves(&preset)? {
        settle(&mut ours, PRESET_RANK, leaf);
    }
    let mut theirs = EffectiveValues::new();
    for (rank, layer) in (1..).zip(read.layers) {
        doors::check(sources.door, &layer.native)?;
        layer.native.into_iter().for_each(|leaf| settle(&mut ours, rank, leaf));
        layer.foreign.into_iter().for_each(|leaf| settle(&mut theirs, rank, leaf));
    }
    let mut notes = pass_over_variables(&mut theirs, presets, &preset)?;
    let translated = foreign::translate(&theirs, &ours)?;
    notes.extend(translated.notes);
    for said in translated.said {
        let is_call = said.leaf.source.origin == SettingOrigin::Override;
        doors::check(sources.door.filter(|_| is_call), [&said.leaf])?;
        notes.extend(settle_translated(&mut ours, said));
    }
    honour_asked_reserve(&mut ours);
    let settings = settings_of(&ours)?;
    let leaves = leaves_of(ours, &settings);
    together::check(&leaves, &settings, sources.door)?;
    notes.extend(together::notes(&leaves, &settings, sources.door));
    notes.extend(doors::notes(sources.door, &leaves));
    let policy = Arc::new(Policy::try_from(settings)?);
    let SourceLayers { aliases, hooks, server, agents, store, .. } = read;
    let store = StoreSettings::of(sources, &store)?;
    let door = sources.door;
    Ok(ResolvedPolicy { policy, preset, leaves, door, aliases, hooks, store, server, agents, notes })
}

/// What all sources but the preset say, weakest first.
struct SourceLayers {
    layers: Vec<Layer>,
    aliases: Table,
    hooks: Table,
    store: Table,
    server: ServerTables,
    agents: Table,
}

impl SourceLayers {
    fn of(sources: &Sources) -> Result<Self, SettingsError> {
        let user = read_file(sources.user.as_ref(), |file| SettingOrigin::User { file })?;
        let project = read_file(sources.project.as_ref(), |file| SettingOrigin::Project { file })?;
        let agents_own = sources.agents.iter().map(agent::read).collect::<Result<Vec<_>, _>>()?;
        let of_project = std::iter::once(&project.layer).chain(project.models.iter().map(|(_, layer)| layer));
        of_project.chain(&agents_own).try_for_each(|layer| check_writer(layer, &user.aliases))?;
        let mut models = models_for(sources.model.as_deref(), user.models);
        models.extend(models_for(sources.model.as_deref(), project.models));
        let mut layers = vec![user.layer, project.layer];
        layers.extend(agents_own);
        layers.extend(models);
        layers.push(environment::read(&sources.environment)?);
        layers.push(read_flags(&sources.flags)?);
        let mut overrides = Layer::default();
        overrides.gather(&SettingOrigin::Override, &sources.overrides, "", Names::Any)?;
        layers.push(overrides);
        let mut agents = user.agents;
        agents.extend(project.agents);
        let (aliases, hooks, server) = (user.aliases, user.hooks, user.server);
        Ok(Self { layers, aliases, hooks, store: user.store, server, agents })
    }
}

/// The setting that says who is sent a session to write its summary.
const WRITER: &str = "summary.by";

/// Refuses a summariser that a project's file names by its provider: who is sent a session is the
/// operator's to decide, and theirs to give a name. Other systems' names are looked at as what they stand for.
fn check_writer(layer: &Layer, aliases: &Table) -> Result<(), SettingsError> {
    let names_provider = |leaf: &&Leaf| {
        let name = leaf.value.as_str().filter(|_| leaf.key == WRITER);
        name.is_some_and(|name| name.contains('/') && !aliases.contains_key(name))
    };
    let mut theirs = EffectiveValues::new();
    layer.foreign.iter().for_each(|leaf| settle(&mut theirs, PRESET_RANK, leaf.clone()));
    let translated = foreign::translate(&theirs, &EffectiveValues::new())?.said;
    let allowed = "this file comes with the project: write a name from [alias] of the user's `epitome.toml`, \
                   or say it there, or for this run alone";
    let refused = layer.native.iter().chain(translated.iter().map(|said| &said.leaf)).find(names_provider);
    refused.map_or(Ok(()), |leaf| Err(SettingsError::value(&leaf.source, &leaf.value, allowed)))
}

fn read_file(
    text: Option<&SourceText>,
    origin: impl Fn(Arc<str>) -> SettingOrigin,
) -> Result<SettingsFile, SettingsError> {
    text.map_or_else(|| Ok(SettingsFile::default()), |text| file::read(&origin(text.name.clone()), text))
}

/// The tables for `model`, the one with the longest pattern last: it means fewest models.
fn models_for(model: Option<&str>, tables: Vec<(String, Layer)>) -> Vec<Layer> {
    let mut meant = tables;
    meant.retain(|(pattern, _)| model.is_some_and(|model| is_match(pattern, model)));
    meant.sort_by_key(|(pattern, _)| pattern.len());
    meant.into_iter().map(|(_, layer)| layer).collect()
}

fn read_flags(flags: &[FlagValue]) -> Result<Layer, SettingsError> {
    let mut layer = Layer::default();
    for FlagValue { name, key, text } in flags {
        let source = SettingSource { origin: SettingOrigin::Flag, key: name.clone() };
        if key == "preset" {
            layer.preset = Some(text.clone());
            continue;
        }
        if store::is_meant(key) {
            continue;
        }
        let Some(known) = schema::find(key) else {
            let at = SettingSource { key: key.clone(), ..source };
            return Err(SettingsError::unknown(at, key, Names::Ours));
        };
        let parsed = known.parse(text);
        let value =
            parsed.map_err(|allowed| SettingsError::value(&source, &text.as_str().into(), &allowed))?;
        layer.native.push(Leaf { key: key.clone(), value, source });
    }
    Ok(layer)
}

fn settle(settled: &mut EffectiveValues, rank: usize, leaf: Leaf) {
    settled.insert(leaf.key.clone(), RankedValue { rank, leaf });
}

/// Settles what another system's name stood for. A note where the same source says it by our name as well.
fn settle_translated(ours: &mut EffectiveValues, said: RankedValue) -> Option<String> {
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
    theirs: &mut EffectiveValues,
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
fn honour_asked_reserve(ours: &mut EffectiveValues) {
    let Some(at) = ours.get("trigger.at").filter(|at| at.rank > PRESET_RANK).cloned() else { return };
    let key = "trigger.yields";
    let yields = ours.get(key).filter(|yields| yields.rank == PRESET_RANK);
    if yields.is_some_and(|yields| yields.leaf.value.as_bool() == Some(true)) {
        let leaf = Leaf { key: key.to_owned(), value: Value::Boolean(false), source: at.leaf.source };
        settle(ours, at.rank, leaf);
    }
}

fn settings_of(ours: &EffectiveValues) -> Result<Settings, SettingsError> {
    let table = table_of(ours.values().map(|said| &said.leaf));
    Value::Table(table).try_into().map_err(|error| SettingsError::syntax("the settings", error))
}

/// Every value that counts, in order; where nobody said one, the program did.
fn leaves_of(mut ours: EffectiveValues, settings: &Settings) -> Vec<Leaf> {
    let effective = Table::try_from(settings).expect("settings were made from a table");
    let program = |key: &schema::Key| {
        let (above, name) = key.name.rsplit_once('.')?;
        let value = effective.get(above)?.get(name)?.clone();
        let source = SettingSource { origin: SettingOrigin::Program, key: key.name.to_owned() };
        Some(Leaf { key: key.name.to_owned(), value, source })
    };
    let leaf = |key: &schema::Key| ours.remove(key.name).map(|said| said.leaf).or_else(|| program(key));
    schema::KEYS.iter().filter_map(leaf).collect()
}

impl ResolvedPolicy {
    /// Who said the setting called `key`; nobody where it is unset.
    pub fn source(&self, key: &str) -> Option<&SettingSource> {
        self.leaves.iter().find(|leaf| leaf.key == key).map(|leaf| &leaf.source)
    }

    /// Refuses points that make no sense together in `window`. What can be compared without one was compared
    /// when they were resolved.
    ///
    /// # Errors
    /// Where compaction would always be due, or would gain nothing.
    pub fn check_in(&self, window: Tokens) -> Result<(), SettingsError> {
        together::check_in(&self.leaves, &self.policy, self.door, window)
    }

    /// The settings that the door they are for does not look at, whoever said them.
    pub fn unused(&self) -> Vec<&'static str> {
        let is_idle = |key: &&schema::Key| self.door.is_some_and(|door| !key.doors.contains(&door));
        schema::KEYS.iter().filter(is_idle).map(|key| key.name).collect()
    }
}

/// A resolved policy as it is printed and sent.
impl Serialize for ResolvedPolicy {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct as _;
        let mut fields = serializer.serialize_struct("Resolved", 7)?;
        fields.serialize_field("preset", &self.preset)?;
        fields.serialize_field("door", &self.door)?;
        fields.serialize_field("settings", &self.leaves)?;
        fields.serialize_field("unused", &self.unused())?;
        fields.serialize_field("hooks", &self.hooks.keys().collect::<Vec<_>>())?;
        fields.serialize_field("store", &self.store)?;
        fields.serialize_field("notes", &self.notes)?;
        fields.end()
    }
}
