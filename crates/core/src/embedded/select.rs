//! Filling the rest of a summary with the lines and actions most likely to be needed again.
//!
//! A fact has two halves: that it is named, and that it stands beside words it stood beside. A bare
//! list earns the first half only; a line it stood in earns both, and so does its name with the words nearest to it there.

use super::cover::{Candidate, Candidates};
use super::files::REMARK;
use super::gloss_lines::GlossLines;
use super::lines_by_word::LinesByWord;
use super::link::is_linking;
use super::names::NameList;
use super::page::{Section, Spot, SummaryPage};
use super::quoted_line::{JoinedLine, LineTraits, cost, cost_of};
use super::reading::{Doc, DocLine, Reading};
use super::weight::{TUNING, chance};
use crate::facts::{Class, FactIndex, Mention, scan_line, scan_pairs};
use crate::{EntryId, Tokens};
use std::collections::{BTreeMap, HashSet};

/// How far the guessed costs may overshoot.
const GUESS_SLACK: f64 = 1.5;

/// What lines there are to choose from, whatever the page tells already.
pub(super) struct LineChoices {
    lines: GlossLines,
    weights: Vec<f64>,
    pieces: Candidates<Addition>,
}

impl LineChoices {
    pub(super) fn of(reading: &Reading, focus: Option<&str>) -> Self {
        let (lines, weights) = (GlossLines::of(reading), weights(reading));
        Self { lines, weights, pieces: line_pieces(reading, focus) }
    }
}

/// Fills the page, which stands beside `prose`.
pub(super) fn fill(page: &mut SummaryPage<'_>, reading: &Reading, choices: LineChoices, prose: &str) {
    let LineChoices { lines, mut weights, mut pieces } = choices;
    discount(page.lines().map(|(_, line)| line).chain(prose.lines()), reading, &mut weights);
    let statements = statement_pieces(reading, &LinesByWord::of(page.lines().map(|(_, line)| line)));
    let room = page.room().0 as f64;
    let share = (room * STATEMENTS_SHARE).max((room * STATEMENTS_SHARE_MAX).min(STATEMENTS_TOKENS));
    let chosen: Vec<Addition> = statements.choose(&mut weights, share).collect();
    write(page, reading, &lines, chosen.into_iter());
    let listed: HashSet<String> =
        page.lines().filter_map(|(section, line)| listed_path(section, line)).collect();
    action_pieces(reading, &listed, &mut pieces);
    name_pieces(reading, &lines, &weights, &mut pieces);
    // Costs are guesses; the page measures, and stops when it is full.
    let room = page.room().0 as f64 * GUESS_SLACK;
    write(page, reading, &lines, pieces.choose(&mut weights, room));
}

/// The part of what is left that the model's own statements may take before lines are looked at.
const STATEMENTS_SHARE: f64 = 0.2;
/// They may take as many tokens where that part is less: who has room for little needs its meaning first.
const STATEMENTS_TOKENS: f64 = 600.0;
/// The part of what is left that they never take more than.
const STATEMENTS_SHARE_MAX: f64 = 0.75;

fn statement_pieces(reading: &Reading, told: &LinesByWord<'_>) -> Candidates<Addition> {
    let mut seen = HashSet::new();
    let mut all = Candidates::new();
    let mut facts = Vec::new();
    for (at, statement) in reading.statements.iter().enumerate().rev() {
        let text = statement.quote.text.as_str();
        if !seen.insert(text) || told.hold(text) {
            continue;
        }
        facts_in(text, reading, |fact| facts.extend([named(fact), linked(fact)]));
        facts.extend(reading.statement_pairs[at].iter().map(|&pair| concept(reading, pair)));
        facts.sort_unstable();
        facts.dedup();
        let age = ((reading.table.end - statement.clock) as f64 / 40_000.0).ln_1p();
        let bonus = TUNING.meaning * statement.meaning / (1.0 + age);
        let share = TUNING.oldest + (statement.clock as f64 / reading.table.end.max(1) as f64).powi(2);
        let cost = cost(text) + TUNING.pointer;
        all.push(Candidate { of: Addition::Finding(at), bonus, share, cost }, facts.drain(..));
    }
    all
}

