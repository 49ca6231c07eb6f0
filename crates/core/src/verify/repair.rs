//! Putting lost facts back, each with the line it stood in.

use super::visible_text::{VisibleText, flat};
use super::{MissingFact, Verification};
use crate::embedded::{harmless, is_mute};
use crate::facts::{Evidence, Fact, RepairLine};
use crate::{Material, SourcedText, Tokens};
use std::collections::{HashMap, HashSet};

/// Lines that hold the missing facts that matter most, within `budget`; the report is brought up to date.
pub fn repair(material: &Material<'_>, found: &mut Verification, budget: Tokens) -> Vec<SourcedText> {
    let missing = std::mem::take(&mut found.missing);
    let escape = harmless(material);
    let (mut lines, mut spent) = (Vec::new(), Tokens::ZERO);
    let mut written = HashSet::new();
    // Many facts stand in one line.
    let mut measured: HashMap<String, (String, Tokens)> = HashMap::new();
    for missing in missing {
        let (line, tokens) = measured.entry(line_of(&missing)).or_insert_with_key(|line| {
            let line = flat(&escape(line));
            let tokens = material.measure.text(&line) + Tokens(1);
            (line, tokens)
        });
        let is_written = written.contains(line);
        let tokens = if is_written { Tokens::ZERO } else { *tokens };
        // Shortened and made harmless, the line may no longer state the fact.
        if spent + tokens > budget || !VisibleText::of(line, line).holds(missing.fact.mention()) {
            found.missing.push(missing);
            continue;
        }
        spent += tokens;
        found.report.mend(&missing);
        if !is_written {
            written.insert(line.clone());
            lines.push(SourcedText { text: line.clone(), sources: vec![missing.fact.source] });
        }
    }
    found.name_lost();
    lines
}

fn line_of(missing: &MissingFact) -> String {
    let fact = &missing.fact;
    let line = &fact.line;
    match fact.class.row().repair {
        RepairLine::Rule => format!("- rule: {line}"),
        RepairLine::Bare => line.to_string(),
        RepairLine::Question => format!("- unanswered: {line}"),
        // Code says nothing by itself: the name in it is told without it.
        RepairLine::Pointed if is_named(fact) && is_mute(line) => format!("{}: {}", fact.source, fact.value),
        RepairLine::Pointed => format!("{}: {line}", fact.source),
    }
}

/// Whether a fact is known by its value alone.
fn is_named(fact: &Fact) -> bool {
    match fact.class.row().evidence {
        Evidence::Word | Evidence::Address => true,
        Evidence::Pair | Evidence::Beside | Evidence::Sentence => false,
    }
}
