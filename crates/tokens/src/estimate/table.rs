//! The automaton that finds runs, unrolled into one table per family.
//!
//! A state is a class of byte and how far into its run we are, as far as that changes the price.
//! Each pair of bytes costs one look-up that waits for the last one; everything else runs beside it.

use super::script::Script;
use super::weights::Weights;

/// Before the first character, and after a wide one.
pub(crate) const START: u8 = 0;

/// For each pair of classes of byte and each state: where the pair leads, and what it costs in
/// thousandths of a token. Rows are longer than they need be, so that no look-up needs a check.
#[derive(Debug)]
pub(crate) struct TransitionTable {
    pairs: [u32; PAIRS],
    weights: Weights,
}

/// Bits of a state, in an index and in an entry; the rest of an entry is its price.
const STATE_BITS: u32 = 5;
/// Bits of a class in an index.
const CLASS_BITS: u32 = 3;
/// Entries of a table: every index that two classes and a state can make.
const PAIRS: usize = 1 << (2 * CLASS_BITS + STATE_BITS);

/// What a table holds: the state a pair leads to, and its price in thousandths of a token.
#[derive(Clone, Copy)]
pub(crate) struct Transition(u32);

impl Transition {
    /// Stands for a state alone, at no price.
    pub(crate) const fn at(state: u8) -> Self {
        Self(state as u32)
    }

    /// The state.
    #[inline]
    pub(crate) const fn state(self) -> u8 {
        (self.0 % (1 << STATE_BITS)) as u8
    }

    /// The price.
    #[inline]
    pub(crate) const fn cost(self) -> u32 {
        self.0 >> STATE_BITS
    }
}

impl TransitionTable {
    /// Unrolls a set of weights.
    pub(crate) const fn of(weights: &Weights) -> Self {
        let mut table = Self { pairs: [0; PAIRS], weights: *weights };
        let mut pair = 0;
        while pair < CLASSES * CLASSES {
            let (first, second) = (pair / CLASSES, pair % CLASSES);
            let mut state = START;
            while state < RUNS {
                let (middle, first_cost) = step(RunState::at(state), ByteClass::at(first), weights);
                let (run, second_cost) = step(middle, ByteClass::at(second), weights);
                let cost = first_cost as u32 + second_cost as u32;
                table.pairs[index(first, second, state)] = cost << STATE_BITS | run.state() as u32;
                state += 1;
            }
            pair += 1;
        }
        table
    }

    /// The entry that a pair of ASCII bytes leads to from another, or from a state.
    #[inline]
    pub(crate) fn step_pair(&self, from: Transition, [first, second]: [u8; 2]) -> Transition {
        let classes = FIRST[usize::from(first)] | SECOND[usize::from(second)];
        Transition(self.pairs[(usize::from(classes) | usize::from(from.state())) % PAIRS])
    }

    /// The state one ASCII byte leads to, and its price in thousandths of a token.
    pub(crate) fn step(&self, state: u8, byte: u8) -> (u8, u32) {
        let (run, cost) = step(RunState::at(state), CLASS_OF[usize::from(byte)], &self.weights);
        (run.state(), u32::from(cost))
    }

    /// The price of one wide character, in thousandths of a token.
    pub(crate) const fn wide(&self, script: Script) -> u16 {
        self.weights.wide[script as usize]
    }
}

const fn index(first: u8, second: u8, state: u8) -> usize {
    (first as usize) << (CLASS_BITS + STATE_BITS) | (second as usize) << STATE_BITS | state as usize
}

/// The parts of an index that the first and the second byte of a pair give.
static FIRST: [u16; 256] = parts(CLASS_BITS + STATE_BITS);
static SECOND: [u16; 256] = parts(STATE_BITS);

const fn parts(shift: u32) -> [u16; 256] {
    let mut parts = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        parts[byte] = (CLASS_OF[byte] as u16) << shift;
        byte += 1;
    }
    parts
}

/// The state behind `second` where it begins a run: what came before `first` makes no difference to it.
pub(crate) fn state_behind(first: u8, second: u8) -> Option<u8> {
    let (first, second) = (CLASS_OF[usize::from(first)], CLASS_OF[usize::from(second)]);
    (first as u8 != second as u8).then(|| second.begun().state())
}

