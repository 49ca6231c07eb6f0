//! What the proxy keeps beside the engine's sessions: where each message stands in the client's list, what was
//! counted, what came of compactions, and which sessions to let go. All of it is in memory.
//!
//! A book that a request is worked on with is held and stays. Of the others those go first that nobody went on with: titles and
//! probes are a request each, many for each turn of the conversation they are about, and must not push it out.

use crate::ended_call::EndedCalls;
use crate::endpoint_facts::{LearnedFacts, calibration_name};
use crate::prefix_watch::PrefixWatch;
use crate::remarks::Remarks;
use crate::sealed_parts::SealedParts;
use crate::tally::Tally;
use crate::view::Origin;
use crate::written_head::HeadShelf;
use epitome_core::{Budget, EntryId, Mark, Record, Tokens};
use epitome_engine::store::SessionId;
use epitome_engine::{Checkout, Session, SharedCalibration};
use epitome_wire::Protocol;
use epitome_wire::overflow::{Endpoint, LearnedWindows};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// The books of all sessions.
#[derive(Default)]
pub(crate) struct Books {
    table: Mutex<BookTable>,
}

#[derive(Default)]
struct BookTable {
    books: BTreeMap<SessionId, Book>,
    /// Sessions whose books were let go and which are not closed yet: nobody may open them until they are.
    leaving: HashSet<SessionId>,
    /// What was learned of each endpoint.
    learned: LearnedFacts,
    /// What was learned, as it was last written to the store.
    kept: HashMap<&'static str, Vec<u8>>,
    limits: BookLimits,
    uses: u64,
    /// Of the messages of all sessions, as clients wrote them.
    bytes: usize,
}

/// How much is kept in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BookLimits {
    /// Of those that were gone on with.
    pub(crate) sessions_max: usize,
    /// Of those that were not.
    pub(crate) side_sessions_max: usize,
    pub(crate) bytes_max: usize,
}

impl Default for BookLimits {
    fn default() -> Self {
        Self { sessions_max: SESSIONS_MAX, side_sessions_max: SIDE_SESSIONS_MAX, bytes_max: BYTES_MAX }
    }
}

/// What is kept of one session.
pub(crate) struct Book {
    pub(crate) protocol: Protocol,
    /// The model of the newest request.
    pub(crate) model: String,
    /// The model that the store was told of.
    pub(crate) stored_model: String,
    /// The agent it said it was of.
    pub(crate) agent: Option<String>,
    /// Where each message stands in the client's list.
    pub(crate) origins: HashMap<EntryId, Origin>,
    pub(crate) tally: Tally,
    /// Calls whose reply the client has not sent back yet.
    pub(crate) ended_calls: EndedCalls,
    /// What came of compactions, oldest first.
    pub(crate) records: Vec<KeptRecord>,
    pub(crate) remarks: Remarks,
    /// The same of what replies show.
    pub(crate) reply_remarks: Remarks,
    /// How the newest request was worked on, for whoever looks at the session between requests.
    pub(crate) checkout: Option<Checkout>,
    pub(crate) newest: NewestRequest,
    /// When the newest request came.
    pub(crate) seen: Instant,
    /// What was rebuilt last and is in no request yet that the provider took.
    pub(crate) rebuilt: Tokens,
    /// The model that a request was last sent to, and when.
    pub(crate) sent: Option<(String, Instant)>,
    /// What stood in front of its messages lately.
    pub(crate) prefix: PrefixWatch,
    /// What is left out of its replies because the provider refused it.
    pub(crate) sealed: SealedParts,
    /// The heads of its lists that were written last.
    pub(crate) heads: HeadShelf,
    /// Whether the policy's idle check was taken since.
    pub(crate) is_idle_checked: bool,
    /// Whether it is more than one request: a reply came back, or a compaction was made that a new session would lack.
    pub(crate) is_working: bool,
    /// Of all its messages, on whichever branch: none goes before the session does.
    bytes: usize,
    used: u64,
    /// How many requests are being worked on with it.
    holds: usize,
}

/// What came of one compaction.
pub(crate) struct KeptRecord {
    pub(crate) record: Arc<Record>,
    /// The mark it left, where it left one, and how that stands on the path of the newest request.
    pub(crate) mark: Option<(EntryId, MarkStanding)>,
}

/// How a compaction or edit stands on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum MarkStanding {
    /// It counts.
    Applied,
    /// Somebody took it back.
    Undone,
    /// It was made on another branch, or for a smaller window than there is now.
    Unused,
    /// It was not made: the server only observes.
    Observed,
}

