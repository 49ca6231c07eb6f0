//! An interning table of facts: each has a number, and how often, where and by whom it was used.
//! Scoring is `weight`'s.

use crate::facts::{Class, Mention};
use std::collections::HashMap;

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
    numbers: HashMap<(Class, Box<str>), u32>,
    /// By number.
    pub facts: Vec<FactUse>,
    /// The newest value of each key, for the classes where the newest wins.
    newest: HashMap<(Class, Box<str>), u32>,
    /// The clock at the end.
    pub end: u64,
}

impl FactTable {
    /// Takes a sighting down and gives the fact's number.
    pub(super) fn see(&mut self, mention: Mention<'_>, place: FactPlace) -> u32 {
        let number = self.number(mention);
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
            let key = (mention.class, mention.key.to_lowercase().into_boxed_str());
            if let Some(old) = self.newest.insert(key, number)
                && old != number
            {
                self.facts[old as usize].is_outdated = true;
            }
            self.facts[number as usize].is_outdated = false;
        }
        number
    }

    /// The number of a fact that was seen before.
    pub(super) fn find(&self, mention: Mention<'_>) -> Option<u32> {
        self.numbers.get(&name(mention)).copied()
    }

    fn number(&mut self, mention: Mention<'_>) -> u32 {
        let next = self.facts.len() as u32;
        let number = *self.numbers.entry(name(mention)).or_insert(next);
        if number == next {
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
        number
    }

    /// Stops the clock.
    pub(super) fn settle(&mut self, clock: u64) {
        self.end = clock;
    }
}

/// What tells one fact from another: its value, and its key where values alone say nothing.
fn name(mention: Mention<'_>) -> (Class, Box<str>) {
    let text = match mention.class.latest_wins() {
        true => format!("{}\n{}", mention.key, mention.value).into(),
        false => mention.value.into(),
    };
    (mention.class, text)
}
