//! A value for each entry of a log. Of a log that is only partly at hand the older part has gaps; from some entry on there are none.

use crate::EntryId;
use crate::chunked_list::ChunkedList;
use std::sync::Arc;

/// Values by entry: a few of the older part, and all of the rest. Copies share what they do not change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IdTable<T> {
    /// Of the part with gaps, by entry.
    early: Arc<Vec<(EntryId, T)>>,
    /// The first entry of the rest.
    first: usize,
    late: ChunkedList<T>,
}

impl<T> Default for IdTable<T> {
    fn default() -> Self {
        Self { early: Arc::default(), first: 0, late: ChunkedList::default() }
    }
}

impl<T> IdTable<T> {
    /// Some entries of the first `len`, in the order of their ids.
    pub(crate) fn partial(len: usize, early: Vec<(EntryId, T)>) -> Self {
        Self { early: Arc::new(early), first: len, late: ChunkedList::default() }
    }

    /// How many entries there are, those that are not at hand included.
    pub(crate) fn len(&self) -> usize {
        self.first + self.late.len()
    }

    /// Whether every entry is at hand.
    pub(crate) fn is_whole(&self) -> bool {
        self.first == 0
    }

    pub(crate) fn get(&self, id: EntryId) -> Option<&T> {
        match id.index().checked_sub(self.first) {
            Some(at) => self.late.get(at),
            None => self.early_place(id).ok().map(|at| &self.early[at].1),
        }
    }

    /// Those at hand, in the order of their ids.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (EntryId, &T)> {
        let early = self.early.iter().map(|(id, value)| (*id, value));
        let first = self.first;
        early
            .chain(self.late.iter().enumerate().map(move |(at, value)| (EntryId((first + at) as u32), value)))
    }

    fn early_place(&self, id: EntryId) -> Result<usize, usize> {
        self.early.binary_search_by_key(&id, |(known, _)| *known)
    }
}

impl<T: Clone> IdTable<T> {
    pub(crate) fn push(&mut self, value: T) {
        self.late.push(value);
    }

    /// The value of an entry that is at hand, to be changed.
    pub(crate) fn get_mut(&mut self, id: EntryId) -> Option<&mut T> {
        match id.index().checked_sub(self.first) {
            Some(at) => self.late.get_mut(at),
            None => {
                let at = self.early_place(id).ok()?;
                Some(&mut Arc::make_mut(&mut self.early)[at].1)
            }
        }
    }
}

impl<T: Clone + Default> IdTable<T> {
    /// Sets the value of an entry, wherever it stands.
    pub(crate) fn set(&mut self, id: EntryId, value: T) {
        let Some(at) = id.index().checked_sub(self.first) else {
            let place = self.early_place(id);
            let early = Arc::make_mut(&mut self.early);
            match place {
                Ok(at) => early[at].1 = value,
                Err(at) => early.insert(at, (id, value)),
            }
            return;
        };
        while self.late.len() <= at {
            self.late.push(T::default());
        }
        if let Some(place) = self.late.get_mut(at) {
            *place = value;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::IdTable;
    use crate::EntryId;

    #[test]
    fn what_is_at_hand_is_found_and_the_rest_is_not() {
        let mut table = IdTable::partial(10, vec![(EntryId(2), 'a'), (EntryId(7), 'b')]);
        table.push('c');
        assert_eq!(
            [2, 3, 7, 9, 10, 11].map(|at| table.get(EntryId(at)).copied()),
            [Some('a'), None, Some('b'), None, Some('c'), None]
        );
        assert_eq!((table.len(), table.is_whole()), (11, false));
        let all: Vec<_> = table.iter().map(|(id, value)| (id.0, *value)).collect();
        assert_eq!(all, [(2, 'a'), (7, 'b'), (10, 'c')]);
        table.set(EntryId(5), 'd');
        table.set(EntryId(12), 'e');
        assert_eq!([5, 11, 12].map(|at| table.get(EntryId(at)).copied()), [Some('d'), Some('\0'), Some('e')]);
    }
}
