//! The elements of a list as they stand in their line.
//!
//! Blocks nobody knows are carried as JSON. They are looked up once for all of a list, and only where there
//! is such a block: reading takes time in proportion to the line, however many there are.

use crate::document::View;
use std::cell::OnceCell;

/// A value that may be a list, somewhere in a JSON object, found when it is first asked for.
pub(crate) struct RawList<'a> {
    object: &'a str,
    path: &'static [&'static str],
    found: OnceCell<FoundList<'a>>,
}

#[derive(Default)]
struct FoundList<'a> {
    whole: Option<View<'a>>,
    elements: Vec<View<'a>>,
}

/// What stands for a value that is not there.
const ABSENT: &str = "null";

impl<'a> RawList<'a> {
    /// The value that these keys lead to from `object`, one inside the other.
    pub(crate) fn at(object: &'a str, path: &'static [&'static str]) -> Self {
        Self { object, path, found: OnceCell::new() }
    }

    /// All of it, as JSON.
    pub(crate) fn whole(&self) -> &'a str {
        self.found().whole.map_or(ABSENT, View::json)
    }

    /// One element, as JSON.
    pub(crate) fn element(&self, at: usize) -> &'a str {
        self.found().elements.get(at).map_or(ABSENT, |view| view.json())
    }

    fn found(&self) -> &FoundList<'a> {
        self.found.get_or_init(|| {
            let whole = View::parse(self.object).ok().and_then(|object| object.at(self.path));
            FoundList { whole, elements: whole.and_then(View::list).unwrap_or_default() }
        })
    }
}
