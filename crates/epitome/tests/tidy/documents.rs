//! Documents: they name every command and setting, and no place on anyone's machine.

use super::{none_of, root, text};
use epitome_wire::{FORMATS, Format};
use std::fs;
use std::process::Command;

/// What the program prints.
fn printed(args: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_epitome")).args(args).output().expect("the program runs");
    String::from_utf8(output.stdout).expect("the program writes UTF-8")
}

/// The first word of each line indented by two below `heading`.
fn listed(help: &str, heading: &str) -> Vec<String> {
    let below = help.lines().skip_while(|line| *line != heading).skip(1);
    let lines = below.take_while(|line| line.starts_with("  ")).filter(|line| !line.starts_with("   "));
    lines.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

#[test]
fn every_command_and_flag_is_documented() {
    let page = text("docs/reference/cli.md");
    let mut faults = Vec::new();
    for command in listed(&printed(&["--help"]), "Commands:") {
        if command == "help" {
            continue;
        }
        let Some(section) = section(&page, &format!("## epitome {command}")) else {
            faults.push(format!("docs/reference/cli.md has no section `## epitome {command}`"));
            continue;
        };
        let help = printed(&[&command, "--help"]);
        let flags = help.split_whitespace().filter(|word| word.starts_with("--") && word.len() > 2);
        let flags = flags.map(|flag| flag.trim_end_matches([',', ';', ')', ']']));
        let shared = ["--help", "--version", "--from", "--model", "--models", "--json"];
        let missing = flags.filter(|flag| !shared.contains(flag) && !section.contains(flag));
        faults.extend(missing.map(|flag| format!("docs/reference/cli.md: `{command}` lacks {flag}")));
    }
    none_of(faults);
}

/// The text between a heading and the next of its rank.
fn section<'p>(page: &'p str, heading: &str) -> Option<&'p str> {
    let (_, rest) = page.split_once(&format!("{heading}\n"))?;
    Some(rest.split("\n## ").next().unwrap_or(rest))
}

#[test]
fn every_setting_is_documented() {
    let page = text("docs/reference/settings.md");
    let presets: serde_json::Value = serde_json::from_str(&printed(&["presets", "--json"])).expect("JSON");
    let mut keys = Vec::new();
    for preset in presets.as_object().expect("presets by name").values() {
        gather("", preset, &mut keys);
    }
    keys.sort();
    keys.dedup();
    assert!(keys.len() > 5, "presets have settings: {keys:?}");
    none_of(keys.into_iter().filter(|key| !page.contains(&format!("`{key}`"))).collect());
}

/// The keys of a table and of those in it: `prune.results`.
fn gather(above: &str, value: &serde_json::Value, keys: &mut Vec<String>) {
    for (key, inner) in value.as_object().into_iter().flatten() {
        let name = format!("{above}{key}");
        if inner.is_object() {
            gather(&format!("{name}."), inner, keys);
        } else {
            keys.push(name);
        }
    }
}

#[test]
fn every_preset_is_listed_and_there_is_a_changelog() {
    let page = text("docs/reference/settings.md");
    let presets: serde_json::Value = serde_json::from_str(&printed(&["presets", "--json"])).expect("JSON");
    let names = presets.as_object().expect("presets by name").keys();
    none_of(names.filter(|name| !page.contains(&format!("`{name}`"))).cloned().collect());
    assert!(text("CHANGELOG.md").starts_with("# "), "CHANGELOG.md tells users what changed");
}

/// Folders whose files are other people's words, kept as they came.
const QUOTED: [&str; 2] = ["corpus/", "bench/labels/"];

/// Read from what git tracks, so that what a build leaves is not looked at; where there is no git,
/// there is nothing to check.
#[test]
fn no_file_names_a_place_on_a_machine() {
    let Ok(listed) = Command::new("git").args(["ls-files", "-z"]).current_dir(root()).output() else {
        return;
    };
    let names = String::from_utf8_lossy(&listed.stdout).into_owned();
    // Put together here, so that this file does not name them either.
    let places = ["work/", "root/", "tmp/target"].map(|place| format!("/{place}"));
    let mut faults = Vec::new();
    for name in names.split('\0').filter(|name| !QUOTED.iter().any(|quoted| name.starts_with(quoted))) {
        let Ok(text) = fs::read_to_string(root().join(name)) else { continue };
        for (at, line) in text.lines().enumerate() {
            let is_named = |place: &String| {
                line.match_indices(place.as_str()).any(|(at, _)| {
                    // A part of a longer path or address is something else: `docs/work/`.
                    !line[..at]
                        .ends_with(|before: char| before.is_alphanumeric() || "._-/*~".contains(before))
                })
            };
            faults
                .extend(places.iter().filter(|place| is_named(place)).map(|_| format!("{name}:{}", at + 1)));
        }
    }
    none_of(faults);
}

/// What stands between backquotes in a text.
fn quoted(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// The names in the first cells of the table below a heading.
fn first_cells<'p>(page: &'p str, heading: &str) -> Vec<&'p str> {
    let section = section(page, heading).unwrap_or_else(|| panic!("there is no section `{heading}`"));
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    rows.filter_map(|row| quoted(row).first().copied()).collect()
}

#[test]
fn the_formats_are_those_of_the_table() {
    let names: Vec<&str> = FORMATS.iter().map(|row| row.name).collect();
    let cli = text("docs/reference/cli.md");
    let row = cli.lines().find(|line| line.starts_with("| `--from FORMAT`")).expect("it is documented");
    assert_eq!(quoted(row)[2..], names, "docs/reference/cli.md, `--from`");
    let help = printed(&["inspect", "--help"]);
    let list = names.split_last().map(|(last, before)| format!("auto, {} or {last}", before.join(", ")));
    assert!(words(&help).contains(&list.expect("there are formats")), "{help}");

    let (lines, documents) =
        (text("docs/reference/formats-jsonl.md"), text("docs/reference/formats-documents.md"));
    let mut described = first_cells(&lines, "## What becomes of what");
    described.extend(first_cells(&documents, "## What becomes of what"));
    // Our own has a page to itself.
    described.push(Format::Native.name());
    described.sort_unstable();
    let mut expected = names;
    expected.sort_unstable();
    assert_eq!(described, expected, "docs/reference/formats-jsonl.md and formats-documents.md");
}

#[test]
fn the_endings_of_transcripts_are_those_of_the_table() {
    let page = words(&text("docs/reference/cli.md"));
    let sentence = page.split("files that end in ").nth(1).and_then(|rest| rest.split(", packed").next());
    let mut documented = quoted(sentence.expect("it is documented"));
    let mut endings: Vec<String> =
        FORMATS.iter().flat_map(|row| row.endings).map(|ending| format!(".{ending}")).collect();
    endings.sort_unstable();
    endings.dedup();
    documented.sort_unstable();
    assert_eq!(documented, endings);
}

/// A text with its lines joined.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
