//! `epitome.toml`: settings, tables for some models, and what is passed on to others.

use super::error::SettingsError;
use super::layer::{ALIAS, HOOK, Layer, Names, SERVE, SettingOrigin, SettingSource, UPSTREAM};
use super::store::STORE;
use std::sync::Arc;
use toml::{Table, Value};

/// A file that was read: its name for people, and its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceText {
    /// Its name, as people are told it.
    pub name: Arc<str>,
    /// What it holds.
    pub text: String,
}

/// What an operator's file tells a server, for that to read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServerTables {
    /// `[upstream]`: where requests go.
    pub upstream: Table,
    /// `[serve]`: what else it is told.
    pub serve: Table,
}

/// What an `epitome.toml` says.
#[derive(Debug, Default)]
pub(super) struct SettingsFile {
    pub(super) layer: Layer,
    /// Tables for the models that a pattern matches.
    pub(super) models: Vec<(String, Layer)>,
    /// `[alias.NAME]`: models by the operator's own names, from their own file. The provider crate reads them.
    pub(super) aliases: Table,
    /// `[hook.NAME]`: commands that are asked and told of compactions, from the operator's own file.
    pub(super) hooks: Table,
    /// `[store]`: what is kept, and for how long, from the operator's own file.
    pub(super) store: Table,
    /// `[upstream]` and `[serve]`: what a server is told, from the operator's own file.
    pub(super) server: ServerTables,
    /// `[agents]`: paths of agents' files by name.
    pub(super) agents: Table,
}

/// Where other systems keep their settings; they can be written so here.
const BLOCKS: [&[&str]; 2] = [&["compaction"], &["features", "compaction"]];
/// A table of pi's that stands beside its `compaction`.
const BRANCH_BLOCK: &str = "branchSummary";

/// Reads an `epitome.toml`. `origin` says whose it is.
pub(super) fn read(origin: &SettingOrigin, file: &SourceText) -> Result<SettingsFile, SettingsError> {
    let mut table: Table = file.text.parse().map_err(|error| SettingsError::syntax(&file.name, error))?;
    let mut read = SettingsFile::default();
    for (pattern, inner) in take(&mut table, origin, "model")? {
        let origin = SettingOrigin::Model { file: file.name.clone(), pattern: pattern.as_str().into() };
        let mut layer = Layer::default();
        layer.gather(&origin, &into_table(&origin, &pattern, inner)?, "", Names::Any)?;
        read.models.push((pattern, layer));
    }
    if !origin.is_of_project() {
        read.aliases = take(&mut table, origin, ALIAS)?;
        read.hooks = take(&mut table, origin, HOOK)?;
        read.store = take(&mut table, origin, STORE)?;
        read.server.upstream = take(&mut table, origin, UPSTREAM)?;
        read.server.serve = take(&mut table, origin, SERVE)?;
    }
    read.agents = take(&mut table, origin, "agents")?;
    take_blocks(&mut read.layer, origin, &mut table)?;
    read.layer.gather(origin, &table, "", Names::Ours)?;
    Ok(read)
}

/// Takes the table called `key` out of `table`; an empty one where there is none.
fn take(table: &mut Table, origin: &SettingOrigin, key: &str) -> Result<Table, SettingsError> {
    table.remove(key).map_or_else(|| Ok(Table::new()), |value| into_table(origin, key, value))
}

fn into_table(origin: &SettingOrigin, key: &str, value: Value) -> Result<Table, SettingsError> {
    match value {
        Value::Table(table) => Ok(table),
        value => {
            let at = SettingSource { origin: origin.clone(), key: key.to_owned() };
            Err(SettingsError::value(&at, &value, "write a table"))
        }
    }
}

/// Takes the blocks in which other systems keep their settings out of `table`, and up into `layer`.
pub(super) fn take_blocks(
    layer: &mut Layer,
    origin: &SettingOrigin,
    table: &mut Table,
) -> Result<(), SettingsError> {
    for steps in BLOCKS {
        let Some(block) = take_at(table, steps) else { continue };
        let place = steps.join(".");
        layer.gather(origin, &into_table(origin, &place, block)?, &place, Names::Any)?;
    }
    if let Some(block) = table.remove(BRANCH_BLOCK) {
        let alone = [(BRANCH_BLOCK.to_owned(), block)].into_iter().collect();
        layer.gather(origin, &alone, "", Names::Any)?;
    }
    Ok(())
}

/// Takes out what stands at the end of `steps`, and a table that this leaves empty.
fn take_at(table: &mut Table, steps: &[&str]) -> Option<Value> {
    let (first, rest) = steps.split_first()?;
    if rest.is_empty() {
        return table.remove(*first);
    }
    let inner = table.get_mut(*first)?.as_table_mut()?;
    let found = take_at(inner, rest);
    if inner.is_empty() {
        table.remove(*first);
    }
    found
}

/// Whether a pattern with `*` for any letters is a model's name, with or without its provider in front.
pub(super) fn is_match(pattern: &str, model: &str) -> bool {
    let (pattern, model) = (pattern.to_lowercase(), model.to_lowercase());
    let short = model.rsplit('/').next().unwrap_or(&model);
    [model.as_str(), short].into_iter().any(|name| matches(&pattern, name))
}

fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::is_match;

    #[test]
    fn a_star_stands_for_any_letters() {
        let of = |pattern| is_match(pattern, "anthropic/claude-opus-4.5");
        assert_eq!(
            ["claude-*", "claude-opus-4.5", "*opus*", "gpt-*", "claude", "claude-*-4.5", "*"].map(of),
            [true, true, true, false, false, true, true]
        );
    }
}
