//! Whether a model's prose tells of this session: the names, paths and values in it must stand in the log. Prose has
//! nothing copied behind it by itself, so what a model makes up would stand there unchallenged.

use crate::facts::{self, Class, Passage, Sighting, Voice};
use crate::{Author, Material};
use std::collections::BTreeSet;

/// Fewer than this may all be a model's own words for things.
const INVENTED_MIN: usize = 4;
/// So many are told of.
const TOLD_MAX: usize = 3;

/// Fewer words may all be new.
const WORDS_MIN: usize = 12;
/// At least this part of them stands in any log, whatever language it is in: tools speak English.
const KNOWN_SHARE: usize = 10;

/// Why the prose is not of this session; none where it is.
pub(super) fn invented(prose: &str, material: &Material<'_>) -> Option<String> {
    let log = log(material);
    nonsense(prose, &log).or_else(|| strange_names(prose, &log))
}

/// Words of which next to none were ever said.
fn nonsense(prose: &str, log: &str) -> Option<String> {
    let prose = prose.to_lowercase();
    let words = prose.split(|c: char| !c.is_alphanumeric()).filter(|word| word.chars().count() > 3);
    let words: BTreeSet<&str> = words.collect();
    let known = words.iter().filter(|word| log.contains(**word)).count();
    (words.len() >= WORDS_MIN && known * KNOWN_SHARE < words.len()).then(|| {
        format!("the summary is of something else: {known} of its {} words stand in the log", words.len())
    })
}

/// Names most of which the log does not know.
fn strange_names(prose: &str, log: &str) -> Option<String> {
    let named = names(prose);
    let unknown: Vec<&String> = named.iter().filter(|name| !log.contains(name.as_str())).collect();
    if unknown.len() < INVENTED_MIN || unknown.len() * 2 <= named.len() {
        return None;
    }
    let told: Vec<&str> = unknown.iter().take(TOLD_MAX).map(|name| name.as_str()).collect();
    Some(format!(
        "the summary is of something else: {} of the {} names in it stand nowhere in the log ({}, …)",
        unknown.len(),
        named.len(),
        told.join(", ")
    ))
}

/// Paths, identifiers and the like in a text, in lower case. Numbers are left out: a model may add and round.
fn names(prose: &str) -> BTreeSet<String> {
    let passage = Passage { voice: Voice::Said, author: Author::Model, tool: None, text: prose.into() };
    let mut names = BTreeSet::new();
    facts::scan(&passage, |Sighting { mention, .. }| {
        if mention.class.is_token() && mention.class != Class::Number {
            names.insert(mention.value.to_lowercase());
        }
    });
    names
}

/// All that was said, called and answered, in lower case.
fn log(material: &Material<'_>) -> String {
    let messages = material.superseded.iter().chain(material.visible);
    let passages = messages.flat_map(|(_, message)| facts::passages(message));
    let mut log: String = passages.map(|passage| passage.text.to_lowercase() + "\n").collect();
    material.previous.iter().for_each(|text| log.push_str(&text.to_lowercase()));
    log
}