/// Two for each fact: for naming it, and for naming it beside its words.
fn weights(reading: &Reading) -> Vec<f64> {
    let facts = reading.table.facts.iter();
    let halves = facts.map(|fact| {
        let chance = chance(fact, &reading.table);
        // A command says itself what it does.
        let link = if fact.class == Class::Command { 0.0 } else { TUNING.link };
        [chance * (1.0 - link), chance * link]
    });
    halves.flatten().chain(reading.concepts.weights().map(|weight| weight * TUNING.concept)).collect()
}

/// The place of a pair's weight, behind those of the facts.
fn concept(reading: &Reading, pair: u32) -> u32 {
    2 * reading.table.facts.len() as u32 + pair
}

fn named(fact: u32) -> u32 {
    2 * fact
}

fn linked(fact: u32) -> u32 {
    2 * fact + 1
}

/// Facts that are told already are not paid for again.
fn discount<'l>(told: impl Iterator<Item = &'l str>, reading: &Reading, weights: &mut [f64]) {
    for line in told.flat_map(str::lines) {
        let is_linking = is_linking(line);
        facts_in(line, reading, |fact| {
            weights[named(fact) as usize] = 0.0;
            if is_linking {
                weights[linked(fact) as usize] = 0.0;
            }
        });
        reading.concepts.each(line, |pair| weights[concept(reading, pair) as usize] = 0.0);
    }
}

fn facts_in(line: &str, reading: &Reading, mut found: impl FnMut(u32)) {
    let mut look = |mention: Mention<'_>| {
        if let Some(fact) = reading.table.find(mention) {
            found(fact);
        }
    };
    scan_line(line, &mut look);
    scan_pairs(line, &mut look);
    line.split_whitespace().for_each(|word| look(Mention { class: Class::Path, key: word, value: word }));
}

/// Something that could be put back.
#[derive(Clone, Copy)]
enum Addition {
    /// A line.
    Line(usize),
    /// A line, with the one before it.
    Joined {
        /// The line.
        line: usize,
        /// Where the one before it begins.
        start: u32,
    },
    /// The name of a fact, with words beside it where there are some.
    Name(u32),
    /// A tool call.
    Action(usize),
    /// A sentence of the model's.
    Finding(usize),
}

/// The file that an entry of the list of files is of.
fn listed_path(section: Section, line: &str) -> Option<String> {
    let (_, entry) = line.split_once(' ').filter(|_| section == Section::Files)?;
    Some(entry.split(REMARK).next().unwrap_or(entry).to_owned())
}

fn line_pieces(reading: &Reading, focus: Option<&str>) -> Candidates<Addition> {
    let mut all = Candidates::new();
    // Lines with their places in `all`, by hashes that were made once: a compaction goes through every line of a history.
    let (mut seen, mut by_hash): (Vec<(&str, usize)>, _) = (Vec::new(), FactIndex::default());
    for (at, line) in reading.lines.iter().enumerate() {
        let text = line_text(&reading.docs[line.doc as usize], line.start, line.end);
        // The same line again: the newer one stands for both.
        let known = by_hash.find_or_add(line.traits.hash, seen.len(), |place| seen[place].0 == text);
        if let Some(&(_, older)) = seen.get(known) {
            all.replace(older, Addition::Line(at));
            continue;
        }
        seen.push((text, all.len()));
        all.push(line_piece(line, text, at, focus), line_facts(reading, line, line.traits.is_linking));
        if let Some(joined) = line.traits.joined {
            all.push(joined_piece(at, joined), line_facts(reading, line, true));
        }
    }
    all
}

/// Adds what was done. `listed` are the files that the page lists: what was done to them is told there.
fn action_pieces(reading: &Reading, listed: &HashSet<String>, all: &mut Candidates<Addition>) {
    let count = reading.actions.len() as f64;
    // Of what was done several times, the newest.
    let mut done = HashSet::new();
    let mut is_new = |at: usize| done.insert(reading.actions[at].argument.as_str());
    let is_told = |at: usize| {
        let action = &reading.actions[at];
        action.is_bookkeeping() || listed.contains(&action.argument)
    };
    let told = (0..reading.actions.len()).rev().filter(|&at| !is_told(at) && is_new(at));
    told.for_each(|at| all.push(action_piece(reading, at, at as f64 / count), action_facts(reading, at)));
}

