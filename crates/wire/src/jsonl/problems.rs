//! What was odd about a file, gathered while it is read.

use crate::Problem;
use std::collections::BTreeMap;

/// Problems told one by one; a file with more of them is broken as a whole, and a count says so.
const TOLD_MAX: usize = 200;

/// The problems of one file so far.
#[derive(Default)]
pub(crate) struct Problems {
    told: Vec<Problem>,
    untold: usize,
    /// Kinds of record nobody knows: how many, and where the first stands.
    unknown: BTreeMap<Box<str>, (usize, u64)>,
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

    /// A record of a kind we do not know. Each kind is told once, with its count.
    pub(crate) fn add_unknown(&mut self, line: u64, kind: &str) {
        match self.unknown.get_mut(kind) {
            Some((count, _)) => *count += 1,
            None => drop(self.unknown.insert(kind.into(), (1, line))),
        }
    }

    fn push(&mut self, problem: Problem) {
        if self.told.len() < TOLD_MAX {
            self.told.push(problem);
        } else {
            self.untold += 1;
        }
    }

    /// All of them, as a transcript lists them.
    pub(crate) fn told(mut self) -> Vec<Problem> {
        for (kind, (count, line)) in std::mem::take(&mut self.unknown) {
            let what =
                format!("`{kind}` is no known kind of record; {count} of them passed over, this the first");
            self.told.push(Problem { line: Some(line), what });
        }
        if self.untold > 0 {
            self.told
                .push(Problem { line: None, what: format!("{} more problems, not listed", self.untold) });
        }
        self.told
    }
}
