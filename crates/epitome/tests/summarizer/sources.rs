//! `statements` of a record: which lines of the summary were made from which entries, held against the summary itself and
//! against what `recall` gives for the entries.

use crate::stage::{MIDDLE, SMALL, Stage};
use serde_json::Value;
use std::collections::BTreeSet;

/// A statement as the record tells it.
struct Statement {
    /// Its lines in the summary, counted from 0.
    lines: std::ops::Range<usize>,
    text: String,
    sources: Vec<String>,
}

fn statements(record: &Value) -> Vec<Statement> {
    let summary: Vec<&str> = record["summary"].as_str().expect("a text").lines().collect();
    let number = |value: &Value| usize::try_from(value.as_u64().expect("a number")).expect("it is small");
    let all = record["statements"].as_array().expect("a list").iter();
    all.map(|statement| {
        let first = number(&statement["line"]) - 1;
        let lines = first..first + number(&statement["lines"]);
        let sources = statement["sources"].as_array().expect("a list").iter();
        let sources = sources.map(|id| id.as_str().expect("an id").to_owned()).collect();
        Statement { text: summary[lines.clone()].join("\n"), lines, sources }
    })
    .collect()
}

/// The words of a text, for comparing what was wrapped otherwise.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn every_line_of_the_embedded_summary_names_the_entries_it_came_from() {
    // A session without a summary of its own tool, which would be carried on and names no entries.
    let stage = Stage::new(SMALL, "");
    let record = stage.json(&["compact", "session", "--window", "64000", "--json"]);
    let statements = statements(&record);
    let told: BTreeSet<usize> = statements.iter().flat_map(|statement| statement.lines.clone()).collect();
    let summary: Vec<&str> = record["summary"].as_str().expect("a text").lines().collect();
    // Behind the frame's head and before its end, headings and empty lines apart.
    let body = summary.iter().position(|line| line.starts_with("## ")).expect("a section")..summary.len() - 1;
    let lines = body.filter(|at| !summary[*at].starts_with("## ") && !summary[*at].is_empty());
    let untold: Vec<&str> = lines.filter(|at| !told.contains(at)).map(|at| summary[at]).collect();
    assert_eq!(untold, [""; 0]);
    assert!(statements.len() > 20 && statements.iter().all(|statement| !statement.sources.is_empty()));
}

#[test]
fn what_a_person_is_said_to_have_said_stands_in_the_entry_that_is_named() {
    let stage = Stage::new(MIDDLE, "");
    let record = stage.json(&["compact", "session", "--window", "64000", "--json"]);
    let statements = statements(&record);
    let said = statements.iter().filter_map(|statement| {
        let (_, said) = statement.text.split_once(" user: ").filter(|(_, said)| !said.contains("[…]"))?;
        Some((said, &statement.sources))
    });
    let mut compared = 0;
    for (said, sources) in said.take(4) {
        let [id] = &sources[..] else { panic!("{said}: {sources:?}") };
        let original = stage.run(&["recall", "session", id]);
        assert!(words(&original.out).contains(&words(said)), "{id}: {said}\nis not in\n{}", original.out);
        compared += 1;
    }
    assert_eq!(compared, 4);
}

#[test]
fn beside_a_models_prose_the_machines_own_lines_name_theirs() {
    let stage = Stage::new(MIDDLE, "");
    let record = stage.json(&["compact", "session", "--summarizer", "fast", "--window", "64000", "--json"]);
    let summary: Vec<&str> = record["summary"].as_str().expect("a text").lines().collect();
    let copied =
        summary.iter().position(|line| *line == "# From the log, word for word").expect("both parts");
    let statements = statements(&record);
    assert!(!statements.is_empty());
    assert!(statements.iter().all(|statement| statement.lines.start > copied), "prose has no sources");
}
