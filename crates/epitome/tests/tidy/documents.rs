//! Documents: they name every command and setting, and no place on anyone's machine.

use super::{none_of, root, text, walk};
use epitome_core::{Settings, Strategy, Trigger};
use epitome_settings::Door;
use epitome_settings::schema::{KEYS, Key, ValueKind};
use epitome_wire::{FORMATS, Format};
use std::fs;
use std::path::PathBuf;
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

#[test]
fn every_event_is_documented() {
    let (page, source) = (text("docs/reference/events.md"), text("crates/engine/src/event.rs"));
    let names = source.lines().filter_map(|line| line.trim().strip_prefix("#[serde(rename = \""));
    let names: Vec<&str> = names.filter_map(|rest| rest.split('"').next()).collect();
    assert!(names.len() > 10, "events are named one by one: {names:?}");
    let missing = names.iter().filter(|name| !page.contains(&format!("`{name}`")));
    none_of(missing.map(|name| format!("docs/reference/events.md lacks `{name}`")).collect());
}

/// The text between a heading and the next of its rank.
fn section<'p>(page: &'p str, heading: &str) -> Option<&'p str> {
    let (_, rest) = page.split_once(&format!("{heading}\n"))?;
    Some(rest.split("\n## ").next().unwrap_or(rest))
}

/// What may be written, for the table of settings.
fn written(kind: ValueKind) -> String {
    let quoted = |words: &[&str]| words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>();
    match kind {
        ValueKind::Text => "text".to_owned(),
        ValueKind::Flag => "true or false".to_owned(),
        ValueKind::Number => "number".to_owned(),
        ValueKind::Window => "tokens, 2000 or more".to_owned(),
        ValueKind::Threshold => "threshold".to_owned(),
        ValueKind::Choice(words) => quoted(words).join(", "),
        ValueKind::Amount(words, amounts) => {
            let amounts = amounts.iter().map(|word| format!("`{{ {word} = N }}`"));
            quoted(words).into_iter().chain(amounts).collect::<Vec<_>>().join(", ")
        }
        ValueKind::Choices(words) => format!("list of {}", quoted(words).join(", ")),
        ValueKind::Texts => "list of texts".to_owned(),
        ValueKind::Numbers => "list of numbers".to_owned(),
    }
}

/// One row of it.
fn row(key: &Key, defaults: &toml::Table) -> String {
    let value = match key.name.split_once('.') {
        Some((above, name)) => defaults.get(above).and_then(|table| table.get(name)),
        None => defaults.get(key.name),
    };
    let default = value.map(|value| format!("`{value}`")).filter(|_| key.name != "about");
    let open = if key.optional { " ○" } else { "" };
    let doors: Vec<&str> = key.doors.iter().map(|door| door.name()).collect();
    let doors = match doors.len() {
        0 => "no command".to_owned(),
        all if all == Door::ALL.len() => "everywhere".to_owned(),
        _ => doors.join(", "),
    };
    let default = default.unwrap_or_default();
    format!("| `{}`{open} | {} | {default} | {doors} | {} |\n", key.name, written(key.kind), key.about)
}

/// The table of the keys below these tables; `-` are those that stand in none.
fn table(tables: &str) -> String {
    let defaults = toml::Table::try_from(Settings::default()).expect("settings are a table");
    let is_meant = |key: &&Key| {
        let above = key.name.split_once('.').map_or("-", |(above, _)| above);
        tables.split(' ').any(|table| table == above)
    };
    let rows = KEYS.iter().filter(is_meant).map(|key| row(key, &defaults));
    let head = "| key | what may be written | default | where | meaning |\n|---|---|---|---|---|\n";
    head.to_owned() + &rows.collect::<String>()
}

/// Set, the tables are written anew instead of compared.
const UPDATE: &str = "EPITOME_UPDATE";

#[test]
fn the_tables_of_settings_are_made_from_the_schema() {
    let (begin, end) = ("<!-- keys: ", "<!-- end of keys -->");
    let page = text("docs/reference/settings.md");
    let (mut made, mut rest, mut rows) = (String::new(), page.as_str(), 0);
    while let Some((before, after)) = rest.split_once(begin) {
        let (tables, inside) = after.split_once(" -->\n").expect("a mark ends its line");
        let (_, behind) = inside.split_once(end).expect("a table ends");
        let table = table(tables);
        rows += table.lines().count() - 2;
        made.push_str(&format!("{before}{begin}{tables} -->\n{table}{end}"));
        rest = behind;
    }
    made.push_str(rest);
    assert_eq!(rows, KEYS.len(), "every setting stands in one table");
    if std::env::var_os(UPDATE).is_some() {
        return fs::write(root().join("docs/reference/settings.md"), made).expect("it can be written");
    }
    assert!(made == page, "docs/reference/settings.md is out of date; run with {UPDATE}=1");
}