impl MarkStanding {
    fn of(entry: EntryId, session: &Session) -> Self {
        let is_compaction = session.log().compaction(entry).is_some();
        if let Some(Mark::Observation { .. }) = session.log().mark_of(entry) {
            Self::Observed
        } else if session.context().is_undone(entry) {
            Self::Undone
        } else if is_compaction && !session.compactions().contains(&entry) {
            Self::Unused
        } else {
            Self::Applied
        }
    }
}

/// What there is to see of the newest request of a session.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NewestRequest {
    /// Messages on its path.
    pub(crate) messages: usize,
    /// What the history takes in its context.
    pub(crate) tokens: Tokens,
    /// The room there is.
    pub(crate) budget: Budget,
}

/// A day of one person's agents and their sub-agents. A session let go is taken up anew from the client's
/// next request, at the price of one compaction.
const SESSIONS_MAX: usize = 256;
/// As many again may have been one request each: what a new session begins as, and most side requests stay.
const SIDE_SESSIONS_MAX: usize = 256;
/// What the messages of all sessions may take together as clients wrote them; decoded they take about as much again.
const BYTES_MAX: usize = 512 << 20;
/// So many records are kept of a session, the newest; each holds a summary.
const RECORDS_MAX: usize = 100;

impl Book {
    fn new(protocol: Protocol, model: &str) -> Self {
        Self {
            protocol,
            model: model.to_owned(),
            stored_model: String::new(),
            agent: None,
            origins: HashMap::new(),
            tally: Tally::default(),
            ended_calls: EndedCalls::default(),
            records: Vec::new(),
            remarks: Remarks::default(),
            reply_remarks: Remarks::default(),
            checkout: None,
            newest: NewestRequest::default(),
            seen: Instant::now(),
            rebuilt: Tokens::ZERO,
            sent: None,
            prefix: PrefixWatch::default(),
            sealed: SealedParts::default(),
            heads: HeadShelf::default(),
            is_idle_checked: false,
            is_working: false,
            bytes: 0,
            used: 0,
            holds: 0,
        }
    }

    /// Keeps a record. Of tries in a row that changed nothing, the newest is enough.
    pub(crate) fn keep_record(&mut self, entry: Option<EntryId>, record: Arc<Record>) {
        self.is_working |= record.outcome.is_rebuilt();
        if !record.outcome.is_rebuilt() {
            self.records.pop_if(|last| !last.record.outcome.is_rebuilt());
        }
        if self.records.len() == RECORDS_MAX {
            self.records.remove(0);
        }
        self.records.push(KeptRecord { record, mark: entry.map(|entry| (entry, MarkStanding::Applied)) });
    }

    /// Keeps the record of a compaction that would have been made.
    pub(crate) fn keep_observed(&mut self, entry: EntryId, record: Arc<Record>) {
        if self.records.len() == RECORDS_MAX {
            self.records.remove(0);
        }
        self.records.push(KeptRecord { record, mark: Some((entry, MarkStanding::Observed)) });
    }

    /// Takes down that somebody has just spoken in it.
    pub(crate) fn note_seen(&mut self) {
        (self.seen, self.is_idle_checked) = (Instant::now(), false);
    }

    /// Takes up how a session stands after a request or an act.
    pub(crate) fn see(&mut self, session: &Session) {
        self.newest = NewestRequest {
            messages: session.history().len(),
            tokens: session.context().tokens(),
            budget: session.budget(),
        };
        for (entry, standing) in self.records.iter_mut().filter_map(|kept| kept.mark.as_mut()) {
            *standing = MarkStanding::of(*entry, session);
        }
    }
}

impl Books {
    /// With limits of a test's own.
    #[cfg(test)]
    pub(crate) fn within(limits: BookLimits) -> Self {
        Self { table: Mutex::new(BookTable { limits, ..BookTable::default() }) }
    }

