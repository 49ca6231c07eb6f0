//! Records as version 2 writes them: lists of entries as runs (`m0003-m0450`), so that a file grows with its compactions
//! and not with its whole history at each of them. Lists of single entries, as older files have them, are read alike.

use epitome_core::{EntryId, Record};
use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use std::sync::Arc;

/// The lists of entries that a record has.
const LISTS: [&str; 5] = ["superseded", "dropped", "pruned", "reduced", "kept"];
/// More entries than any log holds: a damaged line must not fill the memory.
const ENTRIES_MAX: u32 = 1 << 24;

pub(super) fn serialize<S: Serializer>(record: &Record, to: S) -> Result<S::Ok, S::Error> {
    let mut value = serde_json::to_value(record).map_err(S::Error::custom)?;
    for list in lists(&mut value) {
        let ids: Vec<EntryId> = serde_json::from_value(list.take()).map_err(S::Error::custom)?;
        *list = runs(&ids).into();
    }
    value.serialize(to)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Arc<Record>, D::Error> {
    let mut value = Value::deserialize(from)?;
    for list in lists(&mut value) {
        let runs: Vec<String> = serde_json::from_value(list.take()).map_err(D::Error::custom)?;
        let ids = entries(&runs).map_err(D::Error::custom)?;
        *list = ids.iter().map(EntryId::to_string).collect();
    }
    serde_json::from_value(value).map_err(D::Error::custom)
}

fn lists(record: &mut Value) -> impl Iterator<Item = &mut Value> {
    let fields = record.as_object_mut().into_iter().flatten();
    fields.filter(|(name, _)| LISTS.contains(&name.as_str())).map(|(_, list)| list)
}

/// Each run of neighbours as one text, in the order they came.
fn runs(ids: &[EntryId]) -> Vec<String> {
    let neighbours = ids.chunk_by(|one, next| one.0.checked_add(1) == Some(next.0));
    let written = neighbours.map(|run| match run {
        [first, .., last] => format!("{first}-{last}"),
        [] | [_] => run.iter().map(EntryId::to_string).collect(),
    });
    written.collect()
}

fn entries(runs: &[String]) -> Result<Vec<EntryId>, String> {
    let mut ids = Vec::new();
    for run in runs {
        let (first, last) = run.split_once('-').unwrap_or((run, run));
        let (first, last): (EntryId, EntryId) = (first.parse()?, last.parse()?);
        if last.0 >= ENTRIES_MAX {
            return Err(format!("`{run}` names entries that no log holds"));
        }
        ids.extend((first.0..=last.0).map(EntryId));
    }
    Ok(ids)
}

#[cfg(test)]
mod tests {
    use super::{entries, runs};
    use epitome_core::EntryId;

    fn ids(places: &[u32]) -> Vec<EntryId> {
        places.iter().copied().map(EntryId).collect()
    }

    #[test]
    fn neighbours_are_written_as_one_run_and_read_back() {
        for (places, written) in [
            (&[][..], &[][..]),
            (&[7], &["m0007"]),
            (&[1, 2, 3, 4, 9, 11, 12], &["m0001-m0004", "m0009", "m0011-m0012"]),
            // What is not in order stays in its order.
            (&[5, 4, 5], &["m0005", "m0004-m0005"]),
        ] {
            assert_eq!(runs(&ids(places)), written);
            assert_eq!(entries(&runs(&ids(places))), Ok(ids(places)));
        }
    }

    #[test]
    fn a_run_without_end_is_refused() {
        let why = "`m0001-m4294967295` names entries that no log holds".to_owned();
        assert_eq!(entries(&["m0001-m4294967295".into()]), Err(why));
    }
}
