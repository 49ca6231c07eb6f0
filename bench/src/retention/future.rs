//! What the rest of a session uses of its past.

use super::session::{FactId, Session};
use super::walk::Point;
use super::words::beside;
use epitome_core::Role;
use epitome_core::facts::Class;
use std::collections::{HashMap, HashSet};

/// A fact of the past that a later action uses without having been told it again.
pub struct Use {
    /// The fact.
    pub fact: FactId,
    /// Turns between the compaction and the use.
    pub turns: usize,
    /// Messages of the past that hold it, for telling what is recoverable.
    pub sources: Vec<usize>,
    /// The ordinary words it stood beside.
    pub words: HashSet<String>,
}

/// As many messages that hold a fact are looked at for its surroundings: the newest.
const SOURCES_MAX: usize = 4;
/// As many occurrences in each.
const OCCURRENCES_MAX: usize = 3;

/// The counted facts of a compaction, each at its first use.
pub fn uses(session: &Session, point: Point, frequent: &HashSet<String>) -> Vec<Use> {
    let mut past: HashMap<FactId, Vec<usize>> = HashMap::new();
    for (at, said) in session.messages[..point.recent].iter().enumerate() {
        said.facts.iter().for_each(|&fact| past.entry(fact).or_default().push(at));
    }
    let visible = session.messages[point.recent..point.at].iter().flat_map(|said| &said.facts);
    for fact in visible.chain(&session.fixed) {
        past.remove(fact);
    }
    past.retain(|&fact, _| !frequent.contains(session.facts[fact as usize].value.as_str()));
    drop_outdated(session, point, &mut past);
    first_uses(session, point, past)
}

/// Where the newest value wins, an older one is no longer true and nobody should be asked for it.
fn drop_outdated(session: &Session, point: Point, past: &mut HashMap<FactId, Vec<usize>>) {
    let mut newest: HashMap<(Class, &str), usize> = HashMap::new();
    for (at, said) in session.messages[..point.at].iter().enumerate() {
        let facts = said.facts.iter().map(|&fact| &session.facts[fact as usize]);
        newest.extend(
            facts.filter(|fact| fact.class.latest_wins()).map(|fact| ((fact.class, fact.key.as_str()), at)),
        );
    }
    past.retain(|&fact, sources| {
        let fact = &session.facts[fact as usize];
        !fact.class.latest_wins() || newest.get(&(fact.class, fact.key.as_str())) == sources.last()
    });
}

fn first_uses(session: &Session, point: Point, mut past: HashMap<FactId, Vec<usize>>) -> Vec<Use> {
    let (mut all, mut turns) = (Vec::new(), 0);
    for said in &session.messages[point.at..] {
        turns += usize::from(said.message.role == Role::Assistant);
        for &fact in &said.acted {
            if let Some(sources) = past.remove(&fact) {
                let words = surroundings(session, fact, &sources);
                all.push(Use { fact, turns, sources, words });
            }
        }
        // Told again, a fact needs no memory from here on.
        said.told.iter().for_each(|fact| drop(past.remove(fact)));
    }
    all
}

fn surroundings(session: &Session, fact: FactId, sources: &[usize]) -> HashSet<String> {
    let value = &session.facts[fact as usize].value;
    let mut words = HashSet::new();
    for &source in sources.iter().rev().take(SOURCES_MAX) {
        let text = &session.messages[source].text;
        for (start, found) in text.match_indices(value.as_str()).take(OCCURRENCES_MAX) {
            words.extend(beside(text, start, start + found.len()));
        }
    }
    words
}
