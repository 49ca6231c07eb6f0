//! The line that each fact of a reading is told from, where its name alone is told: cut down to the words nearest to it by `gloss`.

use super::gloss::gloss;
use super::quoted_line::LineTraits;
use super::reading::{DocLine, Reading};
use super::select::{line_text, strip_line_number};
use crate::EntryId;

/// For each fact the line that it is told from: what is said before code, and of each the newest.
pub(super) struct GlossLines {
    lines: Vec<Option<GlossLine>>,
}

/// A line that a fact can be told from; the greatest is the best.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct GlossLine {
    /// Whether words stand beside its facts at all.
    is_linking: bool,
    is_said: bool,
    line: usize,
}

impl GlossLines {
    pub(super) fn of(reading: &Reading) -> Self {
        let mut lines = vec![None; reading.table.facts.len()];
        for (line, read) in reading.lines.iter().enumerate() {
            let LineTraits { is_linking, is_mute, .. } = read.traits;
            let found = Some(GlossLine { is_linking, is_said: is_linking && !is_mute, line });
            for &fact in &reading.line_facts[read.first as usize..(read.first + read.count) as usize] {
                let best: &mut Option<GlossLine> = &mut lines[fact as usize];
                *best = found.max(*best);
            }
        }
        Self { lines }
    }

    /// Whether a fact stands in a line at all.
    pub(super) fn has(&self, fact: u32) -> bool {
        self.lines[fact as usize].is_some()
    }

    /// Whether a fact has words beside it somewhere.
    pub(super) fn tells(&self, fact: u32) -> bool {
        self.lines[fact as usize].is_some_and(|found| found.is_linking)
    }

    /// The line of a fact, where it says something of it.
    pub(super) fn said<'r>(&self, reading: &'r Reading, fact: u32) -> Option<&'r DocLine> {
        let found = self.lines[fact as usize].filter(|found| found.is_said)?;
        Some(&reading.lines[found.line])
    }

    /// The entry of a fact's line, and the fact as it is told from there.
    pub(super) fn told(&self, reading: &Reading, fact: u32) -> (Option<EntryId>, String) {
        let name = reading.table.name(fact);
        let Some(GlossLine { line, .. }) = self.lines[fact as usize] else { return (None, name) };
        let line = &reading.lines[line];
        let doc = &reading.docs[line.doc as usize];
        let told =
            gloss(strip_line_number(line_text(doc, line.start, line.end)), reading.table.value(fact), &name);
        (doc.id, told.unwrap_or(name))
    }
}
