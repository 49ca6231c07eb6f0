//! An index of lines by their words: whether a text stands in one of them is asked of the few that have its rarest word.

use crate::text_hash::TextMap;

/// The lines, and which of them each word stands in.
pub(super) struct LinesByWord<'t> {
    lines: Vec<&'t str>,
    places: TextMap<&'t str, Vec<usize>>,
}

impl<'t> LinesByWord<'t> {
    pub(super) fn of(lines: impl Iterator<Item = &'t str>) -> Self {
        let lines: Vec<&str> = lines.collect();
        let mut places: TextMap<&str, Vec<usize>> = TextMap::default();
        for (at, line) in lines.iter().enumerate() {
            line.split_whitespace().for_each(|word| places.entry(word).or_default().push(at));
        }
        Self { lines, places }
    }

    /// Whether `text` stands in one of the lines.
    pub(super) fn hold(&self, text: &str) -> bool {
        // Its first and its last word may be parts of longer ones there; those between stand as they are.
        let words: Vec<&str> = text.split_whitespace().collect();
        let inner = words.get(1..words.len().saturating_sub(1)).unwrap_or_default();
        let places = inner.iter().map(|word| self.places.get(word).map_or(&[][..], Vec::as_slice));
        match places.min_by_key(|places| places.len()) {
            Some(places) => places.iter().any(|&at| self.lines[at].contains(text)),
            None => self.lines.iter().any(|line| line.contains(text)),
        }
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
            assert_eq!(index.hold(text), lines.iter().any(|line| line.contains(text)), "{text:?}");
        }
    }
}
