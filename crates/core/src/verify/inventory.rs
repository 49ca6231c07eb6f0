//! The facts that have to survive: those of the superseded range, each once, without values that a
//! newer one has replaced. Looking them up in the new context is `visible_text`'s.

use super::words::places;
use crate::facts::{Class, Fact, FactHash, FactIndex, Mention, PassageFacts, Sighting};
use crate::ledger::Ledger;
use crate::{Author, EntryId, Material, Message};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Lines are kept to this length beside their fact.
const LINE_CHARS_MAX: usize = 200;

/// More names than this are a log of processes, not work somebody waits for.
const LIVE_MAX: usize = 64;

/// The facts, in the order they were first seen.
#[derive(Default)]
pub(super) struct Inventory {
    pub facts: Vec<Fact>,
    /// Places in `facts`, by what each is about.
    places: FactIndex,
    /// When a person last spoke.
    heard: Option<EntryId>,
    /// Work that goes on, by name.
    live: HashSet<Box<str>>,
    /// Facts whose value a message in view has replaced.
    outdated: HashSet<usize>,
    /// The line of the newest fact: those of one line share it.
    line: Arc<str>,
}

/// Whether a mention is of this fact: by its value, or by its key where the newest value counts.
fn is_of(fact: &Fact, mention: Mention<'_>) -> bool {
    let is_same = || match mention.class.latest_wins() {
        true => *fact.key == *mention.key || fact.key.to_lowercase() == mention.key.to_lowercase(),
        false => *fact.value == *mention.value,
    };
    fact.class == mention.class && is_same()
}

impl Inventory {
    /// Takes stock of the material, whose ledger is this one.
    pub(super) fn of(material: &Material<'_>, ledger: &Ledger) -> Self {
        let mut inventory = Self::default();
        let superseded: HashSet<EntryId> = material.superseded.iter().map(|(id, _)| *id).collect();
        for original in material.superseded {
            let (id, message) = original;
            inventory.hear(*id, message);
            for passage in material.digests.digest(original).passages() {
                let sightings = passage.sightings();
                sightings.for_each(|(sighting, hash)| inventory.see(*id, passage.author, sighting, hash));
                inventory.end_work(passage);
            }
        }
        // Of what is shown cut the original has been read.
        for shown in material.visible.iter().filter(|(id, _)| !superseded.contains(id)) {
            let (id, message) = shown;
            inventory.hear(*id, message);
            for passage in material.digests.digest(shown).passages() {
                inventory.end_work(passage);
                let sightings = passage.sightings();
                sightings.for_each(|(sighting, hash)| inventory.outdate(*id, sighting.mention, hash));
            }
        }
        inventory.drop_outdated();
        inventory.take_ledger(ledger, &superseded);
        inventory.close_questions();
        let live = std::mem::take(&mut inventory.live);
        inventory.facts.retain(|fact| fact.class != Class::LiveWork || live.contains(&*fact.value));
        inventory
    }

    /// Drops outdated values, and what else was last seen on their lines: put back, a line says all it says.
    fn drop_outdated(&mut self) {
        let mut lines: HashMap<EntryId, HashSet<Arc<str>>> = HashMap::new();
        for place in std::mem::take(&mut self.outdated) {
            let fact = &self.facts[place];
            lines.entry(fact.source).or_default().insert(fact.line.clone());
        }
        let is_outdated =
            |fact: &Fact| lines.get(&fact.source).is_some_and(|lines| lines.contains(&fact.line));
        self.facts.retain(|fact| !is_outdated(fact));
        // Places have moved; nothing is looked up by them any more.
        self.places.clear();
    }

    /// Takes down when a person last spoke.
    fn hear(&mut self, id: EntryId, message: &Message) {
        if message.author == Author::Person {
            self.heard = self.heard.max(Some(id));
        }
    }

    /// Forgets work that a tool or the harness says has come to its end.
    fn end_work(&mut self, passage: &PassageFacts) {
        let is_report = matches!(passage.author, Author::Tool | Author::Harness);
        if !self.live.is_empty() && is_report && passage.tells_of_an_end() {
            self.live.retain(|name| places(&passage.text, name).next().is_none());
        }
    }

    /// Only the last question can still be open, and only where nobody has spoken since.
    fn close_questions(&mut self) {
        let questions = self.facts.iter().filter(|fact| fact.class == Class::Question);
        let last = questions.map(|fact| fact.source).max();
        let open = last.filter(|&asked| self.heard.is_none_or(|heard| heard < asked));
        self.facts.retain(|fact| fact.class != Class::Question || Some(fact.source) == open);
    }

    /// Forgets a value that a message in view, said later, has replaced: put back, it would pass for the newest.
    fn outdate(&mut self, id: EntryId, mention: Mention<'_>, hash: FactHash) {
        if !mention.class.latest_wins() {
            return;
        }
        if let Some(place) = self.places.find(hash.subject, |place| is_of(&self.facts[place], mention)) {
            let known = &self.facts[place];
            if known.source < id && *known.value != *mention.value {
                self.outdated.insert(place);
            }
        }
    }

    fn see(&mut self, id: EntryId, author: Author, sighting: Sighting<'_>, hash: FactHash) {
        let Sighting { mention, line } = sighting;
        if mention.class == Class::LiveWork && self.live.len() < LIVE_MAX {
            self.live.insert(mention.value.into());
        }
        let Self { facts, places, line: newest, .. } = self;
        let place = places.find_or_add(hash.subject, facts.len(), |place| is_of(&facts[place], mention));
        let mut fact = || {
            let cut = line.char_indices().nth(LINE_CHARS_MAX).map_or(line.len(), |(at, _)| at);
            if **newest != line[..cut] {
                *newest = line[..cut].into();
            }
            let (key, value) = (mention.key.into(), mention.value.into());
            Fact { class: mention.class, key, value, source: id, line: newest.clone(), author }
        };
        match facts.get_mut(place) {
            None => facts.push(fact()),
            Some(known) if known.value.as_ref() != mention.value => *known = fact(),
            Some(known) => known.source = id,
        }
    }

    fn take_ledger(&mut self, ledger: &Ledger, superseded: &HashSet<EntryId>) {
        let is_ours = |entry: &EntryId| superseded.contains(entry);
        // What was only tried out is no loss.
        for file in ledger.files.iter().filter(|file| is_ours(&file.entry) && !file.is_scratch()) {
            let word = file.standing().name();
            self.push(Class::Operation, &file.path, word, file.entry, format!("{word} {}", file.path));
        }
        for todo in ledger.open_todos().filter(|todo| is_ours(&todo.entry)) {
            self.push(Class::Todo, &todo.text, &todo.text, todo.entry, format!("- [ ] {}", todo.text));
        }
    }

    fn push(&mut self, class: Class, key: &str, value: &str, source: EntryId, line: String) {
        let line: Arc<str> = line.into();
        self.facts.push(Fact {
            class,
            key: key.into(),
            value: value.into(),
            source,
            line,
            author: Author::Model,
        });
    }
}
