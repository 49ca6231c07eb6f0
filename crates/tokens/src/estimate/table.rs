//! The automaton that finds runs, unrolled into one table per family.
//!
//! A state is a class of byte and how far into its run we are, as far as that changes the price.
//! Each byte costs one look-up that waits for the last one; everything else runs beside it.

use super::script::{SCRIPTS, Script};
use super::weights::Weights;

/// Before the first character, and after a wide one.
pub(crate) const START: u8 = 0;

/// For each class of byte: where it leads from each state, and what it costs in thousandths of a token.
/// A row is as long as a state can count, so that no look-up needs a check.
#[derive(Debug)]
pub(crate) struct Table {
    next: [[u8; 256]; CLASSES],
    cost: [[u16; 256]; CLASSES],
    wide: [u16; SCRIPTS],
}

impl Table {
    /// Unrolls a set of weights.
    pub(crate) const fn of(weights: &Weights) -> Self {
        let mut table = Self { next: [[START; 256]; CLASSES], cost: [[0; 256]; CLASSES], wide: weights.wide };
        let mut class = 0;
        while class < CLASSES {
            let mut state = START;
            while state < RUNS {
                let (run, cost) = step(Run::at(state), Class::at(class as u8), weights);
                table.next[class][state as usize] = run.state();
                table.cost[class][state as usize] = cost;
                state += 1;
            }
            class += 1;
        }
        table
    }

    /// The state one ASCII byte leads to, and its price in thousandths of a token.
    #[inline]
    pub(crate) fn step(&self, state: u8, byte: u8) -> (u8, u16) {
        let class = CLASS_OF[usize::from(byte)] as usize;
        (self.next[class][usize::from(state)], self.cost[class][usize::from(state)])
    }

    /// The price of one wide character, in thousandths of a token.
    pub(crate) const fn wide(&self, script: Script) -> u16 {
        self.wide[script as usize]
    }
}

/// What an ASCII byte is.
#[derive(Clone, Copy)]
#[repr(u8)]
enum Class {
    Small,
    Capital,
    Digit,
    Punctuation,
    LineEnd,
    Blank,
}

impl Class {
    const fn at(index: u8) -> Self {
        match index {
            0 => Self::Small,
            1 => Self::Capital,
            2 => Self::Digit,
            4 => Self::LineEnd,
            5 => Self::Blank,
            _ => Self::Punctuation,
        }
    }

    const fn of(byte: u8) -> Self {
        match byte {
            b'a'..=b'z' => Self::Small,
            b'A'..=b'Z' => Self::Capital,
            b'0'..=b'9' => Self::Digit,
            b'\n' | b'\r' => Self::LineEnd,
            b' ' | b'\t' => Self::Blank,
            _ => Self::Punctuation,
        }
    }
}

/// How many classes there are.
const CLASSES: usize = 6;

const CLASS_OF: [Class; 256] = {
    let mut classes = [Class::Punctuation; 256];
    let mut byte = 0;
    while byte < 256 {
        classes[byte] = Class::of(byte as u8);
        byte += 1;
    }
    classes
};

/// A run and its length, counted as far as the price depends on it.
#[derive(Clone, Copy)]
enum Run {
    None,
    Small(u8),
    Capital(u8),
    Digit(u8),
    Punctuation(u8),
    LineEnd,
    Blank(u8),
}

/// How many runs there are.
const RUNS: u8 = 26;

/// Small letters in a run that cost nothing beyond the run itself.
const SMALL_FREE: u8 = 12;

impl Run {
    const fn at(index: u8) -> Self {
        match index {
            1..=13 => Self::Small(index),
            14..=16 => Self::Capital(index - 13),
            17..=19 => Self::Digit(index - 16),
            20..=22 => Self::Punctuation(index - 19),
            23 => Self::LineEnd,
            24..=25 => Self::Blank(index - 23),
            _ => Self::None,
        }
    }

    const fn state(self) -> u8 {
        match self {
            Self::None => 0,
            Self::Small(length) => length,
            Self::Capital(length) => 13 + length,
            Self::Digit(length) => 16 + length,
            Self::Punctuation(length) => 19 + length,
            Self::LineEnd => 23,
            Self::Blank(length) => 23 + length,
        }
    }
}

/// The step from a run to a class: the run goes on, or another begins.
const fn step(run: Run, class: Class, weights: &Weights) -> (Run, u16) {
    match class {
        Class::Small => step_small(run, weights),
        Class::Capital => step_capital(run, weights),
        Class::Digit => step_digit(run, weights),
        Class::Punctuation => step_punctuation(run, weights),
        Class::LineEnd => (Run::LineEnd, if matches!(run, Run::LineEnd) { 0 } else { weights.line_ends }),
        Class::Blank => step_blank(run, weights),
    }
}

const fn step_small(run: Run, weights: &Weights) -> (Run, u16) {
    match run {
        Run::Small(length) if length < SMALL_FREE => (Run::Small(length + 1), 0),
        Run::Small(_) => (Run::Small(SMALL_FREE + 1), weights.small_beyond),
        Run::Capital(_) => (Run::Small(1), weights.small_after_capital),
        Run::Digit(_) => (Run::Small(1), weights.small + weights.letter_digit),
        Run::None | Run::Punctuation(_) | Run::LineEnd | Run::Blank(_) => (Run::Small(1), weights.small),
    }
}

const fn step_capital(run: Run, weights: &Weights) -> (Run, u16) {
    match run {
        Run::Capital(1) => (Run::Capital(2), 0),
        Run::Capital(_) => (Run::Capital(3), weights.capital_beyond),
        Run::Digit(_) => (Run::Capital(1), weights.capital + weights.letter_digit),
        Run::None | Run::Small(_) | Run::Punctuation(_) | Run::LineEnd | Run::Blank(_) => {
            (Run::Capital(1), weights.capital)
        }
    }
}

const fn step_digit(run: Run, weights: &Weights) -> (Run, u16) {
    match run {
        Run::Digit(length) if length < 3 => (Run::Digit(length + 1), 0),
        Run::Small(_) | Run::Capital(_) => (Run::Digit(1), weights.digits + weights.letter_digit),
        Run::None | Run::Digit(_) | Run::Punctuation(_) | Run::LineEnd | Run::Blank(_) => {
            (Run::Digit(1), weights.digits)
        }
    }
}

const fn step_punctuation(run: Run, weights: &Weights) -> (Run, u16) {
    match run {
        Run::Punctuation(1) => (Run::Punctuation(2), 0),
        Run::Punctuation(_) => (Run::Punctuation(3), weights.punctuation_beyond),
        Run::None | Run::Small(_) | Run::Capital(_) | Run::Digit(_) | Run::LineEnd | Run::Blank(_) => {
            (Run::Punctuation(1), weights.punctuation)
        }
    }
}

const fn step_blank(run: Run, weights: &Weights) -> (Run, u16) {
    match run {
        Run::Blank(1) => (Run::Blank(2), weights.blanks),
        Run::Blank(_) => (Run::Blank(2), 0),
        Run::None | Run::Small(_) | Run::Capital(_) | Run::Digit(_) | Run::Punctuation(_) | Run::LineEnd => {
            (Run::Blank(1), 0)
        }
    }
}