fn line_piece(line: &DocLine, text: &str, at: usize, focus: Option<&str>) -> Candidate<Addition> {
    // What the person asked to dwell on outweighs any single fact.
    let bonus = if is_about(text, focus) { 1.0 } else { 0.0 };
    let LineTraits { is_mute, cost, .. } = line.traits;
    let share = if is_mute { TUNING.mute } else { 1.0 };
    Candidate { of: Addition::Line(at), bonus, share, cost: cost + TUNING.pointer }
}

fn line_facts<'r>(reading: &'r Reading, line: &DocLine, is_linking: bool) -> impl Iterator<Item = u32> + 'r {
    let facts = &reading.line_facts[line.first as usize..(line.first + line.count) as usize];
    let linking = if is_linking { facts } else { &[] };
    facts.iter().map(|&fact| named(fact)).chain(linking.iter().map(|&fact| linked(fact)))
}

/// Adds each fact that is not told yet by its name, with the words nearest to it where a line has some.
fn name_pieces(reading: &Reading, lines: &GlossLines, weights: &[f64], all: &mut Candidates<Addition>) {
    let facts = reading.table.facts.iter().zip(0_u32..);
    let facts =
        facts.filter(|(_, fact)| weights[named(*fact) as usize] + weights[linked(*fact) as usize] > 0.0);
    // A command and an error are lines, not names; and what stands in no line is told by the ledger.
    let names = facts
        .filter(|(known, fact)| !matches!(known.class, Class::Command | Class::Error) && lines.has(*fact));
    for (_, fact) in names {
        let (of, cost) = (Addition::Name(fact), cost_of(reading.table.name_chars(fact)) + 1.0);
        match lines.tells(fact) {
            true => {
                let cost = cost + GLOSS_TOKENS;
                all.push(Candidate { of, bonus: 0.0, share: 1.0, cost }, [named(fact), linked(fact)]);
            }
            false => all.push(Candidate { of, bonus: 0.0, share: TUNING.name, cost }, [named(fact)]),
        }
    }
}

/// About what the words beside a name take.
const GLOSS_TOKENS: f64 = 4.0;

fn joined_piece(at: usize, joined: JoinedLine) -> Candidate<Addition> {
    let JoinedLine { start, share, cost } = joined;
    Candidate { of: Addition::Joined { line: at, start }, bonus: 0.0, share, cost: cost + TUNING.pointer }
}

/// `recency` runs from 0 for the oldest to 1 for the newest action.
fn action_piece(reading: &Reading, at: usize, recency: f64) -> Candidate<Addition> {
    let cost = cost(&reading.actions[at].argument) + TUNING.pointer + 2.0;
    let bonus = TUNING.action * recency * recency;
    Candidate { of: Addition::Action(at), bonus, share: 1.0, cost }
}

fn action_facts(reading: &Reading, at: usize) -> Vec<u32> {
    let action = &reading.actions[at];
    let is_linking = is_linking(&action.argument);
    let mut facts = Vec::new();
    facts_in(&action.argument, reading, |fact| {
        facts.push(named(fact));
        if is_linking {
            facts.push(linked(fact));
        }
    });
    facts.extend(action.commands.iter().filter_map(|command| {
        reading.table.find(Mention { class: Class::Command, key: command, value: command }).map(named)
    }));
    facts.sort_unstable();
    facts.dedup();
    facts
}

fn is_about(text: &str, focus: Option<&str>) -> bool {
    focus.is_some_and(|focus| focus.split_whitespace().any(|word| word.len() >= 4 && text.contains(word)))
}

/// What stands between two places of a passage.
pub(super) fn line_text(doc: &Doc, start: u32, end: u32) -> &str {
    doc.text[start as usize..end as usize].trim()
}

