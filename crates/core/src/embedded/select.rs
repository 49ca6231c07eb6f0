//! Filling the rest of a summary with the lines and actions most likely to be needed again.

use super::cover::{Candidate, choose};
use super::page::{Page, Section};
use super::reading::{Doc, Line, Reading};
use super::weight;
use crate::Tokens;
use crate::facts::{Class, Mention, scan_line, scan_pairs};
use std::collections::{BTreeMap, HashMap};

/// A fact that stands in a list without its surroundings is only half kept.
const BARE_LEFT: f64 = 0.5;
/// What naming the entry a run of lines comes from takes, in tokens.
const POINTER_COST: f64 = 2.0;

/// Fills the page.
pub(super) fn fill(page: &mut Page<'_>, reading: &Reading, focus: Option<&str>) {
    let mut weights: Vec<f64> =
        reading.table.facts.iter().map(|fact| weight::chance(fact, &reading.table)).collect();
    discount(page, reading, &mut weights);
    let candidates = candidates(reading, focus);
    let room = page.room().0 as f64;
    let offers: Vec<Candidate> = candidates.iter().map(|(_, candidate)| candidate.clone()).collect();
    let chosen = choose(&offers, &mut weights, room);
    write(page, reading, chosen.into_iter().map(|at| &candidates[at].0));
}

/// Facts the page holds already count less or not at all.
fn discount(page: &Page<'_>, reading: &Reading, weights: &mut [f64]) {
    for (section, line) in page.lines() {
        let left = if section == Section::Files { BARE_LEFT } else { 0.0 };
        facts_in(line, reading, |fact| weights[fact as usize] *= left);
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

/// Something to put back.
#[derive(Clone, Copy)]
enum Piece {
    Line(usize),
    Deed(usize),
}

fn candidates(reading: &Reading, focus: Option<&str>) -> Vec<(Piece, Candidate)> {
    let mut all = Vec::with_capacity(reading.lines.len() + reading.deeds.len());
    let mut seen: HashMap<&str, usize> = HashMap::new();
    for (at, line) in reading.lines.iter().enumerate() {
        let text = line_text(&reading.docs[line.doc as usize], line);
        // The same line again: the newer one stands for both.
        if let Some(&older) = seen.get(text) {
            let (piece, _): &mut (Piece, Candidate) = &mut all[older];
            *piece = Piece::Line(at);
            continue;
        }
        seen.insert(text, all.len());
        let facts = reading.line_facts[line.first as usize..(line.first + line.count) as usize].to_vec();
        let bonus = if is_about(text, focus) { 0.5 } else { 0.0 };
        all.push((Piece::Line(at), Candidate { bonus, cost: cost(text) + POINTER_COST, facts }));
    }
    let deeds = reading.deeds.len() as f64;
    for (at, deed) in reading.deeds.iter().enumerate() {
        let mut facts = Vec::new();
        facts_in(&deed.text, reading, |fact| facts.push(fact));
        let bonus = 0.05 * (at as f64 / deeds).powi(2);
        all.push((Piece::Deed(at), Candidate { bonus, cost: cost(&deed.text) + POINTER_COST + 2.0, facts }));
    }
    all
}

fn is_about(text: &str, focus: Option<&str>) -> bool {
    focus.is_some_and(|focus| focus.split_whitespace().any(|word| word.len() >= 4 && text.contains(word)))
}

fn line_text<'r>(doc: &'r Doc, line: &Line) -> &'r str {
    doc.text[line.start as usize..line.end as usize].trim()
}

/// About how many tokens a text takes, without asking: runs of letters by four, signs by one.
fn cost(text: &str) -> f64 {
    let (mut tokens, mut run) = (0.0, 0_u32);
    for c in text.chars() {
        if c.is_ascii_alphanumeric() {
            run += 1;
        } else {
            tokens += (f64::from(run) / 4.5).ceil();
            run = 0;
            tokens += if c == ' ' {
                0.0
            } else if c.is_ascii() {
                0.7
            } else {
                0.8
            };
        }
    }
    tokens + (f64::from(run) / 4.5).ceil() + 1.0
}

fn write<'p>(page: &mut Page<'_>, reading: &Reading, pieces: impl Iterator<Item = &'p Piece>) {
    let mut runs: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    let mut quota = page.room();
    for piece in pieces {
        match *piece {
            Piece::Deed(at) => {
                let deed = &reading.deeds[at];
                page.add(Section::Actions, &deed.line(), at as u64, &mut quota);
            }
            Piece::Line(at) => {
                let line = &reading.lines[at];
                let doc = &reading.docs[line.doc as usize];
                let run = runs.entry(line.doc).or_default();
                if run.is_empty()
                    && let Some(id) = doc.id
                {
                    page.add(Section::Lines, &format!("{id}:"), u64::from(line.doc) << 32, &mut quota);
                }
                run.push(at);
                let order = (u64::from(line.doc) << 32) | (u64::from(line.start) + 1);
                page.add(Section::Lines, line_text(doc, line), order, &mut quota);
            }
        }
        if quota < Tokens(4) {
            break;
        }
    }
}
