//! What every request is served from, and what is kept of each act on a session: its record in the session's book, and a
//! word to the operator. What an act does is the engine's.

use crate::beginning_watch::BeginningWatch;
use crate::books::Books;
use crate::chain::ChainKey;
use crate::checkpoints::Checkpoints;
use crate::fault::Fault;
use crate::hand_over::Neighbours;
use crate::learned;
use crate::notice::{NoticeKind, OperatorNotice};
use crate::outward::Outward;
use crate::remarks;
use crate::reply_store;
use crate::responses::SeenResponses;
use crate::seen_lists::SeenLists;
use crate::settings::{ServerSettings, Upstream};
use crate::surroundings::SeenSurroundings;
use crate::totals::TrafficCounter;
use epitome_core::{Entry, EntryId, Outcome, Record};
use epitome_engine::store::{SessionId, TenantId};
use epitome_engine::{AppendedEntry, Engine, PreparedSession, Step};
use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{Semaphore, watch};

/// What every request is served from.
pub(crate) struct ServerState {
    /// What the operator said.
    pub(crate) settings: ServerSettings,
    /// Where it listens.
    pub(crate) address: SocketAddr,
    /// The sessions.
    pub(crate) engine: Engine,
    /// What is kept beside them.
    pub(crate) books: Books,
    /// Compactions that wait for an operator.
    pub(crate) checkpoints: Arc<Checkpoints>,
    /// Responses of OpenAI that went by, which clients may go on from by name.
    pub(crate) responses: SeenResponses,
    /// The way to the providers.
    pub(crate) outward: Outward,
    /// Held while a history nobody knows is taken up: requests that come at once must find the same session.
    pub(crate) newcomers: tokio::sync::Mutex<()>,
    /// So many were taken up: where that has not changed since a request was looked for, it need not be looked for again.
    pub(crate) newcomer_count: AtomicU64,
    /// The secret that hashes are keyed with.
    pub(crate) key: ChainKey,
    /// The lists that requests brought lately.
    pub(crate) lists: SeenLists,
    /// What stood around them.
    pub(crate) surroundings: SeenSurroundings,
    pub(crate) beginnings: BeginningWatch,
    /// What was said of whose requests: it is said once, and they may come again and again.
    pub(crate) told: Mutex<HashSet<(TenantId, String)>>,
    /// Providers that did not answer when last asked: an outage is told once.
    pub(crate) outages: Mutex<HashSet<String>>,
    /// What all requests came to.
    pub(crate) counter: TrafficCounter,
    /// Whether other servers may be at work on the same store.
    pub(crate) neighbours: Neighbours,
    /// Held by whoever stores a reply that its client has not sent back yet.
    pub(crate) reply_slots: Semaphore,
    /// Whether the server ends with work under way: whatever waits for a model is let go.
    pub(crate) ending: watch::Sender<bool>,
}

/// So much is remembered of what was said; beyond it that is forgotten, and said once more.
const TOLD_MAX: usize = 1024;

impl ServerState {
    /// Tells the operator, once for each client, that its requests go out as they came.
    pub(crate) fn tell_passed_on(&self, tenant: TenantId, why: String) {
        self.tell_once(tenant, NoticeKind::PassedOn { why });
    }

    /// Tells the operator something of a client's requests, once.
    pub(crate) fn tell_once(&self, tenant: TenantId, kind: NoticeKind) {
        let notice = OperatorNotice::from(kind);
        self.tell_once_as(tenant, notice.to_string(), &notice);
    }