fn write(
    page: &mut SummaryPage<'_>,
    reading: &Reading,
    lines: &GlossLines,
    pieces: impl Iterator<Item = Addition>,
) {
    let (mut quoted, mut names, mut quota) = (QuotedLines::default(), NameList::default(), page.room());
    for piece in pieces {
        match piece {
            Addition::Name(fact) => {
                let (id, told) = lines.told(reading, fact);
                names.add(page, id, (fact, told), &mut quota);
            }
            Addition::Action(at) => {
                let action = &reading.actions[at];
                let spot = Spot::new(Section::Actions, at as u64, [action.id]);
                page.add(&spot, &action.line(), &mut quota);
            }
            Addition::Finding(at) => {
                let quote = &reading.statements[at].quote;
                let spot = Spot::new(Section::Statements, at as u64, [quote.id]);
                page.add(&spot, &format!("{}: {}", quote.id, quote.text), &mut quota);
            }
            Addition::Line(at) => {
                quoted.add(page, reading, (&reading.lines[at], reading.lines[at].start), &mut quota)
            }
            Addition::Joined { line, start } => {
                quoted.add(page, reading, (&reading.lines[line], start), &mut quota)
            }
        }
        names.withdraw(page, &quoted.told, &mut quota);
        quoted.told.clear();
        if quota < Tokens(4) {
            break;
        }
    }
    // Where there is room for all of it, what is said of a name is told whole.
    for line in names.facts().into_iter().filter_map(|fact| lines.said(reading, fact)) {
        quoted.add(page, reading, (line, line.start), &mut quota);
        names.withdraw(page, &quoted.told, &mut quota);
        quoted.told.clear();
    }
    quoted.write(page);
    names.write(page);
}

/// Lines that are quoted, with room for them set aside on a page.
#[derive(Default)]
struct QuotedLines<'r> {
    /// By entry and place, so that each entry is named once, before its first line.
    taken: BTreeMap<(Option<EntryId>, u32, u32), String>,
    entries: HashSet<Option<EntryId>>,
    written: HashSet<&'r str>,
    /// The facts of what was added since somebody looked.
    told: Vec<u32>,
}

/// What `m0123: ` takes.
const POINTER_TOKENS: Tokens = Tokens(5);

impl<'r> QuotedLines<'r> {
    /// Quotes a line from `start` on, which may lie in the one before it, where there is room.
    fn add(
        &mut self,
        page: &mut SummaryPage<'_>,
        reading: &'r Reading,
        (line, start): (&DocLine, u32),
        quota: &mut Tokens,
    ) {
        let doc = &reading.docs[line.doc as usize];
        // A line that stands there already is not said again with its neighbour.
        let lines = line_text(doc, start, line.end).lines().map(strip_line_number);
        let new: Vec<&str> = lines.filter(|line| !self.written.contains(line)).collect();
        let text = new.join("\n");
        let pointer = if self.entries.contains(&doc.id) { Tokens::ZERO } else { POINTER_TOKENS };
        if !new.is_empty() && page.reserve(Section::Lines, &text, pointer, quota) {
            self.entries.insert(doc.id);
            self.written.extend(new);
            self.taken.insert((doc.id, line.doc, start), text);
            self.told.extend(&reading.line_facts[line.first as usize..(line.first + line.count) as usize]);
        }
    }

    /// Puts the lines on the page.
    fn write(self, page: &mut SummaryPage<'_>) {
        let mut last = None;
        for (order, ((id, ..), text)) in self.taken.into_iter().enumerate() {
            let pointer = id.filter(|_| last != Some(id)).map(|id| format!("{id}: ")).unwrap_or_default();
            last = Some(id);
            page.put(Spot::new(Section::Lines, order as u64, id), &format!("{pointer}{text}"));
        }
    }
}

/// A line without indentation and without the number that reading tools put before it.
pub(super) fn strip_line_number(line: &str) -> &str {
    let line = line.trim();
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    match line[digits..].strip_prefix(['→', '\t', '|']).or_else(|| line[digits..].strip_prefix(": ")) {
        Some(rest) if digits > 0 => rest.trim_start(),
        Some(_) | None => line,
    }
}
