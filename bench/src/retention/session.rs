//! A transcript in memory: its messages, what each takes, and the facts of each.

use super::words::Vocabulary;
use epitome_core::facts::{Class, Passage, Sighting, Voice, passages, scan};
use epitome_core::{Archive, Author, EntryId, MemoryArchive, Message, Tokens};
use epitome_wire::Conversation;
use std::collections::HashMap;
use std::sync::Arc;

/// A fact's number within its session.
pub type FactId = u32;

/// One conversation.
pub struct Session {
    /// Folder and file it comes from.
    pub name: String,
    /// Its messages, oldest first.
    pub messages: Vec<Said>,
    /// The same, by id, as the product asks for them.
    pub archive: MemoryArchive,
    /// Every fact, by number.
    pub facts: Vec<Fact>,
    numbers: HashMap<Fact, FactId>,
    /// Facts before the history: no compaction can lose them.
    pub fixed: Vec<FactId>,
}

/// A fact, told apart by class, value, and key where the value alone says nothing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Fact {
    /// Its class.
    pub class: Class,
    /// Empty where the class has no key of its own.
    pub key: String,
    /// What is stated.
    pub value: String,
}

/// One message with what is known of it.
pub struct Said {
    /// Its entry.
    pub id: EntryId,
    /// The message.
    pub message: Arc<Message>,
    /// What it takes in a context.
    pub tokens: Tokens,
    /// Its readable text.
    pub text: String,
    /// Facts the agent acts on here: arguments of calls, and for some classes its words.
    pub acted: Vec<FactId>,
    /// Facts told here by the person or a tool.
    pub told: Vec<FactId>,
    /// Every fact here.
    pub facts: Vec<FactId>,
}

impl Session {
    /// The session of a conversation; none where it has no messages.
    pub fn of(name: &str, conversation: &Conversation) -> Option<Self> {
        let leaf = conversation.leaf?;
        let mut session = Self {
            name: name.to_owned(),
            messages: Vec::new(),
            archive: MemoryArchive::default(),
            facts: Vec::new(),
            numbers: HashMap::new(),
            fixed: Vec::new(),
        };
        for id in conversation.log.path(leaf) {
            if conversation.log.item(id).is_none() {
                continue;
            }
            let Ok(message) = conversation.originals.message(id) else { continue };
            session.push(id, message, conversation.sizes.total(id));
        }
        let fixed = conversation.fixed.system.iter().chain(&conversation.fixed.tools);
        for text in fixed {
            let passage = Passage {
                voice: Voice::Said,
                author: Author::Harness,
                tool: None,
                text: text.as_ref().into(),
            };
            session.fixed.extend(session_facts(&mut session.facts, &mut session.numbers, &passage));
        }
        Some(session)
    }

    fn push(&mut self, id: EntryId, message: Arc<Message>, tokens: Tokens) {
        let mut said = Said {
            id,
            tokens,
            text: String::new(),
            acted: Vec::new(),
            told: Vec::new(),
            facts: Vec::new(),
            message: message.clone(),
        };
        for passage in passages(&message) {
            let found = session_facts(&mut self.facts, &mut self.numbers, &passage);
            match (passage.voice, passage.author) {
                (Voice::Called, _) => said.acted.extend(&found),
                (Voice::Said, Author::Model) => {
                    said.acted.extend(
                        found.iter().filter(|&&fact| is_used_in_words(self.facts[fact as usize].class)),
                    );
                }
                (Voice::Answered, _) | (Voice::Said, Author::Person | Author::Harness | Author::Tool) => {
                    said.told.extend(&found);
                }
                (Voice::Thought, _) => {}
            }
            said.facts.extend(&found);
            said.text.push_str(&passage.text);
            said.text.push('\n');
        }
        self.archive.put(id, Message::clone(&message));
        self.messages.push(said);
    }

    /// What the whole of it takes.
    pub fn tokens(&self) -> u64 {
        self.messages.iter().map(|said| said.tokens.0).sum()
    }

    /// Counts the words of the session.
    pub fn count_words(&self, into: &mut Vocabulary) {
        self.messages.iter().for_each(|said| into.take(&said.text));
    }
}

/// Classes that the agent also uses by talking of them.
fn is_used_in_words(class: Class) -> bool {
    matches!(
        class,
        Class::Id | Class::Number | Class::Version | Class::Error | Class::Decision | Class::State
    )
}

/// Classes that are told apart by their form and looked for literally. Rules, todos and user
/// messages have rows of their own.
fn is_measured(class: Class) -> bool {
    matches!(
        class,
        Class::Path
            | Class::Identifier
            | Class::Url
            | Class::Id
            | Class::Command
            | Class::Number
            | Class::Version
            | Class::Error
            | Class::State
    )
}

fn session_facts(
    facts: &mut Vec<Fact>,
    numbers: &mut HashMap<Fact, FactId>,
    passage: &Passage<'_>,
) -> Vec<FactId> {
    let mut found = Vec::new();
    scan(passage, |Sighting { mention, .. }| {
        // Shorter values say too little to be looked for.
        if !is_measured(mention.class) || mention.value.len() < 4 {
            return;
        }
        let key = if mention.class.latest_wins() { mention.key.to_lowercase() } else { String::new() };
        let fact = Fact { class: mention.class, key, value: mention.value.to_owned() };
        let next = facts.len() as FactId;
        let number = *numbers.entry(fact.clone()).or_insert(next);
        if number == next {
            facts.push(fact);
        }
        found.push(number);
    });
    found.sort_unstable();
    found.dedup();
    found
}
