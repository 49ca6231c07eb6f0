//! The originals of a session in memory. One that branched off another reads what they share where
//! it lies; nothing is copied.

use epitome_core::{Archive, ArchiveError, EntryId, Message, Shelf};
use std::sync::Arc;

/// Shelves one above the other: each holds the messages of some run of entries.
#[derive(Clone, Debug)]
pub(crate) struct Layers {
    /// Those of earlier sessions, each with the first entry that is no longer on it.
    below: Vec<(EntryId, Arc<Shelf>)>,
    /// The one that new messages are put on.
    top: Arc<Shelf>,
}

impl Layers {
    /// An empty shelf.
    pub(crate) fn new() -> Self {
        Self { below: Vec::new(), top: Arc::default() }
    }

    /// The shelf for new messages.
    pub(crate) fn top(&self) -> &Shelf {
        &self.top
    }

    /// An empty shelf above what these hold before `end`.
    pub(crate) fn branch(&self, end: EntryId) -> Self {
        let held = self.below.partition_point(|(until, _)| *until < end);
        let mut below = self.below[..held].to_vec();
        let next = self.below.get(held).map_or(&self.top, |(_, shelf)| shelf);
        below.push((end, next.clone()));
        Self { below, top: Arc::default() }
    }
}

impl Archive for Layers {
    fn message(&self, id: EntryId) -> Result<Arc<Message>, ArchiveError> {
        let layer = self.below.partition_point(|(until, _)| *until <= id);
        self.below.get(layer).map_or(&self.top, |(_, shelf)| shelf).message(id)
    }
}

#[cfg(test)]
mod tests {
    use super::Layers;
    use epitome_core::{Archive, Author, EntryId, Message, Role};

    fn put(layers: &Layers, id: u32, text: &str) {
        layers.top().put(EntryId(id), Message::text(Role::User, Author::Person, text));
    }

    fn said(layers: &Layers) -> Vec<String> {
        (0..5).map_while(|id| layers.message(EntryId(id)).ok()).map(|message| message.said()).collect()
    }

    #[test]
    fn branches_share_what_they_have_in_common_and_nothing_else() {
        let trunk = Layers::new();
        ["a", "b", "c"].iter().zip(0..).for_each(|(text, id)| put(&trunk, id, text));
        let left = trunk.branch(EntryId(2));
        put(&left, 2, "left");
        put(&left, 3, "more");
        let right = left.branch(EntryId(1));
        put(&right, 1, "right");
        assert_eq!(
            [said(&trunk), said(&left), said(&right)],
            [vec!["a", "b", "c"], vec!["a", "b", "left", "more"], vec!["a", "right"]]
        );
    }
}
