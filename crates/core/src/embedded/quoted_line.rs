//! What a line of a passage tells by itself when it might be quoted: whether it speaks of its facts or is mute, and about
//! what it takes. A line never changes, so this is found once with the digest of its message; which lines are quoted is `select`'s.

use super::action;
use super::answer::asks_person;
use super::code::is_mute;
use super::line_piece::piece_around;
use super::link::is_linking;
use super::weight::TUNING;
use crate::Author;
use crate::facts::{Class, Mention, PassageFacts, text_hash};

/// A line without words of its own is shown with the one before it, up to this many bytes.
const JOINED_BYTES_MAX: usize = 220;

/// Whether lines of a passage are quoted. The ledger shows the todo list as it stands, the dialogue what was asked and
/// answered: their history would only confuse.
pub(super) fn is_quoted(passage: &PassageFacts) -> bool {
    !passage.tool.as_deref().is_some_and(|tool| action::keeps_todos(tool) || asks_person(tool))
}

/// Whether a fact is one of those that lines are chosen for. Small numbers stand everywhere and say little, unless a person
/// said them.
pub(super) fn is_counted(mention: Mention<'_>, author: Author) -> bool {
    let is_trivial = mention.class == Class::Number && mention.value.len() < 3 && author != Author::Person;
    mention.class.is_token() && !is_trivial
}

/// What the lines of a passage that hold such facts tell by themselves, in their order.
pub(crate) fn line_traits(passage: &PassageFacts) -> &[LineTraits] {
    passage.line_traits(|| {
        let counted = passage.sightings().filter(|(it, _)| is_counted(it.mention, passage.author));
        let text = &*passage.text;
        let mut spans: Vec<(u32, u32)> =
            counted.map(|(it, _)| piece_around(text, it.line, it.mention.value)).collect();
        spans.dedup();
        spans.into_iter().map(|(start, end)| LineTraits::of(text, start, end)).collect()
    })
}

/// What a line tells by itself.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LineTraits {
    /// Whether ordinary words stand in it beside its facts.
    pub is_linking: bool,
    /// Whether it says nothing by itself.
    pub is_mute: bool,
    /// About how many tokens it takes.
    pub cost: f64,
    /// Of its text, by which the same line is found again.
    pub hash: u64,
    /// With the line before it, where that makes it speak.
    pub joined: Option<JoinedLine>,
}

/// A line with the one before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JoinedLine {
    /// Where the one before it begins.
    pub start: u32,
    /// How much of their facts' worth both earn.
    pub share: f64,
    /// About how many tokens both take.
    pub cost: f64,
}

impl LineTraits {
    /// Those of the line from `start` to `end` of a text.
    pub(super) fn of(text: &str, start: u32, end: u32) -> Self {
        let line = text[start as usize..end as usize].trim();
        let is_linking = is_linking(line);
        let joined = if is_linking { None } else { JoinedLine::of(text, start, end) };
        Self { is_linking, is_mute: is_mute(line), cost: cost(line), hash: text_hash(line), joined }
    }
}

impl JoinedLine {
    fn of(text: &str, start: u32, end: u32) -> Option<Self> {
        let before = text[..start as usize].trim_end();
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let is_short = end as usize - start <= JOINED_BYTES_MAX;
        let both = &text[start..end as usize];
        let speaks = !before.is_empty() && is_short && is_linking(both);
        speaks.then(|| Self { start: start as u32, share: share(both), cost: cost(both) })
    }
}

/// What says nothing by itself earns less by the facts in it.
fn share(text: &str) -> f64 {
    if text.lines().all(is_mute) { TUNING.mute } else { 1.0 }
}

/// About how many tokens a text takes, without asking: runs of letters by four, signs by one.
pub(super) fn cost(text: &str) -> f64 {
    cost_of(text.chars())
}

/// The same of a text that is given by its characters.
pub(super) fn cost_of(text: impl Iterator<Item = char>) -> f64 {
    let (mut tokens, mut run) = (0.0, 0_u32);
    for c in text {
        if c.is_ascii_alphanumeric() {
            run += 1;
            continue;
        }
        tokens += run_cost(run);
        run = 0;
        tokens += match c {
            ' ' => 0.0,
            c if c.is_ascii() => 0.7,
            _ => 0.8,
        };
    }
    tokens + run_cost(run) + 1.0
}

/// Nine letters are two tokens.
fn run_cost(letters: u32) -> f64 {
    f64::from((2 * letters).div_ceil(9))
}
