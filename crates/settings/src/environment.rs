//! Settings in the environment: `EPITOME_TRIGGER__AT=70%`, and the variables Claude Code knows.

use super::error::SettingsError;
use super::foreign::VARIABLES;
use super::layer::{Layer, Leaf, Names, SettingOrigin, SettingSource};
use super::{schema, store};

/// What our variables begin with.
const PREFIX: &str = "EPITOME_";
/// What stands between a table and a key of it.
const STEP: &str = "__";

/// Variables that give a flag its value, and are no settings.
const FLAGS: [&str; 5] = ["MODEL", "MODELS", "UPSTREAM", "UPSTREAM_ANTHROPIC", "UPSTREAM_OPENAI"];

/// What `variables` say. Those of ours without a step in their name can be anybody's, so they count only where they
/// name a setting, or all but name one.
pub(super) fn read(variables: &[(String, String)]) -> Result<Layer, SettingsError> {
    let mut layer = Layer::default();
    for (name, text) in variables {
        let source = SettingSource { origin: SettingOrigin::Environment, key: name.clone() };
        if VARIABLES.1.contains(&name.as_str()) {
            layer.foreign.push(Leaf { key: name.clone(), value: text.as_str().into(), source });
        } else if let Some(named) = name.strip_prefix(PREFIX) {
            read_ours(&mut layer, named, text, source)?;
        }
    }
    Ok(layer)
}

fn read_ours(layer: &mut Layer, named: &str, text: &str, source: SettingSource) -> Result<(), SettingsError> {
    let key = named.replace(STEP, ".").to_lowercase();
    if key == schema::PRESET {
        layer.preset = Some(text.to_owned());
        return Ok(());
    }
    if store::is_meant(&key) {
        return Ok(());
    }
    match schema::find(&key) {
        Some(known) => {
            let parsed = known.parse(text);
            let value = parsed.map_err(|allowed| SettingsError::value(&source, &text.into(), &allowed))?;
            layer.native.push(Leaf { key, value, source });
            Ok(())
        }
        None if named.contains(STEP) || is_slip(named, &key) => {
            Err(SettingsError::unknown(source, &key, Names::Ours))
        }
        None => Ok(()),
    }
}

/// Whether a variable that names no setting can hardly mean anything else.
fn is_slip(named: &str, key: &str) -> bool {
    !FLAGS.contains(&named)
        && !key.contains('.')
        && schema::nearest_to(key).is_some_and(|meant| !schema::is_table(meant))
}
