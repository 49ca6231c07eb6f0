//! The facts that have to survive: those of the superseded range, each once, without values that a
//! newer one has replaced. Looking them up in the new context is `visible_text`'s.

use super::words::places;
use crate::digest::MessageDigest;
use crate::facts::{Class, Fact, FactHash, FactIndex, Mention, PassageFacts, Sighting};
use crate::ledger::Ledger;
use crate::text_hash::TextMap;
use crate::{Author, EntryId, Material};
use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

/// Lines are kept to this length beside their fact.
const LINE_CHARS_MAX: usize = 200;

/// More names than this are a log of processes, not work somebody waits for.
const LIVE_MAX: usize = 64;

/// The messages that facts are looked for in, read before: those that go, and those that stay.
pub(super) struct StockedMessages {
    superseded: Vec<(EntryId, Arc<MessageDigest>)>,
    pub visible: Vec<(EntryId, Arc<MessageDigest>)>,
    superseded_ids: HashSet<EntryId>,
}

impl StockedMessages {
    pub(super) fn of(material: &Material<'_>) -> Self {
        let superseded_ids: HashSet<EntryId> = material.superseded.iter().map(|(id, _)| *id).collect();
        // Of what is shown cut the original is read.
        let visible = material.visible.iter().filter(|(id, _)| !superseded_ids.contains(id));
        Self {
            superseded: material.superseded.iter().map(|it| (it.0, material.digests.digest(it))).collect(),
            visible: visible.map(|it| (it.0, material.digests.digest(it))).collect(),
            superseded_ids,
        }
    }
}

/// A fact as it stands in a message. Most are in view, and nothing is kept of them but their number.
pub(super) struct StockedFact<'d> {
    pub mention: Mention<'d>,
    pub source: EntryId,
    line: Cow<'d, str>,
    author: Author,
}

impl StockedFact<'_> {
    /// The line it stands in, shortened where it is very long. Those of the ledger are whole.
    fn line(&self) -> &str {
        let shortened = |line: &str| line.char_indices().nth(LINE_CHARS_MAX).map_or(line.len(), |(at, _)| at);
        match self.line {
            Cow::Borrowed(line) => &line[..shortened(line)],
            Cow::Owned(ref line) => line,
        }
    }

    /// The same, to be kept. Facts of one line share it, as far as they follow each other.
    pub(super) fn to_fact(&self, newest: &mut Arc<str>) -> Fact {
        let line = self.line();
        if **newest != *line {
            *newest = line.into();
        }
        let Mention { class, key, value } = self.mention;
        let (source, author, line) = (self.source, self.author, newest.clone());
        Fact { class, key: key.into(), value: value.into(), source, line, author }
    }
}

/// The facts, in the order they were first seen.
#[derive(Default)]
pub(super) struct Inventory<'d> {
    facts: Vec<StockedFact<'d>>,
    /// Places in `facts`, by what each is about.
    places: FactIndex,
    /// When a person spoke.
    heard: BTreeSet<EntryId>,
    /// Messages of theirs that take back the one before.
    retractions: Vec<EntryId>,
    /// Work that goes on, by name.
    live: HashSet<Box<str>>,
    /// Facts whose value a message in view has replaced.
    outdated: HashSet<usize>,
}

/// Whether a mention is of this fact: by its value, or by its key where the newest value counts.
fn is_of(fact: Mention<'_>, mention: Mention<'_>) -> bool {
    let is_same = || match mention.class.latest_wins() {
        true => fact.key == mention.key || fact.key.to_lowercase() == mention.key.to_lowercase(),
        false => fact.value == mention.value,
    };
    fact.class == mention.class && is_same()
}

impl<'d> Inventory<'d> {
    /// Takes stock of the messages.
    pub(super) fn of(messages: &'d StockedMessages) -> Self {
        let mut inventory = Self::default();
        for (id, digest) in &messages.superseded {
            inventory.hear(*id, digest);
            for passage in digest.passages() {
                let sightings = passage.sightings();
                sightings.for_each(|(sighting, hash)| inventory.see(*id, passage.author, sighting, hash));
                inventory.end_work(passage);
            }
        }
        for (id, digest) in &messages.visible {
            inventory.hear(*id, digest);
            for passage in digest.passages() {
                inventory.end_work(passage);
                let sightings = passage.sightings();
                sightings.for_each(|(sighting, hash)| inventory.outdate(*id, sighting.mention, hash));
            }
        }
        inventory.drop_outdated();
        inventory.drop_retracted();
        inventory
    }

