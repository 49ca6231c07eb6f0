//! Source: how it opens, how long it is, what it is called, and what it may use.

use super::{crates, none_of, root, shipped, tests, text};
use std::fs;

/// A file past this is asked whether it is one subject; those that are, are named in [`LONG_FILES`].
const LINES_USUAL: usize = 400;
/// Tests are lists of cases, and a list may be longer.
const TEST_LINES_USUAL: usize = 600;
/// Files that are long and one subject each: which one.
const LONG_FILES: [(&str, &str); 5] = [
    ("crates/core/src/context.rs", "what the model sees of a path"),
    ("crates/engine/src/assembly.rs", "how a model's counter, window and budget are put together"),
    ("crates/engine/src/session.rs", "a timeline with its policy and budget"),
    ("crates/session/src/live_session.rs", "what an agent's loop calls, in its order"),
    ("crates/upstream/src/overflow/rows.rs", "the table of providers' errors"),
];
/// A function that does not fit a screen is not read whole.
const FUNCTION_LINES_MAX: usize = 70;
/// Names that say nothing of what is inside.
const EMPTY_NAMES: [&str; 4] = ["utils", "common", "helper", "manager"];

#[test]
fn every_file_says_what_it_holds() {
    let all = shipped().into_iter().filter(|(_, text)| !text.starts_with("//! "));
    none_of(all.map(|(path, _)| format!("{path} does not open with `//!`")).collect());
}

#[test]
fn a_long_file_names_its_one_subject() {
    let mut faults = Vec::new();
    let is_test = |path: &str| path.ends_with("tests.rs") || path.contains("/tests/");
    for (path, text) in shipped().into_iter().chain(tests()) {
        let usual = if is_test(&path) { TEST_LINES_USUAL } else { LINES_USUAL };
        let (lines, is_named) = (text.lines().count(), LONG_FILES.iter().any(|(long, _)| *long == path));
        if lines > usual && !is_named {
            faults.push(format!(
                "{path} has {lines} lines; split it by subject, or name its one in LONG_FILES"
            ));
        }
    }
    faults.extend(
        LONG_FILES
            .iter()
            .filter(|(path, _)| !root().join(path).exists())
            .map(|(path, _)| format!("{path} is gone")),
    );
    none_of(faults);
}

#[test]
fn no_function_is_too_long() {
    let mut faults = Vec::new();
    for (path, text) in shipped().into_iter().chain(tests()) {
        for (line, name, lines) in functions(&text) {
            if lines > FUNCTION_LINES_MAX {
                faults.push(format!("{path}:{line} `{name}` has {lines} lines, over {FUNCTION_LINES_MAX}"));
            }
        }
    }
    none_of(faults);
}

/// The functions of a file as `rustfmt` leaves them: from `fn` to the brace that closes at its indent.
fn functions(text: &str) -> Vec<(usize, &str, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(name) = function_name(line) else { continue };
        let indent = &line[..line.len() - line.trim_start().len()];
        let closes = |line: &&str| line.strip_prefix(indent).is_some_and(|rest| rest == "}");
        // A declaration of a trait ends without a body, on whichever line.
        let ending = lines[at..].iter().find(|line| line.ends_with([';', '{', '}']));
        let is_whole = ending.is_some_and(|line| line.ends_with([';', '}']));
        let Some(more) = lines[at..].iter().position(closes).filter(|_| !is_whole) else { continue };
        found.push((at + 1, name, more + 1));
    }
    found
}

fn function_name(line: &str) -> Option<&str> {
    let mut rest = line.trim_start();
    for word in ["pub ", "pub(crate) ", "pub(super) ", "const ", "async "] {
        rest = rest.strip_prefix(word).unwrap_or(rest);
    }
    let name = rest.strip_prefix("fn ")?;
    name.split(['(', '<']).next()
}

