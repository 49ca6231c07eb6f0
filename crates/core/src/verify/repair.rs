//! Putting lost facts back, each with the line it stood in.

use super::visible_text::{VisibleText, flat};
use super::{MissingFact, Verification};
use crate::embedded::{harmless, is_mute};
use crate::facts::{Evidence, Fact, RepairLine};
use crate::{Material, SourcedText, Tokens};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Lines that hold the missing facts that matter most, within `budget`; the report is brought up to date.
pub fn repair(material: &Material<'_>, found: &mut Verification, budget: Tokens) -> Vec<SourcedText> {
    let missing = std::mem::take(&mut found.missing);
    let candidates = RepairCandidates::of(material, &missing);
    // What stands in a line is looked for once, however many facts are.
    let mut indexed: Vec<Option<VisibleText<'_>>> = candidates.lines.iter().map(|_| None).collect();
    let (mut lines, mut spent) = (Vec::new(), Tokens::ZERO);
    let mut written = HashSet::new();
    for (missing, place) in missing.into_iter().zip(candidates.places) {
        let (line, tokens) = &candidates.lines[place];
        let is_written = written.contains(line.as_str());
        let tokens = if is_written { Tokens::ZERO } else { *tokens };
        // Shortened and made harmless, the line may no longer state the fact.
        let mut states = |fact| indexed[place].get_or_insert_with(|| VisibleText::of(line, line)).holds(fact);
        if spent + tokens > budget || !states(missing.fact.mention()) {
            found.missing.push(missing);
            continue;
        }
        spent += tokens;
        found.report.mend(&missing);
        if !is_written {
            written.insert(line.as_str());
            lines.push(SourcedText { text: line.clone(), sources: vec![missing.fact.source] });
        }
    }
    found.name_lost();
    lines
}

/// The lines by which facts could be put back, made harmless, each once with what it takes.
struct RepairCandidates {
    lines: Vec<(String, Tokens)>,
    /// The line of each fact.
    places: Vec<usize>,
}

impl RepairCandidates {
    fn of(material: &Material<'_>, missing: &[MissingFact]) -> Self {
        let escape = harmless(material);
        let mut lines = Vec::new();
        let mut known: HashMap<String, usize> = HashMap::new();
        let mut mute = MuteLine::default();
        let place = |missing| {
            *known.entry(line_of(missing, &mut mute)).or_insert_with_key(|line| {
                let line = flat(&escape(line));
                let tokens = material.measure.text(&line) + Tokens(1);
                lines.push((line, tokens));
                lines.len() - 1
            })
        };
        let places = missing.iter().map(place).collect();
        Self { lines, places }
    }
}

/// Whether a line says nothing by itself. Facts of one line follow each other.
#[derive(Default)]
struct MuteLine {
    newest: Option<(Arc<str>, bool)>,
}

impl MuteLine {
    fn is_mute(&mut self, line: &Arc<str>) -> bool {
        match &self.newest {
            Some((known, is_mute)) if Arc::ptr_eq(known, line) => *is_mute,
            Some(_) | None => self.newest.insert((line.clone(), is_mute(line))).1,
        }
    }
}

fn line_of(missing: &MissingFact, mute: &mut MuteLine) -> String {
    let fact = &missing.fact;
    let line = &fact.line;
    match fact.class.row().repair {
        RepairLine::Rule => format!("- rule: {line}"),
        RepairLine::Bare => line.to_string(),
        RepairLine::Question => format!("- unanswered: {line}"),
        // Code says nothing by itself: the name in it is told without it.
        RepairLine::Pointed if is_named(fact) && mute.is_mute(line) => {
            format!("{}: {}", fact.source, fact.value)
        }
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
