//! A passage with the facts that were found in it, kept as spans of its text so that it need not be scanned again.

use super::{FactHash, FoundBy, Mention, Passage, Sighting, Voice, scan_each, tells_of_an_end};
use crate::Author;
use crate::embedded::{LineTraits, WordPairs, word_pairs};
use crate::facts::Class;
use std::sync::{Arc, OnceLock};

/// A readable piece of a message, and every fact in it.
#[derive(Debug)]
pub(crate) struct PassageFacts {
    /// Where it stands.
    pub voice: Voice,
    /// Who wrote it.
    pub author: Author,
    /// The tool called, for arguments of a call.
    pub tool: Option<Box<str>>,
    /// Its text; arguments as one `name: value` per line.
    pub text: Arc<str>,
    facts: Box<[FactSpan]>,
    tells_of_an_end: OnceLock<bool>,
    line_traits: OnceLock<Box<[LineTraits]>>,
    word_pairs: OnceLock<WordPairs>,
}

/// A fact, by where it stands in its passage.
#[derive(Clone, Copy, Debug)]
struct FactSpan {
    class: Class,
    key: TextSpan,
    value: TextSpan,
    line: TextSpan,
    hash: FactHash,
    by: FoundBy,
}

/// A piece of a text of less than 4 GB.
#[derive(Clone, Copy, Debug)]
struct TextSpan {
    start: u32,
    end: u32,
}

impl PassageFacts {
    /// Scans a passage.
    pub(crate) fn of(passage: &Passage<'_>) -> Self {
        let text: &str = &passage.text;
        let mut facts = Vec::new();
        scan_each(passage, |Sighting { mention, line }, by| {
            let span = |piece| TextSpan::of(piece, text);
            let Mention { class, key, value } = mention;
            let hash = FactHash::of(mention);
            facts.push(FactSpan { class, key: span(key), value: span(value), line: span(line), hash, by });
        });
        Self {
            voice: passage.voice,
            author: passage.author,
            tool: passage.tool.map(Into::into),
            text: text.into(),
            facts: facts.into(),
            tells_of_an_end: OnceLock::new(),
            line_traits: OnceLock::new(),
            word_pairs: OnceLock::new(),
        }
    }

    /// The facts, in the order in which a scan finds them.
    pub(crate) fn sightings(&self) -> impl Iterator<Item = (Sighting<'_>, FactHash)> {
        self.facts.iter().map(|fact| (self.sighting(fact), fact.hash))
    }

    /// Those of them that any text with their lines would have.
    pub(crate) fn sightings_by_form(&self) -> impl Iterator<Item = Sighting<'_>> {
        self.facts.iter().filter(|fact| fact.by == FoundBy::Form).map(|fact| self.sighting(fact))
    }

    fn sighting(&self, fact: &FactSpan) -> Sighting<'_> {
        let piece = |span: TextSpan| &self.text[span.start as usize..span.end as usize];
        let mention = Mention { class: fact.class, key: piece(fact.key), value: piece(fact.value) };
        Sighting { mention, line: piece(fact.line) }
    }

    /// What its lines with facts tell by themselves, in their order; looked for when first asked for.
    pub(crate) fn line_traits(&self, look: impl FnOnce() -> Box<[LineTraits]>) -> &[LineTraits] {
        self.line_traits.get_or_init(look)
    }

    /// The pairs of neighbouring words in it.
    pub(crate) fn word_pairs(&self) -> &WordPairs {
        self.word_pairs.get_or_init(|| word_pairs(&self.text))
    }

    /// Whether it says that something has come to its end.
    pub(crate) fn tells_of_an_end(&self) -> bool {
        *self.tells_of_an_end.get_or_init(|| tells_of_an_end(&self.text))
    }
}

impl TextSpan {
    /// Where `piece`, a slice of `text`, stands in it: what a scan finds is never copied.
    fn of(piece: &str, text: &str) -> Self {
        let start = piece.as_ptr() as usize - text.as_ptr() as usize;
        Self { start: start as u32, end: (start + piece.len()) as u32 }
    }
}

#[cfg(test)]
mod tests {
    use super::PassageFacts;
    use crate::Author;
    use crate::facts::{Passage, Sighting, Voice, scan};

    #[test]
    fn what_is_kept_is_what_a_scan_finds() {
        let text = "error[E0308]: mismatched types in src/a.rs\n  port: 8080 is 12 ms, see getUser() v1.2.3\n\
            Command running in background with ID: b3f9\n$ cargo test -p core && git push\n日本 src/main.rs";
        for (voice, author) in [
            (Voice::Answered, Author::Tool),
            (Voice::Said, Author::Person),
            (Voice::Said, Author::Model),
            (Voice::Called, Author::Model),
        ] {
            let passage = Passage { voice, author, tool: None, text: text.into() };
            let mut found = Vec::new();
            scan(&passage, |Sighting { mention, line }| found.push((mention, line.to_owned())));
            let facts = PassageFacts::of(&passage);
            let kept: Vec<_> = facts.sightings().map(|(it, _)| (it.mention, it.line.to_owned())).collect();
            assert!(!kept.is_empty());
            assert_eq!(kept, found);
        }
    }
}
