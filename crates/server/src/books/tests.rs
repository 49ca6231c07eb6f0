//! Which books go when there are too many.

use super::{BookLimits, Books, SESSIONS_MAX, SIDE_SESSIONS_MAX};
use epitome_engine::store::SessionId;
use epitome_wire::Protocol;

/// Opens a book and lets it be: those that went for it.
fn open(books: &Books, id: usize) -> Vec<SessionId> {
    let session = SessionId(id as u64);
    let gone = books.open(session, Protocol::Anthropic, "m").expect("it is not being closed");
    books.release(session);
    gone
}

fn go_on_with(books: &Books, id: usize) {
    books.with(SessionId(id as u64), |book| book.is_working = true);
}

#[test]
fn those_not_used_for_longest_go_first() {
    let books = Books::default();
    for id in 0..SIDE_SESSIONS_MAX {
        assert_eq!(open(&books, id), []);
    }
    assert_eq!(open(&books, 0), [], "it is used, so it stays");
    assert_eq!(open(&books, SIDE_SESSIONS_MAX), [SessionId(1)]);
    assert_eq!(books.each(|id, _| id).len(), SIDE_SESSIONS_MAX);
}

#[test]
fn those_that_nobody_went_on_with_go_before_those_that_work() {
    let books = Books::default();
    for id in 0..SESSIONS_MAX {
        open(&books, id);
        go_on_with(&books, id);
    }
    let others: Vec<SessionId> = (SESSIONS_MAX..3 * SESSIONS_MAX).flat_map(|id| open(&books, id)).collect();
    let expected: Vec<SessionId> = (SESSIONS_MAX..2 * SESSIONS_MAX).map(|id| SessionId(id as u64)).collect();
    assert_eq!(others, expected, "each makes room for the next, and none of the first goes");
    go_on_with(&books, 3 * SESSIONS_MAX - 1);
    assert_eq!(open(&books, 3 * SESSIONS_MAX - 1), [SessionId(0)], "now it is one of them");
}

#[test]
fn a_book_that_is_held_stays_and_one_that_leaves_is_not_opened() {
    let books = Books::within(BookLimits { sessions_max: 1, side_sessions_max: 1, bytes_max: usize::MAX });
    let hold = |id| books.open(SessionId(id), Protocol::Anthropic, "m");
    assert_eq!([hold(1), hold(2)], [Some(Vec::new()), Some(Vec::new())], "both are worked on");
    assert!(!books.remove(SessionId(1)));
    books.release(SessionId(1));
    assert_eq!(hold(3), Some(vec![SessionId(1)]));
    assert_eq!(hold(1), None);
    books.closed(SessionId(1));
    assert_eq!(hold(1), Some(Vec::new()));
}
