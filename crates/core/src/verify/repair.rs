//! Putting lost facts back, each with the line it stood in.

use super::{LossReport, Missing};
use crate::embedded::harmless;
use crate::facts::Class;
use crate::{ArchiveError, Material, Tokens};
use std::collections::HashSet;

/// Lines that hold the missing facts that matter most, within `budget`; the report is told.
pub fn repair(
    material: &Material<'_>,
    report: &mut LossReport,
    budget: Tokens,
) -> Result<Vec<String>, ArchiveError> {
    let missing = std::mem::take(&mut report.missing);
    let escape = harmless(material)?;
    let (mut lines, mut spent) = (Vec::<String>::new(), Tokens::ZERO);
    let mut written = HashSet::new();
    let mut unmended = Vec::new();
    for missing in missing {
        let line = escape(&line_of(&missing));
        if written.contains(&line) {
            report.mend(&missing);
            continue;
        }
        let tokens = material.measure.text(&line) + Tokens(1);
        if spent + tokens > budget || !holds(&line, &missing) {
            unmended.push(missing);
            continue;
        }
        spent += tokens;
        report.mend(&missing);
        written.insert(line.clone());
        lines.push(line);
    }
    report.missing = unmended;
    Ok(lines)
}

fn line_of(missing: &Missing) -> String {
    let fact = &missing.fact;
    let line = fact.line.split_whitespace().collect::<Vec<_>>().join(" ");
    match fact.class {
        Class::Requirement | Class::Prohibition => format!("- rule: {line}"),
        Class::Todo | Class::Operation => line,
        Class::Question => format!("- unanswered: {line}"),
        Class::Path
        | Class::Identifier
        | Class::Url
        | Class::Id
        | Class::Command
        | Class::Number
        | Class::Version
        | Class::Error
        | Class::Decision
        | Class::State
        | Class::UserMessage
        | Class::LiveWork => format!("{}: {line}", fact.source),
    }
}

/// Whether the line still states the fact after it was shortened and made harmless.
fn holds(line: &str, missing: &Missing) -> bool {
    let value = missing.fact.value.split_whitespace().collect::<Vec<_>>().join(" ");
    line.contains(&value)
}