/// A page with what stands between its marks of this name replaced.
fn with_list(page: &str, name: &str, list: &str) -> String {
    let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->"));
    let (before, rest) = page.split_once(&begin).expect("the list begins");
    let (_, behind) = rest.split_once(&end).expect("the list ends");
    format!("{before}{begin}{list}{end}{behind}")
}

#[test]
fn strategies_and_triggers_are_those_of_their_tables() {
    let rows = Strategy::ALL.map(|strategy| format!("| `{strategy}` | {} |\n", strategy.about()));
    let strategies = format!("| name | |\n|---|---|\n{}", rows.concat());
    let name = |value: serde_json::Value| value.as_str().expect("a name").to_owned();
    let rows = Trigger::ALL.map(|trigger| {
        let [of, source] = [serde_json::json!(trigger), serde_json::json!(trigger.kind().source)].map(name);
        format!("| `{of}` | `{source}` | {} |\n", trigger.about())
    });
    let triggers = format!("| trigger | source | when |\n|---|---|---|\n{}", rows.concat());
    let lists = [("settings.md", "strategies", strategies), ("events.md", "triggers", triggers)];
    for (file, name, list) in lists {
        let path = format!("docs/reference/{file}");
        let page = text(&path);
        let made = with_list(&page, name, &list);
        if std::env::var_os(UPDATE).is_some() {
            fs::write(root().join(path), made).expect("it can be written");
        } else {
            assert!(made == page, "{path} is out of date; run with {UPDATE}=1");
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

/// The pages of `docs`, by their path in the repository, with their text.
fn pages() -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    walk(&root().join("docs"), &mut found);
    found.retain(|path| path.extension().is_some_and(|ending| ending == "md"));
    let text = |path: PathBuf| (path.clone(), fs::read_to_string(path).expect("a page is text"));
    found.into_iter().map(text).collect()
}

/// The names of a page's headings, as links spell them.
fn anchors(page: &str) -> Vec<String> {
    let headings =
        page.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_matches(['#', ' ']));
    let is_spelled = |letter: &char| letter.is_alphanumeric() || "-_ ".contains(*letter);
    let spelled = |heading: &str| heading.to_lowercase().chars().filter(is_spelled).collect::<String>();
    headings.map(|heading| spelled(heading).replace(' ', "-")).collect()
}

#[test]
fn every_link_to_a_heading_leads_to_one() {
    let mut faults = Vec::new();
    for (path, page) in pages() {
        let links = page.split("](").skip(1).filter_map(|rest| rest.split(')').next()?.split_once('#'));
        for (file, heading) in links.filter(|(file, _)| !file.contains("://")) {
            let meant = if file.is_empty() { path.clone() } else { path.with_file_name("").join(file) };
            let is_there = fs::read_to_string(&meant)
                .is_ok_and(|page| anchors(&page).iter().any(|anchor| anchor == heading));
            if !is_there {
                faults.push(format!("{}: there is no {file}#{heading}", path.display()));
            }
        }
    }
    none_of(faults);
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

/// How the guide's program opens and ends; between stands what the guide shows of it.
const PROGRAM: (&str, &str, &str) = (
    "crates/session/examples/agent/main.rs",
    "//! The program of `docs/guides/embed.md`, put together from what stands there.\n\n",
    "\n#[cfg(test)]\nmod tests;\n",
);
/// As many lines of it are shown by the README.
const PROGRAM_LINES: usize = 16;

/// The blocks of Rust on a page, one after another.
fn rust_blocks(page: &str) -> String {
    let blocks = page.split("```rust\n").skip(1).filter_map(|rest| rest.split("```").next());
    blocks.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_guide_of_embedding_is_a_program_and_the_readme_its_beginning() {
    let (path, opens, ends) = PROGRAM;
    let guide = rust_blocks(&text("docs/guides/embed.md"));
    let made = format!("{opens}{guide}{ends}");
    if std::env::var_os(UPDATE).is_some() {
        fs::write(root().join(path), &made).expect("it can be written");
    }
    assert!(made == text(path), "{path} is not what docs/guides/embed.md shows; run with {UPDATE}=1");
    let begins: Vec<&str> = guide.lines().take(PROGRAM_LINES).collect();
    let readme = text("README.md");
    let shown = section(&readme, "## As a library").map(rust_blocks).unwrap_or_default();
    assert_eq!(shown.lines().collect::<Vec<_>>(), begins, "README.md, `As a library`");
}

#[test]
fn the_session_of_the_demo_is_one_of_the_corpus() {
    let bytes = |path: &str| fs::read(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    let [bundled, published] =
        ["crates/epitome/demo/session.jsonl.zst", "corpus/pi/pi-mono-large-session.jsonl.zst"].map(bytes);
    assert!(bundled == published, "its source and licence are told in corpus/MANIFEST.md");
}