/// What an ASCII byte is.
#[derive(Clone, Copy)]
#[repr(u8)]
enum ByteClass {
    Small,
    Capital,
    Digit,
    Punctuation,
    LineEnd,
    Blank,
}

impl ByteClass {
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

    /// The run that the first byte of this class begins.
    const fn begun(self) -> RunState {
        match self {
            Self::Small => RunState::Small(1),
            Self::Capital => RunState::Capital(1),
            Self::Digit => RunState::Digit(1),
            Self::Punctuation => RunState::Punctuation(1),
            Self::LineEnd => RunState::LineEnd,
            Self::Blank => RunState::Blank(1),
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
const CLASSES: u8 = 6;

const CLASS_OF: [ByteClass; 256] = {
    let mut classes = [ByteClass::Punctuation; 256];
    let mut byte = 0;
    while byte < 256 {
        classes[byte] = ByteClass::of(byte as u8);
        byte += 1;
    }
    classes
};

/// A run and its length, counted as far as the price depends on it.
#[derive(Clone, Copy)]
enum RunState {
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

impl RunState {
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
const fn step(run: RunState, class: ByteClass, weights: &Weights) -> (RunState, u16) {
    match class {
        ByteClass::Small => step_small(run, weights),
        ByteClass::Capital => step_capital(run, weights),
        ByteClass::Digit => step_digit(run, weights),
        ByteClass::Punctuation => step_punctuation(run, weights),
        ByteClass::LineEnd => {
            (RunState::LineEnd, if matches!(run, RunState::LineEnd) { 0 } else { weights.line_ends })
        }
        ByteClass::Blank => step_blank(run, weights),
    }
}

const fn step_small(run: RunState, weights: &Weights) -> (RunState, u16) {
    match run {
        RunState::Small(length) if length < SMALL_FREE => (RunState::Small(length + 1), 0),
        RunState::Small(_) => (RunState::Small(SMALL_FREE + 1), weights.small_beyond),
        RunState::Capital(_) => (RunState::Small(1), weights.small_after_capital),
        RunState::Digit(_) => (RunState::Small(1), weights.small + weights.letter_digit),
        RunState::None | RunState::Punctuation(_) | RunState::LineEnd | RunState::Blank(_) => {
            (RunState::Small(1), weights.small)
        }
    }
}

const fn step_capital(run: RunState, weights: &Weights) -> (RunState, u16) {
    match run {
        RunState::Capital(1) => (RunState::Capital(2), 0),
        RunState::Capital(_) => (RunState::Capital(3), weights.capital_beyond),
        RunState::Digit(_) => (RunState::Capital(1), weights.capital + weights.letter_digit),
        RunState::None
        | RunState::Small(_)
        | RunState::Punctuation(_)
        | RunState::LineEnd
        | RunState::Blank(_) => (RunState::Capital(1), weights.capital),
    }
}

const fn step_digit(run: RunState, weights: &Weights) -> (RunState, u16) {
    match run {
        RunState::Digit(length) if length < 3 => (RunState::Digit(length + 1), 0),
        RunState::Small(_) | RunState::Capital(_) => {
            (RunState::Digit(1), weights.digits + weights.letter_digit)
        }
        RunState::None
        | RunState::Digit(_)
        | RunState::Punctuation(_)
        | RunState::LineEnd
        | RunState::Blank(_) => (RunState::Digit(1), weights.digits),
    }
}

const fn step_punctuation(run: RunState, weights: &Weights) -> (RunState, u16) {
    match run {
        RunState::Punctuation(1) => (RunState::Punctuation(2), 0),
        RunState::Punctuation(_) => (RunState::Punctuation(3), weights.punctuation_beyond),
        RunState::None
        | RunState::Small(_)
        | RunState::Capital(_)
        | RunState::Digit(_)
        | RunState::LineEnd
        | RunState::Blank(_) => (RunState::Punctuation(1), weights.punctuation),
    }
}

const fn step_blank(run: RunState, weights: &Weights) -> (RunState, u16) {
    match run {
        RunState::Blank(1) => (RunState::Blank(2), weights.blanks),
        RunState::Blank(_) => (RunState::Blank(2), 0),
        RunState::None
        | RunState::Small(_)
        | RunState::Capital(_)
        | RunState::Digit(_)
        | RunState::Punctuation(_)
        | RunState::LineEnd => (RunState::Blank(1), 0),
    }
}
