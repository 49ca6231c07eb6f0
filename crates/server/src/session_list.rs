//! The sessions, for people and scripts.

use crate::books::{Book, Books, KeptRecord, MarkStanding, NewestRequest};
use crate::tally::Tally;
use epitome_core::{Budget, EntryId, Record, Tokens};
use epitome_engine::store::SessionId;
use serde::Serialize;
use std::sync::Arc;

/// What there is to see of a session.
#[derive(Serialize)]
pub(crate) struct SessionOverview {
    session: SessionId,
    protocol: &'static str,
    /// The model of its newest request.
    model: String,
    /// Messages on the path of its newest request.
    messages: usize,
    /// What the history takes in the context of that request, by our count.
    tokens: Tokens,
    #[serde(flatten)]
    budget: Budget,
    #[serde(flatten)]
    tally: Tally,
    compactions: Vec<ListedCompaction>,
}

/// A compaction, with the mark it left and how that stands.
#[derive(Serialize)]
pub(crate) struct ListedCompaction {
    #[serde(skip_serializing_if = "Option::is_none")]
    entry: Option<EntryId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    standing: Option<MarkStanding>,
    #[serde(flatten)]
    record: Arc<Record>,
}

/// All sessions, oldest first.
pub(crate) fn sessions(books: &Books) -> Vec<SessionOverview> {
    books.each(|session, book| {
        let NewestRequest { messages, tokens, budget } = book.newest;
        SessionOverview {
            session,
            protocol: book.protocol.name(),
            model: book.model.clone(),
            messages,
            tokens,
            budget,
            tally: book.tally,
            compactions: compactions(book),
        }
    })
}

/// The compactions of a session, oldest first.
pub(crate) fn compactions(book: &Book) -> Vec<ListedCompaction> {
    let listed = |KeptRecord { record, mark }: &KeptRecord| {
        let (entry, standing) = mark.unzip();
        ListedCompaction { entry, standing, record: record.clone() }
    };
    book.records.iter().map(listed).collect()
}
