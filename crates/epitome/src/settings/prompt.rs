//! Prompts by name or path: built in, or files of the project's and the user's.

use super::Places;
use super::disk;
use anyhow::{Context as _, Result, bail};
use epitome_core::Prompts;
use epitome_core::policy::Parts;
use epitome_settings::prompts;
use std::path::PathBuf;

/// Where `epitome init` puts the prompt of a project.
pub const SCAFFOLD: &str = "project:/.epitome/prompts/compaction-summary.md";

/// Files that are written where they are missing, each with the built-in prompt it begins as. Afterwards
/// they are their owner's.
const SCAFFOLDED: [(&str, &str, Parts); 2] =
    [(SCAFFOLD, "default", Parts::Prose), ("config:/prompts/compaction-summary.md", "kaged", Parts::All)];

/// Folders in which a prompt that is called by a mere name is looked for.
const FOLDERS: [&str; 2] = ["project:/.epitome/prompts/", "config:/prompts/"];

/// Prompts that were found.
pub struct LoadedPrompts {
    /// Their texts.
    pub prompts: Prompts,
    /// The file they come from; nothing where they are built in.
    pub file: Option<PathBuf>,
    /// Whether that file was missing and was written now.
    pub is_new: bool,
}

/// Loads the prompts that a policy names.
pub fn load(places: &Places, name: &str) -> Result<LoadedPrompts> {
    if let Some(file) = places.file(name)? {
        let is_new = restore(name, &file)?;
        return read(name, file, is_new);
    }
    if let Some(prompts) = prompts::built_in(name) {
        return Ok(LoadedPrompts { prompts, file: None, is_new: false });
    }
    let is_there = |folder: &&&str| match folder.starts_with("project") {
        true => places.project.is_some(),
        false => places.config.is_some(),
    };
    for folder in FOLDERS.iter().filter(is_there) {
        if let Some(file) = places.file(&format!("{folder}{name}.md"))?.filter(|file| file.is_file()) {
            return read(name, file, false);
        }
    }
    let known: Vec<&str> = prompts::names().collect();
    bail!(
        "there is no prompt `{name}`: it is none of {}, and there is no {}{name}.md; name a file with project:/ or config:/",
        known.join(", "),
        FOLDERS[0]
    )
}

/// The same, with nothing written: a prompt that `load` would write is the one it would begin as.
pub fn peek(places: &Places, name: &str) -> Result<Prompts> {
    let missing = places.file(name)?.is_some_and(|file| !file.exists());
    match SCAFFOLDED.iter().find(|(path, ..)| *path == name && missing) {
        Some((_, begins_as, parts)) => Ok(prompts::own(&text_of(begins_as, *parts))),
        None => load(places, name).map(|found| found.prompts),
    }
}

fn read(name: &str, file: PathBuf, is_new: bool) -> Result<LoadedPrompts> {
    let text = disk::read(&file)
        .with_context(|| format!("cannot read the prompt `{name}` at {}", file.display()))?;
    if text.trim().is_empty() {
        bail!(
            "the prompt `{name}` at {} is empty; write it, or delete it and run `epitome init`",
            file.display()
        );
    }
    Ok(LoadedPrompts { prompts: prompts::own(&text), file: Some(file), is_new })
}

/// Writes a scaffolded prompt again where it is missing; whether it was.
fn restore(name: &str, file: &std::path::Path) -> Result<bool> {
    let Some((_, begins_as, parts)) = SCAFFOLDED.iter().find(|(path, ..)| *path == name) else {
        return Ok(false);
    };
    disk::write_new(file, &text_of(begins_as, *parts))
        .with_context(|| format!("cannot write the prompt `{name}` to {}", file.display()))
}

/// The text of a built-in prompt, for what its preset asks a model for.
fn text_of(name: &str, parts: Parts) -> String {
    let prompts = prompts::built_in(name).expect("scaffolds begin as built-in prompts");
    match parts {
        Parts::Prose => prompts.prose.to_string(),
        Parts::All => prompts.first.to_string(),
    }
}

/// Writes the project's prompt where it is missing: where it lies, and whether it was written.
pub fn scaffold(places: &Places) -> Result<(PathBuf, bool)> {
    let file = places.file(SCAFFOLD)?.context("the project's folder is known")?;
    let is_new = restore(SCAFFOLD, &file)?;
    Ok((file, is_new))
}

#[cfg(test)]
mod tests {
    use super::{Places, SCAFFOLD, load};
    use epitome_settings::prompts;

    fn places() -> (tempfile::TempDir, Places) {
        let folder = tempfile::tempdir().expect("there is room");
        let [config, project] = ["config", "project"].map(|name| Some(folder.path().join(name)));
        (folder, Places { config, operator: None, project })
    }

    #[test]
    fn a_scaffolded_prompt_that_is_missing_is_written_again_and_then_left_alone() {
        let (_folder, places) = places();
        let found = load(&places, SCAFFOLD).expect("it is written");
        assert!(found.is_new);
        let file = found.file.expect("it is a file");
        std::fs::write(&file, "My own words.").expect("it can be written");
        let again = load(&places, SCAFFOLD).expect("it is there");
        assert_eq!((again.is_new, again.prompts), (false, prompts::own("My own words.")));
    }

    #[test]
    fn a_prompt_that_is_not_there_is_told_with_its_place() {
        let (_folder, places) = places();
        let said = load(&places, "project:/no.md").map(|_| ()).expect_err("it is missing").to_string();
        let place = places.project.expect("it has one").join("no.md");
        assert_eq!(said, format!("cannot read the prompt `project:/no.md` at {}", place.display()));
    }

    #[test]
    fn a_prompt_by_name_is_found_in_the_projects_folder() {
        let (_folder, places) = places();
        let file = places.project.clone().expect("it has one").join(".epitome/prompts/Compaction.md");
        std::fs::create_dir_all(file.parent().expect("it has one")).expect("there is room");
        std::fs::write(&file, "Be brief.").expect("it can be written");
        let found = load(&places, "Compaction").expect("it is there");
        assert_eq!((found.file, found.prompts), (Some(file), prompts::own("Be brief.")));
    }
}
