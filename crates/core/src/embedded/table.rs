//! An interning table of facts: each has a number, and how often, where and by whom it was used.
//! Scoring is `weight`'s.

use crate::facts::{Class, FactHash, FactIndex, Mention};

/// Where a fact was seen.
#[derive(Clone, Copy)]
pub(super) struct FactPlace {
    /// Bytes of history before it.
    pub clock: u64,
    /// In the arguments of a call.
    pub is_action: bool,
    /// In a person's words.
    pub is_person: bool,
    /// In the model's words.
    pub is_model: bool,
    /// In a message that stays in view.
    pub is_visible: bool,
}

/// What is known of one fact.
#[derive(Clone, Debug)]
pub(super) struct FactUse {
    /// Its class.
    pub class: Class,
    /// How often it was seen.
    pub mentions: u32,
    /// How often in arguments of calls.
    pub actions: u32,
    /// When it was last seen.
    pub seen: u64,
    /// When it last stood in arguments.
    pub acted: u64,
    /// Whether a person said it.
    pub by_person: bool,
    /// Whether the model said it, outside of calls.
    pub by_model: bool,
    /// Whether it stays in view anyway.
    pub is_visible: bool,
    /// Whether a newer value has taken its place.
    pub is_outdated: bool,
}

/// The facts, numbered.
#[derive(Default)]
pub(super) struct FactTable {
    /// By number.
    pub facts: Vec<FactUse>,
    names: FactNames,
    numbers: FactIndex,
    /// The number of the newest value of each key, for the classes where the newest wins.
    newest: Vec<u32>,
    /// Places in `newest` by key.
    keys: FactIndex,
    /// The clock at the end.
    pub end: u64,
}

/// What tells one fact of a class from another: its value, and its key where values alone say nothing. Spans of one text: a
/// history names tens of thousands of facts, and a text for each would cost more than finding it.
#[derive(Clone, Copy)]
struct FactName {
    key_start: usize,
    value_start: usize,
    end: usize,
}

/// The names of facts, by number.
#[derive(Default)]
struct FactNames {
    text: String,
    spans: Vec<FactName>,
}

impl FactNames {
    fn push(&mut self, mention: Mention<'_>) {
        let key_start = self.text.len();
        self.text.push_str(if mention.class.latest_wins() { mention.key } else { "" });
        let value_start = self.text.len();
        self.text.push_str(mention.value);
        self.spans.push(FactName { key_start, value_start, end: self.text.len() });
    }

    /// Empty where it says nothing more than the value.
    fn key(&self, number: usize) -> &str {
        let FactName { key_start, value_start, .. } = self.spans[number];
        &self.text[key_start..value_start]
    }

    fn value(&self, number: usize) -> &str {
        let FactName { value_start, end, .. } = self.spans[number];
        &self.text[value_start..end]
    }

    fn is_of(&self, number: usize, mention: Mention<'_>) -> bool {
        let is_same_key = || !mention.class.latest_wins() || self.key(number) == mention.key;
        self.value(number) == mention.value && is_same_key()
    }
}

impl FactTable {
    /// Takes a sighting down and gives the fact's number.
    pub(super) fn see(&mut self, mention: Mention<'_>, hash: FactHash, place: FactPlace) -> u32 {
        let number = self.number(mention, hash);
        let known = &mut self.facts[number as usize];
        known.mentions += 1;
        known.seen = place.clock;
        if place.is_action {
            known.actions += 1;
            known.acted = place.clock;
        }
        known.by_person |= place.is_person;
        known.by_model |= place.is_model;
        known.is_visible |= place.is_visible;
        if mention.class.latest_wins() {
            self.outdate(mention, hash, number);
        }
        number
    }

    /// Takes down that a value is the newest of its key.
    fn outdate(&mut self, mention: Mention<'_>, hash: FactHash, number: u32) {
        let Self { facts, names, newest, keys, .. } = self;
        let is_key = |place: usize| {
            let known = newest[place] as usize;
            facts[known].class == mention.class && is_same_key(names.key(known), mention.key)
        };
        let place = keys.find_or_add(hash.subject, newest.len(), is_key);
        match newest.get_mut(place) {
            Some(known) => facts[std::mem::replace(known, number) as usize].is_outdated = true,
            None => newest.push(number),
        }
        facts[number as usize].is_outdated = false;
    }

    /// The number of a fact that was seen before.
    pub(super) fn find(&self, mention: Mention<'_>) -> Option<u32> {
        let Self { facts, names, .. } = self;
        let is_it = |number: usize| facts[number].class == mention.class && names.is_of(number, mention);
        self.numbers.find(FactHash::statement_of(mention), is_it).map(|number| number as u32)
    }

    fn number(&mut self, mention: Mention<'_>, hash: FactHash) -> u32 {
        let next = self.facts.len();
        let Self { facts, names, numbers, .. } = self;
        let is_it = |number: usize| facts[number].class == mention.class && names.is_of(number, mention);
        let number = numbers.find_or_add(hash.statement, next, is_it);
        if number == next {
            self.names.push(mention);
            self.facts.push(FactUse {
                class: mention.class,
                mentions: 0,
                actions: 0,
                seen: 0,
                acted: 0,
                by_person: false,
                by_model: false,
                is_visible: false,
                is_outdated: false,
            });
        }
        number as u32
    }

    /// What a fact is called: its value, with what that is a value of where it says nothing alone.
    pub(super) fn name(&self, fact: u32) -> String {
        let (key, value) = (self.names.key(fact as usize), self.names.value(fact as usize));
        if key.is_empty() { value.to_owned() } else { format!("{key} {value}") }
    }

    /// What a fact's lines hold of its name in any case.
    pub(super) fn value(&self, fact: u32) -> &str {
        self.names.value(fact as usize)
    }

    /// The characters of that name.
    pub(super) fn name_chars(&self, fact: u32) -> impl Iterator<Item = char> {
        let (key, value) = (self.names.key(fact as usize), self.names.value(fact as usize));
        let joint = if key.is_empty() { "" } else { " " };
        key.chars().chain(joint.chars()).chain(value.chars())
    }

    /// Stops the clock.
    pub(super) fn settle(&mut self, clock: u64) {
        self.end = clock;
    }
}

fn is_same_key(one: &str, other: &str) -> bool {
    one == other || one.to_lowercase() == other.to_lowercase()
}