#[test]
fn a_function_is_measured_from_its_name_to_its_brace() {
    let text = "fn a() {\n    b(|| {\n    });\n}\nimpl X {\n    pub(crate) fn c<T>(\n        t: T,\n    ) {\n        t\n    }\n    fn d();\n    fn e(\n        t: T,\n    ) -> T;\n}\n";
    assert_eq!(functions(text), [(1, "a", 4), (6, "c", 5)]);
}

#[test]
fn no_module_has_an_empty_name() {
    let mut faults = Vec::new();
    for (path, text) in shipped().into_iter().chain(tests()) {
        let declared = text.lines().filter_map(|line| line.split_once("mod ")?.1.split([';', ' ']).next());
        let steps = path.split(['/', '.']).chain(declared);
        faults
            .extend(steps.filter(|name| EMPTY_NAMES.contains(name)).map(|name| format!("{path}: `{name}`")));
    }
    none_of(faults);
}

/// What stands in source that ships, outside its tests, and should not.
#[test]
fn nothing_is_left_undone() {
    let words = ["todo!", "unimplemented!", "FIXME", ".unwrap()", "dbg!"];
    let mut faults = Vec::new();
    for (path, text) in shipped().into_iter().filter(|(path, _)| !path.ends_with("tests.rs")) {
        let shipped = text.lines().take_while(|line| line.trim_start() != "#[cfg(test)]");
        for (at, line) in shipped.enumerate() {
            faults.extend(
                words
                    .iter()
                    .filter(|word| line.contains(**word))
                    .map(|word| format!("{path}:{}: {word}", at + 1)),
            );
        }
    }
    none_of(faults);
}

/// Which of our crates each may use; those not named may use whatever is further in, or, being the
/// program and the benchmarks, everything.
fn allowed(name: &str) -> Option<&'static [&'static str]> {
    match name {
        "core" | "tokens" => Some(&[]),
        "wire" | "settings" => Some(&["core"]),
        "engine" => Some(&["core", "tokens"]),
        "session" | "testbed" => Some(&["core", "tokens", "wire", "settings", "engine"]),
        "epitome" => None,
        _ => Some(&["core", "tokens", "wire", "engine"]),
    }
}

#[test]
fn dependencies_point_inward() {
    let mut faults = Vec::new();
    for name in crates() {
        let Some(allowed) = allowed(&name) else { continue };
        let manifest: toml::Table = text(&format!("crates/{name}/Cargo.toml")).parse().expect("a manifest");
        let uses = manifest.get("dependencies").and_then(toml::Value::as_table).cloned().unwrap_or_default();
        let ours = uses.keys().filter_map(|key| key.strip_prefix("epitome-"));
        let wrong = ours.filter(|used| !allowed.contains(used));
        faults.extend(wrong.map(|used| format!("crates/{name} may not depend on {used}")));
    }
    none_of(faults);
}

#[test]
fn every_crate_is_of_the_workspace() {
    let manifest: toml::Table = text("Cargo.toml").parse().expect("a manifest");
    let members = manifest["workspace"]["members"].as_array().expect("a list of members").clone();
    let of = |name: &String| toml::Value::String(format!("crates/{name}"));
    none_of(crates().iter().filter(|name| !members.contains(&of(name))).cloned().collect());
    assert!(fs::exists(root().join("Cargo.lock")).is_ok_and(|there| there), "the lock file is committed");
}

/// A package holds its own folder and nothing else, so what it includes must lie there.
#[test]
fn what_a_crate_includes_lies_inside_it() {
    let mut faults = Vec::new();
    for (path, text) in shipped().into_iter().filter(|(path, _)| path.starts_with("crates/")) {
        // `crates/NAME/src/…`: as many folders lie between the file and its crate's.
        let depth = path.matches('/').count() - 2;
        let included =
            text.lines().filter(|line| line.contains("include_str!(") || line.contains("include_bytes!("));
        let leaves = |line: &&str| {
            line.split("include_").skip(1).any(|included| included.matches("../").count() > depth)
        };
        faults.extend(included.filter(leaves).map(|line| format!("{path}: {}", line.trim())));
    }
    none_of(faults);
}
