//! Digests of messages, and a cache of them. A digest is all that is found by reading one message alone: its passages with
//! their facts, its secrets, what the person ruled in it, what the model stated. A message never changes, so each of these
//! is looked for once, however many steps of a plan and however many compactions read it. What is made of them is left to
//! the summariser and to [`crate::verify`].

use crate::embedded::{StatedRule, StatedSentence, WrittenNote, notes_in, rules_in, sentences_in};
use crate::facts::{PassageFacts, find_secrets, passages, spoken_passages};
use crate::{EntryId, Message, Original};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// What reading a message alone tells, each part found when it is first asked for.
pub(crate) struct MessageDigest {
    message: Arc<Message>,
    passages: OnceLock<Vec<PassageFacts>>,
    secrets: OnceLock<Vec<Box<str>>>,
    carried_secrets: OnceLock<Vec<Box<str>>>,
    rules: OnceLock<Vec<StatedRule>>,
    sentences: OnceLock<Vec<StatedSentence>>,
    notes: OnceLock<Vec<WrittenNote>>,
}

impl MessageDigest {
    fn new(message: Arc<Message>) -> Self {
        Self {
            message,
            passages: OnceLock::new(),
            secrets: OnceLock::new(),
            carried_secrets: OnceLock::new(),
            rules: OnceLock::new(),
            sentences: OnceLock::new(),
            notes: OnceLock::new(),
        }
    }

    /// The message itself.
    pub(crate) fn message(&self) -> &Message {
        &self.message
    }

    /// Its passages as they were really said, with their facts.
    pub(crate) fn passages(&self) -> &[PassageFacts] {
        self.passages.get_or_init(|| spoken_passages(&self.message).iter().map(PassageFacts::of).collect())
    }

    /// The secrets of all its passages, what a harness put into them included.
    pub(crate) fn secrets(&self) -> &[Box<str>] {
        self.secrets.get_or_init(|| secrets_in(passages(&self.message).iter().map(|passage| &*passage.text)))
    }

    /// The secrets of what it carries and we do not read.
    pub(crate) fn carried_secrets(&self) -> &[Box<str>] {
        self.carried_secrets.get_or_init(|| secrets_in(self.message.opaque().map(|opaque| &*opaque.json)))
    }

    /// The rules in what it says, a person's words taken for granted.
    pub(crate) fn rules(&self) -> &[StatedRule] {
        self.rules.get_or_init(|| rules_in(&self.message.said()))
    }

    /// The sentences in what it says that say something, the model's words taken for granted.
    pub(crate) fn sentences(&self) -> &[StatedSentence] {
        self.sentences.get_or_init(|| sentences_in(&self.message.said()))
    }

    /// What was written down with its calls.
    pub(crate) fn notes(&self) -> &[WrittenNote] {
        self.notes.get_or_init(|| self.message.calls().flat_map(notes_in).collect())
    }
}

fn secrets_in<'t>(texts: impl Iterator<Item = &'t str>) -> Vec<Box<str>> {
    let mut secrets = Vec::new();
    texts.for_each(|text| find_secrets(text, |secret| secrets.push(secret.into())));
    secrets
}

/// Digests of the messages that compactions of a session read. It holds what the newest compaction and the one before it
/// asked for, and no more: what a compaction reads at all is bounded ([`crate::FarHistory`]).
#[derive(Default)]
pub struct DigestCache {
    generations: Mutex<Generations>,
}

#[derive(Default)]
struct Generations {
    /// What was asked for since the newest compaction began to read.
    young: HashMap<EntryId, Arc<MessageDigest>>,
    /// What was asked for before that.
    old: HashMap<EntryId, Arc<MessageDigest>>,
}

impl std::fmt::Debug for DigestCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DigestCache").finish_non_exhaustive()
    }
}

impl DigestCache {
    /// The digest of a message. One that is shown in another form than before is read anew.
    pub(crate) fn digest(&self, (id, message): &Original) -> Arc<MessageDigest> {
        let mut generations = self.generations();
        let known = generations.young.get(id).cloned().or_else(|| generations.old.remove(id));
        let is_same =
            |known: &Arc<MessageDigest>| Arc::ptr_eq(&known.message, message) || known.message == *message;
        let digest = known.filter(is_same).unwrap_or_else(|| Arc::new(MessageDigest::new(message.clone())));
        generations.young.insert(*id, digest.clone());
        digest
    }

    /// A compaction begins to read: what the one before it did not ask for is let go.
    pub(crate) fn age(&self) {
        let mut generations = self.generations();
        generations.old = std::mem::take(&mut generations.young);
    }

    fn generations(&self) -> MutexGuard<'_, Generations> {
        // Whoever panicked while it was locked left whole digests behind.
        self.generations.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::DigestCache;
    use crate::{Author, EntryId, Message, Original, Role};
    use std::sync::Arc;

    fn said(id: u32, text: &str) -> Original {
        (EntryId(id), Arc::new(Message::text(Role::User, Author::Person, text)))
    }

    #[test]
    fn a_message_is_read_once_and_another_form_of_it_anew() {
        let cache = DigestCache::default();
        let first = cache.digest(&said(1, "use src/a.rs"));
        assert!(Arc::ptr_eq(&first, &cache.digest(&said(1, "use src/a.rs"))));
        let cut = cache.digest(&said(1, "use […]"));
        assert_eq!(cut.message(), &*said(1, "use […]").1);
        assert!(cut.passages()[0].sightings().all(|(it, _)| it.mention.value != "src/a.rs"));
    }

    #[test]
    fn what_a_compaction_does_not_read_is_let_go() {
        let cache = DigestCache::default();
        let (kept, gone) = (cache.digest(&said(1, "kept")), cache.digest(&said(2, "gone")));
        cache.age();
        assert!(Arc::ptr_eq(&kept, &cache.digest(&said(1, "kept"))));
        cache.age();
        assert!(Arc::ptr_eq(&kept, &cache.digest(&said(1, "kept"))));
        assert!(!Arc::ptr_eq(&gone, &cache.digest(&said(2, "gone"))));
    }
}