    /// The facts of these messages and of their ledger.
    pub(super) fn with(mut self, ledger: &'d Ledger, messages: &StockedMessages) -> Vec<StockedFact<'d>> {
        self.take_ledger(ledger, &messages.superseded_ids);
        self.close_questions();
        let live = std::mem::take(&mut self.live);
        let is_over =
            |it: &StockedFact<'_>| it.mention.class == Class::LiveWork && !live.contains(it.mention.value);
        self.facts.retain(|fact| !is_over(fact));
        self.facts
    }

    /// Drops outdated values, and what else was last seen on their lines: put back, a line says all it says.
    fn drop_outdated(&mut self) {
        let mut lines: TextMap<EntryId, HashSet<String>> = TextMap::default();
        for place in std::mem::take(&mut self.outdated) {
            let fact = &self.facts[place];
            lines.entry(fact.source).or_default().insert(fact.line().to_owned());
        }
        let is_outdated =
            |fact: &StockedFact<'_>| lines.get(&fact.source).is_some_and(|lines| lines.contains(fact.line()));
        self.facts.retain(|fact| !is_outdated(fact));
        // Places have moved; nothing is looked up by them any more.
        self.places.clear();
    }

    /// Takes down when a person spoke.
    fn hear(&mut self, id: EntryId, digest: &MessageDigest) {
        if digest.message().author == Author::Person {
            self.heard.insert(id);
            self.retractions.extend(digest.is_retraction().then_some(id));
        }
    }

    /// Drops rules that the person took back.
    fn drop_retracted(&mut self) {
        let before = |id: &EntryId| self.heard.range(..id).next_back().copied();
        let taken_back: HashSet<EntryId> = self.retractions.iter().filter_map(before).collect();
        let is_rule = |class: Class| matches!(class, Class::Requirement | Class::Prohibition);
        self.facts.retain(|fact| !(is_rule(fact.mention.class) && taken_back.contains(&fact.source)));
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
        let questions = self.facts.iter().filter(|fact| fact.mention.class == Class::Question);
        let last = questions.map(|fact| fact.source).max();
        let open = last.filter(|&asked| self.heard.last().is_none_or(|heard| *heard < asked));
        self.facts.retain(|fact| fact.mention.class != Class::Question || Some(fact.source) == open);
    }

    /// Forgets a value that a message in view, said later, has replaced: put back, it would pass for the newest.
    fn outdate(&mut self, id: EntryId, mention: Mention<'_>, hash: FactHash) {
        if !mention.class.latest_wins() {
            return;
        }
        if let Some(place) = self.places.find(hash.subject, |place| is_of(self.facts[place].mention, mention))
        {
            let known = &self.facts[place];
            if known.source < id && known.mention.value != mention.value {
                self.outdated.insert(place);
            }
        }
    }

    fn see(&mut self, id: EntryId, author: Author, sighting: Sighting<'d>, hash: FactHash) {
        let Sighting { mention, line } = sighting;
        if mention.class == Class::LiveWork && self.live.len() < LIVE_MAX {
            self.live.insert(mention.value.into());
        }
        let Self { facts, places, .. } = self;
        let place =
            places.find_or_add(hash.subject, facts.len(), |place| is_of(facts[place].mention, mention));
        let fact = StockedFact { mention, source: id, line: Cow::Borrowed(line), author };
        match facts.get_mut(place) {
            None => facts.push(fact),
            Some(known) if known.mention.value != mention.value => *known = fact,
            Some(known) => known.source = id,
        }
    }

    fn take_ledger(&mut self, ledger: &'d Ledger, superseded: &HashSet<EntryId>) {
        let is_ours = |entry: &EntryId| superseded.contains(entry);
        // What was only tried out is no loss.
        for file in ledger.files.iter().filter(|file| is_ours(&file.entry) && !file.is_scratch()) {
            let word = file.standing().name();
            let mention = Mention { class: Class::Operation, key: &file.path, value: word };
            self.push(mention, file.entry, format!("{word} {}", file.path));
        }
        for todo in ledger.open_todos().filter(|todo| is_ours(&todo.entry)) {
            let mention = Mention { class: Class::Todo, key: &todo.text, value: &todo.text };
            self.push(mention, todo.entry, format!("- [ ] {}", todo.text));
        }
    }

    fn push(&mut self, mention: Mention<'d>, source: EntryId, line: String) {
        self.facts.push(StockedFact { mention, source, line: Cow::Owned(line), author: Author::Model });
    }
}
