//! A list that grows at its end, in chunks that its copies share: a copy costs a pointer for each chunk, and whoever changes it copies
//! the chunk that is changed. So a log that somebody looks at can be appended to without being copied.

use std::sync::Arc;

/// Values in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChunkedList<T> {
    /// All but the last are full.
    chunks: Vec<Arc<Vec<T>>>,
}

/// Few enough that a chunk is copied in less time than a message is counted in, and enough that a long session has few of them.
const CHUNK_LEN: usize = 64;

impl<T> Default for ChunkedList<T> {
    fn default() -> Self {
        Self { chunks: Vec::new() }
    }
}

impl<T> ChunkedList<T> {
    pub(crate) fn len(&self) -> usize {
        self.chunks.last().map_or(0, |last| (self.chunks.len() - 1) * CHUNK_LEN + last.len())
    }

    pub(crate) fn get(&self, at: usize) -> Option<&T> {
        self.chunks.get(at / CHUNK_LEN)?.get(at % CHUNK_LEN)
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &T> + ExactSizeIterator {
        (0..self.len()).map(|at| &self.chunks[at / CHUNK_LEN][at % CHUNK_LEN])
    }
}

impl<T: Clone> ChunkedList<T> {
    pub(crate) fn push(&mut self, value: T) {
        match self.chunks.last_mut() {
            Some(last) if last.len() < CHUNK_LEN => Arc::make_mut(last).push(value),
            Some(_) | None => self.chunks.push(Arc::new(vec![value])),
        }
    }

    /// The value at a place, to be changed in this copy alone.
    pub(crate) fn get_mut(&mut self, at: usize) -> Option<&mut T> {
        Arc::make_mut(self.chunks.get_mut(at / CHUNK_LEN)?).get_mut(at % CHUNK_LEN)
    }
}

#[cfg(test)]
mod tests {
    use super::{CHUNK_LEN, ChunkedList};
    use std::sync::Arc;

    fn list(len: usize) -> ChunkedList<usize> {
        let mut list = ChunkedList::default();
        (0..len).for_each(|value| list.push(value));
        list
    }

    #[test]
    fn what_is_pushed_is_found_in_its_place() {
        for len in [0, 1, CHUNK_LEN - 1, CHUNK_LEN, CHUNK_LEN + 1, 3 * CHUNK_LEN + 7] {
            let list = list(len);
            assert_eq!(list.len(), len);
            assert_eq!(list.iter().copied().collect::<Vec<_>>(), (0..len).collect::<Vec<_>>());
            assert_eq!(list.iter().next_back().copied(), len.checked_sub(1));
            assert_eq!(
                (list.get(len), len.checked_sub(1).map(|last| list.get(last).copied())),
                (None, len.checked_sub(1).map(Some))
            );
        }
    }

    #[test]
    fn a_copy_shares_all_that_neither_changes() {
        let mut list = list(3 * CHUNK_LEN + 1);
        let copy = list.clone();
        list.push(0);
        *list.get_mut(CHUNK_LEN).expect("it is there") = 0;
        let is_shared: Vec<bool> =
            list.chunks.iter().zip(&copy.chunks).map(|(one, other)| Arc::ptr_eq(one, other)).collect();
        assert_eq!(is_shared, [true, false, true, false]);
        assert_eq!((copy.len(), copy.get(CHUNK_LEN)), (3 * CHUNK_LEN + 1, Some(&CHUNK_LEN)));
    }
}
