//! An agent's own file: YAML, or Markdown with YAML in front of it.
//!
//! Most of such a file is the agent's affair. Ours are `compaction:`, `features.compaction:`, the window
//! in `context:`, and the `parent:` whose settings it inherits.

use super::error::SettingsError;
use super::file::{SourceText, take_blocks};
use super::layer::{Layer, Names, SettingOrigin};
use toml::{Table, Value};

/// What stands around the front matter of a Markdown file.
const FENCE: &str = "---";

/// What an agent's file says about compaction.
pub(super) fn read(file: &SourceText) -> Result<Layer, SettingsError> {
    let origin = SettingOrigin::Agent { file: file.name.clone() };
    let mut table = front_matter(file)?;
    let mut layer = Layer::default();
    take_blocks(&mut layer, &origin, &mut table)?;
    // In other people's files it can be a text, and is none of our affair.
    if let Some(window) = table.remove("context").filter(Value::is_integer) {
        let alone = [("context".to_owned(), window)].into_iter().collect();
        layer.gather(&origin, &alone, "", Names::Any)?;
    }
    Ok(layer)
}

/// The agent that `file` names as the one it inherits from: a name of `[agents]`, or a path.
///
/// # Errors
/// Where its front matter is not YAML.
pub fn parent(file: &SourceText) -> Result<Option<String>, SettingsError> {
    let table = front_matter(file)?;
    Ok(table.get("parent").and_then(Value::as_str).map(str::to_owned))
}

fn front_matter(file: &SourceText) -> Result<Table, SettingsError> {
    let Some(yaml) = yaml_of(file) else { return Ok(Table::new()) };
    match to_toml(parse(yaml).map_err(|why| SettingsError::syntax(&file.name, why))?) {
        Some(Value::Table(table)) => Ok(table),
        Some(_) => Err(SettingsError::syntax(&file.name, "the front matter is no list of keys and values")),
        None => Ok(Table::new()),
    }
}

#[cfg(feature = "yaml")]
fn parse(yaml: &str) -> Result<serde_json::Value, String> {
    // As YAML 1.2 has it: `off` is a word, and one that several systems use.
    let options = serde_saphyr::options! { strict_booleans: true };
    serde_saphyr::from_str_with_options(yaml, options).map_err(|error| error.to_string())
}

#[cfg(not(feature = "yaml"))]
fn parse(_: &str) -> Result<serde_json::Value, String> {
    Err("YAML is not read by this build; turn on the feature `yaml`, or write the settings as TOML".into())
}

/// The YAML of a file: all of it, or what a Markdown file has between its first two fences.
fn yaml_of(file: &SourceText) -> Option<&str> {
    let text = file.text.trim_start_matches('\u{feff}');
    let Some(rest) =
        text.strip_prefix(FENCE).and_then(|rest| rest.strip_prefix('\n').or(rest.strip_prefix("\r\n")))
    else {
        let is_yaml = file.name.ends_with(".yaml") || file.name.ends_with(".yml");
        return is_yaml.then_some(text);
    };
    let is_open = |line: &&str| line.trim_end() != FENCE;
    let bytes: usize = rest.split_inclusive('\n').take_while(is_open).map(str::len).sum();
    Some(&rest[..bytes])
}

/// A value of YAML as one of TOML; what is null is not there.
fn to_toml(value: serde_json::Value) -> Option<Value> {
    match value {
        serde_json::Value::Null => None,
        serde_json::Value::Bool(flag) => Some(Value::Boolean(flag)),
        serde_json::Value::Number(number) => {
            number.as_i64().map(Value::Integer).or_else(|| number.as_f64().map(Value::Float))
        }
        serde_json::Value::String(text) => Some(Value::String(text)),
        serde_json::Value::Array(all) => Some(Value::Array(all.into_iter().filter_map(to_toml).collect())),
        serde_json::Value::Object(fields) => {
            let fields = fields.into_iter().filter_map(|(name, value)| Some((name, to_toml(value)?)));
            Some(Value::Table(fields.collect()))
        }
    }
}
