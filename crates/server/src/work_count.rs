//! How many bytes of requests this thread has parsed and hashed message by message: for tests that hold what is done to what is new.

use std::cell::Cell;

thread_local! {
    static PARSED: Cell<usize> = const { Cell::new(0) };
    static HASHED: Cell<usize> = const { Cell::new(0) };
}

/// Bytes that were gone over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WorkCount {
    pub(crate) parsed: usize,
    pub(crate) hashed: usize,
}

/// Notes that so many bytes were parsed.
pub(crate) fn add_parsed(bytes: usize) {
    PARSED.set(PARSED.get() + bytes);
}

/// Notes that so many bytes were hashed as a message.
pub(crate) fn add_hashed(bytes: usize) {
    HASHED.set(HASHED.get() + bytes);
}

/// What was counted since this was last asked.
pub(crate) fn take() -> WorkCount {
    WorkCount { parsed: PARSED.take(), hashed: HASHED.take() }
}
