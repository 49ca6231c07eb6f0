//! Settings that the door at work does not look at: an error where somebody said one for this run, a note
//! where it stands in a file. Which setting works where is the schema's to say.

use super::error::SettingsError;
use super::layer::{Leaf, SettingOrigin};
use super::schema::{self, Door};

/// What every preset says of itself and no door looks at: nobody expects it to do anything.
const DESCRIPTION: &str = "about";

/// Refuses what was said for this run and would do nothing.
pub(super) fn check<'l>(
    door: Option<Door>,
    said: impl IntoIterator<Item = &'l Leaf>,
) -> Result<(), SettingsError> {
    let Some(door) = door else { return Ok(()) };
    let idle = said.into_iter().find(|leaf| is_said_now(&leaf.source.origin) && !works(leaf, door));
    idle.map_or(Ok(()), |leaf| {
        let works = schema::find(&leaf.key).map_or(&[][..], |key| key.doors);
        Err(SettingsError::Door { at: Box::new(leaf.source.clone()), door, works })
    })
}

/// What a person should know of values in their files that do nothing here: one note for each file.
pub(super) fn notes(door: Option<Door>, counted: &[Leaf]) -> Vec<String> {
    let Some(door) = door else { return Vec::new() };
    let mut idle: Vec<(&SettingOrigin, Vec<String>)> = Vec::new();
    let is_idle = |leaf: &&Leaf| !works(leaf, door) && is_own(&leaf.source.origin) && leaf.key != DESCRIPTION;
    for leaf in counted.iter().filter(is_idle) {
        let (origin, name) = (&leaf.source.origin, format!("`{}`", leaf.source.key));
        match idle.iter_mut().find(|(known, _)| *known == origin) {
            Some((_, names)) => names.push(name),
            None => idle.push((origin, vec![name])),
        }
    }
    let is = |names: &[String]| if names.len() == 1 { "is" } else { "are" };
    idle.iter()
        .map(|(origin, names)| format!("{origin}: {} {} not used by `{door}`", names.join(", "), is(names)))
        .collect()
}

fn works(leaf: &Leaf, door: Door) -> bool {
    schema::find(&leaf.key).is_none_or(|key| key.doors.contains(&door))
}

/// Whether it was said for this run, and so for this door.
fn is_said_now(origin: &SettingOrigin) -> bool {
    match origin {
        SettingOrigin::Environment | SettingOrigin::Flag | SettingOrigin::Override => true,
        SettingOrigin::Program
        | SettingOrigin::Preset { .. }
        | SettingOrigin::User { .. }
        | SettingOrigin::Project { .. }
        | SettingOrigin::Agent { .. }
        | SettingOrigin::Model { .. } => false,
    }
}

/// Whether a person wrote it, other than in what comes with the program: a built-in preset is made for every
/// door, and says so by itself.
fn is_own(origin: &SettingOrigin) -> bool {
    match origin {
        SettingOrigin::Program
        | SettingOrigin::Preset { file: None, .. }
        | SettingOrigin::Flag
        | SettingOrigin::Override => false,
        // A variable of another program's, which was not set for this run.
        SettingOrigin::Environment => true,
        SettingOrigin::Preset { file: Some(_), .. }
        | SettingOrigin::User { .. }
        | SettingOrigin::Project { .. }
        | SettingOrigin::Agent { .. }
        | SettingOrigin::Model { .. } => true,
    }
}
