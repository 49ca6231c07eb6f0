//! What a transcript says of itself in passing, whatever its format: the model it was held with, and the
//! folder it was held in. Looked for in its bytes, before it is read.

use anyhow::{Context as _, Result};
use epitome_wire::ByteSource;
use std::collections::HashMap;
use std::path::PathBuf;

/// A model is looked for in this much of a transcript's beginning, and as much of its end.
const HINT_BYTES: u64 = 4 << 20;

/// The folder is written in the first records, or not at all.
const FOLDER_BYTES: u64 = 1 << 20;

/// The models a transcript names near its beginning and its end, whoever they are of, the one named most first.
pub fn models(source: &dyn ByteSource) -> Result<Vec<String>> {
    let mut named: HashMap<String, usize> = HashMap::new();
    let len = source.len();
    for offset in [0, len.saturating_sub(HINT_BYTES)] {
        let mut bytes = vec![0; HINT_BYTES.min(len) as usize];
        let got = source.read_at(offset, &mut bytes).context("cannot read the file")?;
        count_models(&String::from_utf8_lossy(&bytes[..got]), &mut named);
    }
    let mut named: Vec<(String, usize)> = named.into_iter().collect();
    named.sort_by(|(one, ones), (other, others)| others.cmp(ones).then_with(|| other.cmp(one)));
    Ok(named.into_iter().map(|(name, _)| name).collect())
}

/// The keys under which tools write the model's name.
const MODEL_KEYS: [&str; 4] = ["\"model\"", "\"modelID\"", "\"modelId\"", "\"model_name\""];

fn count_models(text: &str, named: &mut HashMap<String, usize>) {
    for key in MODEL_KEYS {
        for (at, _) in text.match_indices(key) {
            if let Some(name) = value_after(&text[at + key.len()..]) {
                *named.entry(name.to_owned()).or_default() += 1;
            }
        }
    }
}

/// The string after a key, where it can be a model's name.
fn value_after(text: &str) -> Option<&str> {
    let rest = text.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
    let name = &rest[..rest.find('"')?];
    let is_name = (2..80).contains(&name.len()) && !name.starts_with('<') && !name.contains([' ', '\\']);
    is_name.then_some(name)
}

/// The folder a transcript says it was held in, where that still is a folder. The root of all folders is
/// nobody's project.
pub fn folder(source: &dyn ByteSource) -> Option<PathBuf> {
    let folder = PathBuf::from(folder_named(source)?).canonicalize().ok()?;
    (folder.is_dir() && folder.parent().is_some()).then_some(folder)
}

/// The same by its name, be it there or not.
pub fn folder_named(source: &dyn ByteSource) -> Option<String> {
    let mut bytes = vec![0; FOLDER_BYTES.min(source.len()) as usize];
    let got = source.read_at(0, &mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes[..got]).into_owned();
    let (_, rest) = text.split_once("\"cwd\"")?;
    let quoted = rest.trim_start().strip_prefix(':')?.trim_start();
    serde_json::Deserializer::from_str(quoted).into_iter().next()?.ok()
}

#[cfg(test)]
mod tests {
    use super::folder;

    #[test]
    fn the_folder_is_the_first_one_named_and_must_be_there() {
        let here = tempfile::tempdir().expect("there is room");
        let real = here.path().canonicalize().expect("it is there");
        let line =
            |path: &str| format!(r#"{{"type":"session","cwd":{path:?},"x":"\"cwd\": no"}}"#).into_bytes();
        let named = real.to_str().expect("a plain name");
        assert_eq!(folder(&line(named)), Some(real.clone()));
        assert_eq!(
            [folder(&line("/")), folder(&line("/no/such/folder")), folder(&b"{}".to_vec())],
            [None, None, None]
        );
    }
}
