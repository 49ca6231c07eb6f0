//! The conversations in memory: finding the one a request goes on with, and letting the oldest go.

use crate::chain::Link;
use crate::conversation::Conversation;
use serde::Serialize;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The name of a session while the server runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct SessionId(u64);

/// A conversation that one request at a time may work on.
pub(crate) type Shared = Arc<tokio::sync::Mutex<Conversation>>;

/// The conversations.
#[derive(Default)]
pub(crate) struct Memory {
    index: Mutex<Index>,
}

#[derive(Default)]
struct Index {
    sessions: HashMap<SessionId, Held>,
    /// The session that newest said what each link stands for.
    links: HashMap<Link, SessionId>,
    created: u64,
    uses: u64,
    bytes: usize,
}

struct Held {
    conversation: Shared,
    branched_from: Option<SessionId>,
    links: Vec<Link>,
    bytes: usize,
    /// When it was used last, in uses of the memory.
    used: u64,
}

/// A day of one person's agents and their sub-agents. A conversation let go is taken up anew from the client's
/// next request, at the price of one compaction.
const SESSIONS_MAX: usize = 256;
/// What the bodies of all conversations may take together; messages take about as much again.
const BYTES_MAX: usize = 512 << 20;

/// What is known of a request's conversation.
pub(crate) struct Found {
    /// Its session.
    pub(crate) id: SessionId,
    /// The conversation.
    pub(crate) conversation: Shared,
}

impl Memory {
    /// The conversation that knows the most of these links, from the first.
    pub(crate) fn find(&self, links: &[Link]) -> Option<Found> {
        let mut index = self.index();
        // From the newest back: a conversation that goes on is found at once.
        let id = links.iter().rev().find_map(|link| index.links.get(link).copied())?;
        let used = index.tick();
        let held = index.sessions.get_mut(&id)?;
        held.used = used;
        Some(Found { id, conversation: held.conversation.clone() })
    }

    /// Keeps a new conversation.
    pub(crate) fn insert(&self, conversation: Conversation, branched_from: Option<SessionId>) -> Found {
        let mut index = self.index();
        index.created += 1;
        let (id, used) = (SessionId(index.created), index.tick());
        let conversation = Arc::new(tokio::sync::Mutex::new(conversation));
        let held =
            Held { conversation: conversation.clone(), branched_from, links: Vec::new(), bytes: 0, used };
        index.sessions.insert(id, held);
        Found { id, conversation }
    }

    /// Notes what a conversation has come to: the links it holds beyond those noted before, and what its
    /// newest body takes.
    pub(crate) fn note(&self, id: SessionId, links: &[Link], known: usize, bytes: usize) {
        let mut index = self.index();
        let Some(held) = index.sessions.get_mut(&id) else { return };
        let grown = bytes.saturating_sub(held.bytes);
        held.bytes += grown;
        // The newest is noted even where it was known: a branch that ends where its trunk went on must be found.
        let new = &links[known.min(links.len().saturating_sub(1))..];
        if known < links.len() || held.links.is_empty() {
            held.links.extend_from_slice(new);
        }
        index.bytes += grown;
        index.links.extend(new.iter().map(|link| (*link, id)));
        index.let_go(id);
    }

    /// Lets a conversation go.
    pub(crate) fn forget(&self, id: SessionId) {
        self.index().remove(id);
    }

    /// Lets a conversation go of which nothing was noted: no request could ever find it.
    pub(crate) fn forget_unnoted(&self, id: SessionId) {
        let mut index = self.index();
        if index.sessions.get(&id).is_some_and(|held| held.links.is_empty()) {
            index.remove(id);
        }
    }

    /// Every session, oldest first.
    pub(crate) fn all(&self) -> Vec<(SessionId, Option<SessionId>, Shared)> {
        let index = self.index();
        let mut all: Vec<_> = index
            .sessions
            .iter()
            .map(|(id, held)| (*id, held.branched_from, held.conversation.clone()))
            .collect();
        all.sort_unstable_by_key(|(id, ..)| *id);
        all
    }

    fn index(&self) -> MutexGuard<'_, Index> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Index {
    fn tick(&mut self) -> u64 {
        self.uses += 1;
        self.uses
    }

    /// Lets those go that were not used for longest, until the rest is within its limits. `newest` stays.
    fn let_go(&mut self, newest: SessionId) {
        while self.sessions.len() > SESSIONS_MAX || self.bytes > BYTES_MAX {
            let others = self.sessions.iter().filter(|(id, _)| **id != newest);
            let Some(oldest) = others.min_by_key(|(_, held)| held.used).map(|(id, _)| *id) else { return };
            self.remove(oldest);
        }
    }

    fn remove(&mut self, id: SessionId) {
        let Some(held) = self.sessions.remove(&id) else { return };
        self.bytes -= held.bytes;
        for link in &held.links {
            if self.links.get(link) == Some(&id) {
                self.links.remove(link);
            }
        }
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s{:04}", self.0)
    }
}

impl Serialize for SessionId {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::{Memory, SESSIONS_MAX};
    use crate::chain::{Link, Tenant};
    use crate::conversation::Conversation;
    use crate::settings::ServerSettings;
    use epitome_wire::Protocol;

    fn links(texts: &[&str]) -> Vec<Link> {
        let mut link = Link::seed(&Tenant::of(std::iter::empty()), Protocol::Anthropic, "m");
        let said = texts.iter().map(|text| {
            link = link.next(&format!("{text:?}")).expect("a JSON string");
            link
        });
        said.collect()
    }

    fn insert(memory: &Memory, said: &[&str]) -> String {
        let conversation = Conversation::new(&ServerSettings::for_tests(), Protocol::Anthropic, "m");
        let found = memory.insert(conversation, None);
        memory.note(found.id, &links(said), 0, 10);
        found.id.to_string()
    }

    fn find(memory: &Memory, said: &[&str]) -> Option<String> {
        memory.find(&links(said)).map(|found| found.id.to_string())
    }

    #[test]
    fn the_longest_known_beginning_decides() {
        let memory = Memory::default();
        let (short, long) = (insert(&memory, &["a"]), insert(&memory, &["a", "b", "c"]));
        assert_eq!(find(&memory, &["a", "b", "x"]), Some(long.clone()));
        assert_eq!(find(&memory, &["a", "b", "c", "d"]), Some(long));
        assert_ne!(find(&memory, &["a", "y"]), None);
        assert_eq!((find(&memory, &["b"]), short.as_str()), (None, "s0001"));
    }

    #[test]
    fn those_not_used_for_longest_go_first_and_take_their_links_along() {
        let memory = Memory::default();
        let names: Vec<String> = (0..=SESSIONS_MAX).map(|number| number.to_string()).collect();
        for name in &names[..SESSIONS_MAX] {
            insert(&memory, &[name]);
        }
        assert!(find(&memory, &["0"]).is_some(), "it is used, so it stays");
        insert(&memory, &[&names[SESSIONS_MAX]]);
        let is_known = |name: &str| find(&memory, &[name]).is_some();
        assert_eq!([is_known("0"), is_known("1"), is_known("2")], [true, false, true]);
        assert_eq!((memory.all().len(), memory.index().links.len()), (SESSIONS_MAX, SESSIONS_MAX));
    }
}