    /// What the messages of all sessions take.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        self.table().bytes
    }

    fn table(&self) -> MutexGuard<'_, BookTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks into the book of a session, or begins one, and holds it until it is released; those let go for it are to be closed.
    /// None where the session itself was let go and is being closed.
    pub(crate) fn open(&self, id: SessionId, protocol: Protocol, model: &str) -> Option<Vec<SessionId>> {
        let mut table = self.table();
        if table.leaving.contains(&id) {
            return None;
        }
        table.uses += 1;
        let used = table.uses;
        let book = table.books.entry(id).or_insert_with(|| Book::new(protocol, model));
        book.used = used;
        book.holds += 1;
        book.model = model.to_owned();
        Some(table.let_go(id))
    }

    /// Ends what [`Self::open`] began.
    pub(crate) fn release(&self, id: SessionId) {
        self.with(id, |book| book.holds = book.holds.saturating_sub(1));
    }

    /// Notes that a session which was let go is closed: it may be opened anew.
    pub(crate) fn closed(&self, id: SessionId) {
        self.table().leaving.remove(&id);
    }

    /// Whether a session may grow by so many bytes. One that may not is to be let go and taken up anew: what its
    /// client changed or went back on stays in its tree, and in no request.
    pub(crate) fn has_room(&self, id: SessionId, bytes: usize) -> bool {
        let table = self.table();
        table.books.get(&id).is_none_or(|book| book.bytes + bytes <= table.limits.bytes_max)
    }

    /// Notes where messages stand that were appended to a session, with the bytes each takes; those let go for it
    /// are to be closed.
    pub(crate) fn add_messages(
        &self,
        id: SessionId,
        messages: impl IntoIterator<Item = (EntryId, Origin, usize)>,
    ) -> Vec<SessionId> {
        let mut table = self.table();
        let Some(book) = table.books.get_mut(&id) else { return Vec::new() };
        let before = book.bytes;
        for (entry, origin, bytes) in messages {
            // Others may have brought it before.
            if book.origins.insert(entry, origin).is_none() {
                book.bytes += bytes;
            }
        }
        let grown = book.bytes - before;
        table.bytes += grown;
        table.let_go(id)
    }

    /// Lets one session go that nobody holds; whether it was there to be closed.
    pub(crate) fn remove(&self, id: SessionId) -> bool {
        let mut table = self.table();
        table.books.get(&id).is_some_and(|book| book.holds == 0) && table.remove(id)
    }

    /// Does something with the book of a session; none where it was let go.
    pub(crate) fn with<T>(&self, id: SessionId, act: impl FnOnce(&mut Book) -> T) -> Option<T> {
        self.table().books.get_mut(&id).map(act)
    }

    /// Does something with every book, oldest first.
    pub(crate) fn each<T>(&self, mut act: impl FnMut(SessionId, &mut Book) -> T) -> Vec<T> {
        self.table().books.iter_mut().map(|(id, book)| act(*id, book)).collect()
    }

    /// Looks at what was learned of windows, or learns.
    pub(crate) fn windows<T>(&self, act: impl FnOnce(&mut LearnedWindows) -> T) -> T {
        act(&mut self.table().learned.windows)
    }

    /// Looks at all that was learned, or changes it.
    pub(crate) fn learned<T>(&self, act: impl FnOnce(&mut LearnedFacts) -> T) -> T {
        act(&mut self.table().learned)
    }

    /// Whether a value is another than the one last kept under its name; it is the last one then.
    pub(crate) fn is_news(&self, name: &'static str, value: &[u8]) -> bool {
        let last = self.table().kept.insert(name, value.to_vec());
        last.as_deref() != Some(value)
    }

    /// How an endpoint counts, for every session with it.
    pub(crate) fn calibration(&self, endpoint: &Endpoint) -> SharedCalibration {
        let name = calibration_name(&endpoint.base_url, &endpoint.model);
        self.table().learned.calibrations.of(&name)
    }
}

impl BookTable {
    /// Lets go until the rest is within its limits. `newest` stays.
    fn let_go(&mut self, newest: SessionId) -> Vec<SessionId> {
        let mut gone = Vec::new();
        while let Some(next) = self.next_to_go(newest) {
            self.remove(next);
            gone.push(next);
        }
        gone
    }

    /// The one that goes next, where one must: those that nobody holds and nobody went on with first, and of these the one not
    /// used for longest. A session that is one request so far takes no other's place.
    fn next_to_go(&self, newest: SessionId) -> Option<SessionId> {
        let BookLimits { sessions_max, side_sessions_max, bytes_max } = self.limits;
        let is_full = self.bytes > bytes_max;
        if !is_full && self.books.len() <= sessions_max.min(side_sessions_max) {
            return None;
        }
        let working = self.books.values().filter(|book| book.is_working).count();
        let oldest = |is_working: bool| {
            let may_go = |(id, book): &(&SessionId, &Book)| {
                **id != newest && book.holds == 0 && book.is_working == is_working
            };
            self.books.iter().filter(may_go).min_by_key(|(_, book)| book.used).map(|(id, _)| *id)
        };
        let side = Some(()).filter(|()| is_full || self.books.len() - working > side_sessions_max);
        let is_working = self.books.get(&newest).is_some_and(|book| book.is_working);
        let others = Some(()).filter(|()| is_working && (is_full || working > sessions_max));
        side.and_then(|()| oldest(false)).or_else(|| others.and_then(|()| oldest(true)))
    }

    fn remove(&mut self, id: SessionId) -> bool {
        let Some(book) = self.books.remove(&id) else { return false };
        self.bytes -= book.bytes;
        self.leaving.insert(id);
        true
    }
}

#[cfg(test)]
mod tests;
