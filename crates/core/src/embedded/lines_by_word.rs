//! An index of lines by their words: whether a text stands in one of them is asked of the few that have its rarest word.

use crate::text_hash::TextMap;

/// The lines, and which of them each word stands in.
pub(super) struct LinesByWord<'t> {
    lines: Vec<&'t str>,
    /// The number of the last place of each word, and how many it has.
    newest: TextMap<&'t str, (u32, u32)>,
    /// Each place of a word: its line, and the number of the place before it; its own where there is none.
    places: Vec<(u32, u32)>,
}

impl<'t> LinesByWord<'t> {
    pub(super) fn of(lines: impl Iterator<Item = &'t str>) -> Self {
        let lines: Vec<&str> = lines.collect();
        let mut newest: TextMap<&str, (u32, u32)> = TextMap::default();
        let mut places: Vec<(u32, u32)> = Vec::new();
        for (at, line) in lines.iter().enumerate() {
            for word in line.split_whitespace() {
                let number = places.len() as u32;
                let (last, count) = newest.entry(word).or_insert((number, 0));
                places.push((at as u32, *last));
                (*last, *count) = (number, *count + 1);
            }
        }
        Self { lines, newest, places }
    }

    /// Whether `text` stands in one of the lines.
    pub(super) fn hold(&self, text: &str) -> bool {
        self.with(text).next().is_some()
    }

    /// The first line that `text` stands in.
    pub(super) fn find(&self, text: &str) -> Option<usize> {
        self.with(text).min()
    }

    /// The lines that `text` stands in.
    fn with(&self, text: &str) -> impl Iterator<Item = usize> {
        // Its first and its last word may be parts of longer ones there; those between stand as they are.
        let words = || text.split_whitespace();
        let inner = words().skip(1).take(words().count().saturating_sub(2));
        let known = inner.map(|word| self.newest.get(word).copied());
        // A word that stands nowhere is the rarest of all.
        let rarest = known.min_by_key(|known| known.map_or(0, |(_, count)| count));
        let (by_word, all) = match rarest {
            Some(known) => (Some(self.places(known.map(|(newest, _)| newest))), None),
            None => (None, Some(0..self.lines.len())),
        };
        let lines = by_word.into_iter().flatten().chain(all.into_iter().flatten());
        lines.filter(move |&at| self.lines[at].contains(text))
    }

    /// The lines of a word, from its last place back.
    fn places(&self, newest: Option<u32>) -> impl Iterator<Item = usize> {
        let mut next = newest;
        std::iter::from_fn(move || {
            let number = next?;
            let (line, older) = self.places[number as usize];
            next = Some(older).filter(|older| *older != number);
            Some(line as usize)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::LinesByWord;

    #[test]
    fn a_text_is_found_wherever_a_search_of_every_line_finds_it() {
        let lines = ["- the port is 8080 now.", "m0003: unported code\nstays here", "", "日本 語です"];
        let index = LinesByWord::of(lines.into_iter());
        for text in [
            "the port is 8080 now",
            "ported code\nsta",
            "port is 80",
            "port  is 8080",
            "code stays",
            "he port",
            "m0003",
            "本 語",
            "gone",
            "now. m0003",
            "",
            "port is gone now",
        ] {
            assert_eq!(index.find(text), lines.iter().position(|line| line.contains(text)), "{text:?}");
            assert_eq!(index.hold(text), index.find(text).is_some(), "{text:?}");
        }
    }
}
