//! What was odd about a file, gathered while it is read. What can befall many lines is told once, with how
//! many there are and where the first stands.

use crate::Problem;
use std::collections::BTreeMap;

/// Problems told one by one; a file with more of them is broken as a whole, and a count says so.
const TOLD_MAX: usize = 200;

/// The problems of one file so far.
#[derive(Default)]
pub(crate) struct Problems {
    told: Vec<Problem>,
    untold: usize,
    /// What befell lines: how many, and which the first.
    damages: BTreeMap<Damage, LineCount>,
    /// Kinds of record nobody knows, likewise.
    unknown: BTreeMap<Box<str>, LineCount>,
    /// Those that are in the conversation all the same, unread.
    carried: BTreeMap<Box<str>, LineCount>,
}

/// Lines of which the same is to be told.
#[derive(Clone, Copy)]
struct LineCount {
    count: usize,
    first: u64,
}

/// What can befall a line.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Damage {
    /// Bytes that are no text.
    NotUtf8,
    /// Half of a surrogate pair.
    HalfPair,
    /// No JSON object can be found in it.
    NotJson,
    /// JSON, and no object.
    NotAnObject,
    /// An object that its reader refuses.
    Refused {
        /// Why.
        why: String,
    },
    /// A last line without its end.
    CutOff,
    /// Objects that can be read, and something else.
    Broken,
    /// Zero bytes around whole objects, or alone.
    Zeros,
    /// Several objects.
    Joined,
}

impl Damage {
    fn what(&self) -> String {
        let what = match self {
            Self::NotUtf8 => "is not UTF-8 throughout; what cannot be read is shown as \u{fffd}",
            Self::HalfPair => "holds half a character, as a text cut inside an emoji does; shown as \u{fffd}",
            Self::NotJson => "is not JSON; left out",
            Self::NotAnObject => "is JSON, but no record; left out",
            Self::Refused { why } => return format!("cannot be read ({why}); left out"),
            Self::CutOff => "is cut off, as a last line is while it is written; the file is taken up to it",
            Self::Broken => "is damaged; the whole records in it are taken, the rest is left out",
            Self::Zeros => {
                "holds zero bytes, as a disk leaves where it lost something; what else is there is taken"
            }
            Self::Joined => "holds several records with no newline between; all are taken",
        };
        what.to_owned()
    }
}

impl Problems {
    /// Something about one line.
    pub(crate) fn add(&mut self, line: u64, what: impl Into<String>) {
        self.push(Problem { line: Some(line), what: what.into() });
    }

    /// Something about the file.
    pub(crate) fn add_overall(&mut self, what: impl Into<String>) {
        self.push(Problem { line: None, what: what.into() });
    }

    /// Something that befell a line. Each kind is told once, with its count.
    pub(crate) fn add_damage(&mut self, line: u64, damage: Damage) {
        // A reader's reasons may quote what they refuse, so there may be as many kinds as lines.
        if self.damages.len() < TOLD_MAX || self.damages.contains_key(&damage) {
            self.damages.entry(damage).or_insert(LineCount { count: 0, first: line }).count += 1;
        } else {
            self.untold += 1;
        }
    }

    /// A record of a kind we do not know, which is passed over. Each kind is told once, with its count.
    pub(crate) fn add_unknown(&mut self, line: u64, kind: &str) {
        self.unknown.entry(kind.into()).or_insert(LineCount { count: 0, first: line }).count += 1;
    }

    /// The same for one that is carried as it is.
    pub(crate) fn add_carried(&mut self, line: u64, kind: &str) {
        self.carried.entry(kind.into()).or_insert(LineCount { count: 0, first: line }).count += 1;
    }

    fn push(&mut self, problem: Problem) {
        if self.told.len() < TOLD_MAX {
            self.told.push(problem);
        } else {
            self.untold += 1;
        }
    }

    /// All of them, as a transcript lists them: what befell lines first, as it may have cost something.
    pub(crate) fn told(self) -> Vec<Problem> {
        let mut told: Vec<Problem> = self.damages.iter().map(damaged).collect();
        told.sort_by_key(|problem| problem.line);
        told.extend(self.told);
        told.extend(self.unknown.iter().map(|(kind, lines)| strange(kind, *lines, "passed over")));
        told.extend(self.carried.iter().map(|(kind, lines)| strange(kind, *lines, "carried as they are")));
        if self.untold > 0 {
            told.push(Problem { line: None, what: format!("{} more problems, not listed", self.untold) });
        }
        told
    }
}

fn damaged((damage, lines): (&Damage, &LineCount)) -> Problem {
    let mut what = damage.what();
    if lines.count > 1 {
        what += &format!(" ({} such lines, this the first)", lines.count);
    }
    Problem { line: Some(lines.first), what }
}

fn strange(kind: &str, lines: LineCount, fate: &str) -> Problem {
    let count = lines.count;
    let what = format!("`{kind}` is no known kind of record; {count} of them {fate}, this the first");
    Problem { line: Some(lines.first), what }
}
