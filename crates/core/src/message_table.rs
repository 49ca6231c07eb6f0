//! Originals by entry, in chunks that copies of the table share: whoever works on a session has a table of its own, however much is in
//! view, and what is let go from one stays in the others.

use crate::{EntryId, Message};
use std::collections::HashSet;
use std::sync::Arc;

/// Some originals by entry.
#[derive(Clone, Default)]
pub(crate) struct MessageTable {
    /// None where a chunk holds nothing.
    chunks: Vec<Option<Arc<MessageChunk>>>,
}

/// Few enough to be copied with each message that is put in, and enough that a long session has few of them.
const CHUNK_LEN: usize = 32;

type MessageChunk = [Option<Arc<Message>>; CHUNK_LEN];

impl MessageTable {
    pub(crate) fn get(&self, id: EntryId) -> Option<&Arc<Message>> {
        self.chunks.get(id.index() / CHUNK_LEN)?.as_ref()?[id.index() % CHUNK_LEN].as_ref()
    }

    pub(crate) fn insert(&mut self, id: EntryId, message: Arc<Message>) {
        let at = id.index() / CHUNK_LEN;
        if self.chunks.len() <= at {
            self.chunks.resize(at + 1, None);
        }
        let chunk = self.chunks[at].get_or_insert_default();
        Arc::make_mut(chunk)[id.index() % CHUNK_LEN] = Some(message);
    }

    pub(crate) fn remove(&mut self, id: EntryId) {
        if self.get(id).is_none() {
            return;
        }
        let place = &mut self.chunks[id.index() / CHUNK_LEN];
        if let Some(chunk) = place {
            Arc::make_mut(chunk)[id.index() % CHUNK_LEN] = None;
        }
        if place.as_ref().is_some_and(|chunk| chunk.iter().all(Option::is_none)) {
            *place = None;
        }
    }

    /// Lets go of all but `ids`; whether that was any.
    pub(crate) fn retain(&mut self, ids: &HashSet<EntryId>) -> bool {
        let gone: Vec<EntryId> = self.ids().filter(|id| !ids.contains(id)).collect();
        gone.iter().for_each(|id| self.remove(*id));
        !gone.is_empty()
    }

    fn ids(&self) -> impl Iterator<Item = EntryId> {
        let chunks =
            self.chunks.iter().enumerate().filter_map(|(at, chunk)| Some((at * CHUNK_LEN, chunk.as_ref()?)));
        chunks.flat_map(|(first, chunk)| {
            let held = chunk.iter().enumerate().filter(|(_, message)| message.is_some());
            held.map(move |(at, _)| EntryId((first + at) as u32))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::MessageTable;
    use crate::{Author, EntryId, Message, Role};
    use std::collections::HashSet;
    use std::sync::Arc;

    fn table(ids: impl Iterator<Item = u32>) -> MessageTable {
        let mut table = MessageTable::default();
        ids.for_each(|id| {
            let message = Message::text(Role::User, Author::Person, id.to_string());
            table.insert(EntryId(id), Arc::new(message));
        });
        table
    }

    #[test]
    fn what_is_let_go_from_one_table_stays_in_its_copies() {
        let mut table = table([3, 40, 41, 500].into_iter());
        let copy = table.clone();
        table.remove(EntryId(40));
        table.remove(EntryId(7));
        assert!(table.retain(&HashSet::from([EntryId(41), EntryId(3)])));
        assert!(!table.retain(&HashSet::from([EntryId(41), EntryId(3)])), "nothing is left to let go");
        assert_eq!(table.ids().map(|id| id.0).collect::<Vec<_>>(), [3, 41]);
        assert_eq!(copy.ids().map(|id| id.0).collect::<Vec<_>>(), [3, 40, 41, 500]);
        assert_eq!(copy.get(EntryId(500)).map(|message| message.said()), Some("500".to_owned()));
        assert!(table.chunks.last().is_some_and(Option::is_none), "a chunk that holds nothing takes nothing");
    }
}