    /// The same of something that is said in other words each time, and goes by this name.
    pub(crate) fn tell_once_as(&self, tenant: TenantId, name: String, notice: &OperatorNotice) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.len() >= TOLD_MAX {
            told.clear();
        }
        let is_new = told.insert((tenant, name));
        drop(told);
        if is_new {
            (self.settings.tell)(notice);
        }
    }

    /// Tells the operator when a provider goes silent, and when it is back.
    pub(crate) fn note_reach(&self, upstream: &Upstream, fault: Option<&Fault>) {
        let mut out = self.outages.lock().unwrap_or_else(PoisonError::into_inner);
        if fault.is_none() && out.is_empty() {
            return;
        }
        let name = upstream.to_string();
        let told = match fault {
            Some(Fault::Unreachable { upstream, why }) => {
                let kind = NoticeKind::Unreachable { upstream: upstream.clone(), why: why.clone() };
                out.insert(name).then_some(kind)
            }
            Some(Fault::Unanswered { upstream, why }) => {
                let kind = NoticeKind::Unanswered { upstream: upstream.clone(), why: why.clone() };
                out.insert(name).then_some(kind)
            }
            // The client's own doing, or ours.
            Some(
                Fault::TooLarge { .. }
                | Fault::BrokenOff
                | Fault::NotPosted
                | Fault::Upgrade
                | Fault::NoSuchPath { .. }
                | Fault::NotRouted { .. }
                | Fault::DotsInPath
                | Fault::ForeignKey { .. }
                | Fault::Loop { .. },
            ) => None,
            None => out.remove(&name).then_some(NoticeKind::Reachable { upstream: name }),
        };
        drop(out);
        told.into_iter().for_each(|kind| self.tell(kind));
    }

    /// Keeps what was learned and what was said last, and gives back the sessions it has worked on, so that another may at once.
    pub(crate) async fn leave(self: &Arc<Self>) {
        learned::save(self).await;
        reply_store::store_all(self).await;
        for session in self.books.each(|session, _| session) {
            self.engine.close(session).await;
        }
    }

    /// Time that goes on over restarts, where there is a calendar: what was learned grows old by it.
    pub(crate) fn calendar(&self) -> Duration {
        let clock = &self.settings.clock;
        clock.unix_ms().map_or_else(|| clock.now(), Duration::from_millis)
    }

    /// The providers that did not answer when they were asked last.
    pub(crate) fn outages(&self) -> Vec<Upstream> {
        let out = self.outages.lock().unwrap_or_else(PoisonError::into_inner);
        let mut upstreams = self.settings.upstreams.all();
        upstreams.retain(|upstream| out.contains(&upstream.to_string()));
        upstreams
    }

    /// Tells the operator.
    pub(crate) fn tell(&self, what: NoticeKind) {
        let session = what.session();
        let model = session.and_then(|session| self.books.with(session, |book| book.model.clone()));
        (self.settings.tell)(&what.with_model(model));
    }
}

/// Keeps the record of an act, and tells the operator of it.
pub(crate) fn note_step(state: &ServerState, session: SessionId, acted: &PreparedSession) {
    let step = &acted.step;
    let mut told = remarks::of_events(&step.events);
    if let Some(record) = &step.record {
        told.extend(remarks::of_record(record));
    }
    let new = state.books.with(session, |book| {
        if let Some(record) = &step.record {
            book.keep_record(entry_of(step, record), record.clone());
            if record.outcome.is_rebuilt() {
                book.rebuilt = record.tokens_after;
            }
        }
        (book.remarks.new_ones(told), book.model.clone())
    });
    let (new, model) = new.unwrap_or_default();
    for what in new {
        state.tell(NoticeKind::Remark { session, what });
    }
    let rebuilt = step.record.as_ref().and_then(|record| Some((record, notice_of(session, record)?)));
    if let Some((record, notice)) = rebuilt {
        state.counter.rebuilt(&model, record.cost);
        state.tell(notice);
    }
}

/// What an operator is told of a context that was rebuilt.
fn notice_of(session: SessionId, record: &Record) -> Option<NoticeKind> {
    let (before, after) = (record.tokens_before, record.tokens_after);
    match record.outcome {
        Outcome::Compacted(_) | Outcome::Pruned(_) | Outcome::Recorded => {
            Some(NoticeKind::compacted(session, record))
        }
        Outcome::Applied { of } => Some(NoticeKind::Applied { session, of, before, after }),
        Outcome::Noop { .. }
        | Outcome::Vetoed { .. }
        | Outcome::Abandoned { .. }
        | Outcome::Impossible(_) => None,
    }
}

/// The entry that a record is about: the mark that keeps it, whatever was marked behind it, or the one put to use.
fn entry_of(step: &Step, record: &Arc<Record>) -> Option<EntryId> {
    if let Outcome::Applied { of } = record.outcome {
        return Some(of);
    }
    let is_its_mark = |one: &&AppendedEntry| match &one.entry {
        Entry::Mark(mark) => mark.record().is_some_and(|kept| Arc::ptr_eq(kept, record)),
        Entry::Message(_) | Entry::Recorded(_) | Entry::Note { .. } => false,
    };
    step.appended.iter().rev().find(is_its_mark).map(|one| one.id)
}
