//! The walk of one request, from the client's body to the body that is sent: found by what it says, appended to its
//! session, made to fit by the engine, written from the client's own bytes.

mod whole_history;
mod writing;

use crate::blocking;
use crate::body_edit;
use crate::book_hold::{BookHold, LeavingSessions};
use crate::books::Book;
use crate::checkpoints::{ClientLine, SessionOperator};
use crate::client_compaction;
use crate::client_wait;
use crate::ended_call::UsageSource;
use crate::known_path;
use crate::learner::{Learner, ReplyCounter};
use crate::notice::NoticeKind;
use crate::observing::{note_observed, note_refusal};
use crate::own_model::{self, CACHE_TIME};
use crate::provider_edits;
use crate::reading::{self, Unreadable};
use crate::reply::Sender;
use crate::request::Request;
use crate::resend::Resend;
use crate::response_headers::{CompactionUse, DoneHeaders};
use crate::responses;
use crate::restorer::RequestRestorer;
use crate::rules::{Caller, OwnModel, SessionRule, WarmRequest};
use crate::sealed_parts::SealedParts;
use crate::seeing::view_slots;
use crate::server_state::{ServerState, note_step};
use crate::totals::RequestSize;
use crate::view::{self, Origin, ViewSlot};
use bytes::Bytes;
use epitome_core::policy::TriggerMode;
use epitome_core::{Author, EntryId, KeptBodies, Message, Policy, Record, Role, Settings, Tokens};
use epitome_engine::store::{MessageLocation, SessionAbout, SessionId, SessionOrigin, StoreError};
use epitome_engine::{
    Assembly, Checkout, Driver, EngineError, Event, HashedMessages, LookPoint, NoWindow, PreparedSession,
    RefusalFigures, RequestWaiter, Session, SessionOptions, TurnEnd, WindowFacts,
};
use epitome_wire::Protocol;
use epitome_wire::overflow::{Endpoint, OverflowFigures, RequestFacts};
use epitome_wire::protocol::ElementPart;
use futures_util::future::{Either, select};
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use whole_history::HistoryView;

/// A body ready to be sent.
pub(crate) struct PreparedRequest {
    /// Its bytes.
    pub(crate) body: Bytes,
    /// A feature of the provider's that it needs beside those its client asked for.
    pub(crate) beta: Option<&'static str>,
    /// Where it comes from.
    pub(crate) from: Sender,
    /// The session that it was appended to, where it was.
    pub(crate) session: Option<SessionId>,
}

/// Why a request is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Attempt {
    /// Because the client sent it.
    First,
    /// Because the provider refused it as too long, and it can be made shorter.
    AfterOverflow(OverflowFigures),
    /// Because the provider refused it for its bytes or pictures; what one of these may take, where it said so.
    AfterBytes(Option<u64>),
    /// Because it refused thinking that is bound to other words.
    AfterBinding,
    /// Because it could not read what it had sealed.
    AfterSeals,
}

/// Makes a request fit. What goes wrong here is no reason to fail the client's call: then the body goes out as
/// it came, and the provider is the judge.
pub(crate) async fn prepare(state: &Arc<ServerState>, request: &Arc<Request>) -> PreparedRequest {
    let prepared = attempt(state, request, Attempt::First).await;
    prepared.unwrap_or_else(|| request.as_it_came(Sender::default()))
}

/// The request mended after a refusal, to be sent once more; none where nothing can be done about it. `first` is what was refused.
pub(crate) async fn mend(
    state: &Arc<ServerState>,
    request: &Arc<Request>,
    remedy: Resend,
    first: &PreparedRequest,
) -> Option<PreparedRequest> {
    if state.settings.is_observing {
        note_refusal(state, request, remedy, first);
        return None;
    }
    let mut mended = mend_by(state, request, remedy, first).await?;
    mended.from.done.recovery = Some(remedy.name());
    Some(mended)
}

async fn mend_by(
    state: &Arc<ServerState>,
    request: &Arc<Request>,
    remedy: Resend,
    first: &PreparedRequest,
) -> Option<PreparedRequest> {
    let again = match remedy {
        Resend::Compact(told) => Attempt::AfterOverflow(told),
        Resend::AskForLess(told) => {
            let less = || ask_for_less(state, request, told, first);
            match first.from.may_recover.then(less).flatten() {
                Some(less) => return Some(less),
                None => Attempt::AfterOverflow(told),
            }
        }
        Resend::Shed(bytes_max) => Attempt::AfterBytes(bytes_max),
        Resend::LeaveThinkingOut | Resend::LeaveSealedOut | Resend::SendAsItCame
            if !first.from.may_recover =>
        {
            return None;
        }
        Resend::LeaveThinkingOut => Attempt::AfterBinding,
        Resend::LeaveSealedOut => Attempt::AfterSeals,
        // What we have written anew may be at fault; what the client wrote is the client's.
        Resend::SendAsItCame => {
            let is_ours = first.body != *request.body.bytes() && first.from.fits_whole;
            return is_ours.then(|| request.as_it_came(first.from.clone()));
        }
    };
    attempt(state, request, again).await.filter(|again| again.body != first.body || again.beta != first.beta)
}

/// An answer of fewer tokens is none.
const OUTPUT_TOKENS_MIN: u64 = 1_024;

/// The same request with as long an answer as there is room for; none where that is not worth asking for.
fn ask_for_less(
    state: &ServerState,
    request: &Request,
    told: OverflowFigures,
    first: &PreparedRequest,
) -> Option<PreparedRequest> {
    let room = told.answer_room().filter(|room| room.0 >= OUTPUT_TOKENS_MIN)?;
    let body = body_edit::lower_output(&first.body, room.0)?;
    if let Some(window) = told.limit() {
        let (endpoint, now) = (request.endpoint(request.body.model()), state.calendar());
        state.books.windows(|windows| windows.limit(&endpoint, window, now));
    }
    Some(PreparedRequest { body, beta: first.beta, from: first.from.clone(), session: first.session })
}

/// The body that would be sent for a request if it were sent now; none where that is the one that came.
pub(crate) async fn foresee(state: &Arc<ServerState>, request: &Arc<Request>) -> Option<Bytes> {
    let (_held, client) = ClientLine::new();
    let work = {
        let (state, request) = (state.clone(), request.clone());
        async move || {
            let waiter = client_wait::begin(&state, client.clone());
            let walk = Walk::new(&state, &request, &client, waiter);
            match walk.foresee().await {
                Err(WalkError::Engine(EngineError::Store(StoreError::NotKept { session, ids }))) => {
                    walk.supply(session, &ids).await?;
                    walk.foresee().await
                }
                foreseen => foreseen,
            }
        }
    };
    // What goes wrong here goes wrong when the request is sent, and is told then.
    blocking::run(work).await?.ok().flatten()
}

/// The body to send; none where there is none but the one that came. The operator is told what went wrong.
async fn attempt(
    state: &Arc<ServerState>,
    request: &Arc<Request>,
    attempt: Attempt,
) -> Option<PreparedRequest> {
    let told = |error: WalkError| state.tell_passed_on(request.tenant, error.to_string());
    // Let go with this future when the client hangs up; the work on its own thread goes on.
    let (_held, client) = ClientLine::new();
    let work = {
        let (state, request) = (state.clone(), request.clone());
        let waiter = client_wait::begin(&state, client.clone());
        async move || {
            let compacts_by_itself = client_compaction::is_asked(&request);
            let walk = Walk { compacts_by_itself, ..Walk::new(&state, &request, &client, waiter) };
            walk.run_while_wanted(attempt).await
        }
    };
    let worked = blocking::run(work).await.unwrap_or(Err(WalkError::Stopped));
    worked.map_err(told).ok().flatten()
}

/// So long a request waits for others that work on its session: longer than a lease whose holder has died.
const OTHERS_TIME: Duration = Duration::from_secs(15);
/// Then it looks again.
const OTHERS_PAUSE: Duration = Duration::from_millis(50);

/// Whether another process, or another replica, stands in the way.
fn is_by_others(error: &StoreError) -> bool {
    matches!(error, StoreError::Leased(_) | StoreError::Fenced(_) | StoreError::Conflict { .. })
}

/// One walk under way.
struct Walk<'w> {
    state: &'w Arc<ServerState>,
    request: &'w Request,
    client: &'w ClientLine,
    /// The same client, as far as models must know of it.
    waiter: RequestWaiter,
    /// Whether the client has its own summary made by this request.
    compacts_by_itself: bool,
    /// What was made or put to use for the request.
    rebuilt: Mutex<CompactionUse>,
}

/// Where a request's messages have come to stand.
struct Place {
    session: SessionId,
    /// How many of its elements were known.
    known: usize,
    /// The newest message that was known.
    leaf: Option<EntryId>,
    /// Without its book a session is written as it came, however long it is.
    _held: BookHold,
}

impl<'w> Walk<'w> {
    fn new(
        state: &'w Arc<ServerState>,
        request: &'w Request,
        client: &'w ClientLine,
        waiter: RequestWaiter,
    ) -> Self {
        Self { state, request, client, waiter, compacts_by_itself: false, rebuilt: Mutex::default() }
    }
}

impl Walk<'_> {
    /// The walk, let go where it waits for an operator and its client has hung up.
    async fn run_while_wanted(&self, attempt: Attempt) -> Result<Option<PreparedRequest>, WalkError> {
        match select(pin!(self.run_alone(attempt)), pin!(self.client.left())).await {
            Either::Left((prepared, _)) => prepared,
            Either::Right(_) => Err(WalkError::Stopped),
        }
    }

    /// The walk, taken up anew while others work on the session, or have done so meanwhile.
    async fn run_alone(&self, attempt: Attempt) -> Result<Option<PreparedRequest>, WalkError> {
        let until = Instant::now() + OTHERS_TIME;
        loop {
            match self.run(attempt).await {
                Err(WalkError::Engine(EngineError::Store(error)))
                    if is_by_others(&error) && Instant::now() < until =>
                {
                    tokio::time::sleep(OTHERS_PAUSE).await;
                }
                Err(WalkError::Leaving(_)) if Instant::now() < until => {
                    tokio::time::sleep(OTHERS_PAUSE).await;
                }
                Err(WalkError::Engine(EngineError::Store(StoreError::NotKept { session, ids })))
                    if Instant::now() < until =>
                {
                    self.supply(session, &ids).await?;
                }
                ended => return ended,
            }
        }
    }

    /// Gives a session texts of this request that its store leaves to the client.
    async fn supply(&self, session: SessionId, ids: &[EntryId]) -> Result<(), WalkError> {
        let said = self.read(0)?;
        let find = |book: &mut Book| -> Option<Vec<(EntryId, Message)>> {
            let one = |id: &EntryId| {
                let meant = book.origins.get(id)?;
                let first = said.partition_point(|(origin, _)| origin.element < meant.element);
                let mut there =
                    said[first..].iter().take_while(|(origin, _)| origin.element == meant.element);
                Some((*id, there.find(|(origin, _)| origin.part == meant.part)?.1.clone()))
            };
            ids.iter().map(one).collect()
        };
        let found = self.state.books.with(session, find).flatten();
        // What the request does not say was said on another branch, or by nobody who says it again.
        let found = found.ok_or_else(|| {
            let ids = ids.to_vec();
            EngineError::from(StoreError::NotKept { session, ids })
        })?;
        Ok(self.state.engine.supply(session, found).await?)
    }

    async fn run(&self, attempt: Attempt) -> Result<Option<PreparedRequest>, WalkError> {
        let place = self.place().await?;
        let session = place.session;
        let rule = self.rule_of(session, attempt);
        let may_recover = self.may_recover(session, &rule);
        self.tell_of_truncation(session);
        let mut checkout = self.take_up(&place, &rule).await?;
        let Some((path, view)) = self.make_room(&mut checkout, &rule, attempt).await? else {
            return Ok(None);
        };
        // Who acts on the path after this request has a line of their own, and nobody waits for what they do.
        let ports = checkout.driver.ports_mut();
        ports.operator = Some(self.operator(session, None));
        ports.waiter = None;
        let kept = own_model::strip(checkout, &rule);
        self.expect_binding(&path, session);
        let drops_unbound = self.state.books.with(session, |book| {
            book.tally.requests += 1;
            book.sent = Some((self.request.body.model().to_owned(), Instant::now()));
            book.agent.clone_from(&self.request.agent);
            book.checkout = Some(kept.clone());
            book.see(&path);
            book.sealed.drops_unbound
        });
        let drops_unbound = drops_unbound.unwrap_or_default();
        let body = self.write(session, &path, view).await?;
        let body = if drops_unbound { body_edit::drop_unbound_thinking(&body) } else { body };
        let beta = drops_unbound.then_some(body_edit::BINDING_BETA);
        Ok(Some(PreparedRequest {
            body,
            beta,
            from: self.sender(kept, &path, view, may_recover),
            session: Some(session),
        }))
    }

    /// Has the path fit as far as this attempt is to see to it; the path then, and how it is shown. None where nothing can be done.
    async fn make_room(
        &self,
        checkout: &mut Checkout,
        rule: &SessionRule,
        attempt: Attempt,
    ) -> Result<Option<(Session, HistoryView)>, WalkError> {
        let (session, is_clients) = (checkout.session, self.compacts_by_itself);
        let acted = match attempt {
            Attempt::First if self.state.settings.is_observing => {
                let observed = self.state.engine.observe(checkout).await?;
                note_observed(self.state, session, &observed);
                self.note_rebuilt(observed.step.record.as_deref());
                observed
            }
            Attempt::First => {
                if is_clients && let Some(shown) = self.show_history(checkout).await? {
                    return Ok(Some(shown));
                }
                self.show_to_own_model(checkout, rule).await?;
                let acted = self.state.engine.prepare(checkout).await;
                self.settle(session, acted)?
            }
            Attempt::AfterOverflow(told) => {
                if is_clients && let Some(path) = self.show_less(session, checkout, told).await? {
                    return Ok(Some((path, HistoryView::InView)));
                }
                // What the provider has just refused is not gone on with.
                own_model::cool(checkout);
                match self.recover(checkout, told).await? {
                    Some(acted) => acted,
                    None => return Ok(None),
                }
            }
            Attempt::AfterBytes(bytes_max) => {
                let (acted, verdict) = self.state.engine.shed_pictures(checkout, bytes_max).await?;
                let acted = self.settle(session, Ok(acted))?;
                if verdict.is_err() {
                    return Ok(None);
                }
                acted
            }
            Attempt::AfterBinding | Attempt::AfterSeals => {
                self.leave_out(session, attempt, checkout.leaf).await?;
                if is_clients && let Some(shown) = self.show_history(checkout).await? {
                    return Ok(Some(shown));
                }
                self.settle(session, self.state.engine.prepare(checkout).await)?
            }
        };
        Ok(Some((acted.session, HistoryView::InView)))
    }

    /// The body as a compaction that is in use shows it, with what is new behind that. None is made for it: whoever
    /// counts asks no model.
    async fn foresee(&self) -> Result<Option<Bytes>, WalkError> {
        let Request { tenant, hashes, .. } = self.request;
        let Some(node) = self.state.engine.find(*tenant, hashes).await? else { return Ok(None) };
        self.open_book(node.session).await?;
        self.recognize(node).await?;
        let checkout = self.checkout(node.session, &self.rule(node.session), Some(node.entry))?;
        let path = self.state.engine.look(&checkout).await?;
        let slots = self.state.books.with(node.session, |book| view_slots(&path, book));
        let Some(mut slots) = slots.transpose()?.flatten() else { return Ok(None) };
        let new = self.read(node.depth)?;
        slots.extend(new.into_iter().map(|(origin, _)| ViewSlot::Message(origin, None)));
        Ok(Some(self.written(&slots)))
    }

    /// Says once that a provider is asked to leave out what is too much without a word.
    fn tell_of_truncation(&self, session: SessionId) {
        let Request { protocol, body, tenant, .. } = self.request;
        if *protocol == Protocol::OpenaiResponses && body.field("truncation") == Some("\"auto\"") {
            let what = TRUNCATION.to_owned();
            self.state.tell_once_as(*tenant, what.clone(), &NoticeKind::Remark { session, what }.into());
        }
    }

    /// Leaves out of a context that was rebuilt what this endpoint has refused in others.
    fn expect_binding(&self, path: &Session, session: SessionId) {
        let (endpoint, now) = (self.endpoint(self.request.body.model()), self.state.calendar());
        let is_rebuilt = !path.compactions().is_empty();
        if is_rebuilt && self.state.books.learned(|known| known.bindings.has(&endpoint, now)) {
            let must_think = body_edit::must_think(self.request.body.bytes());
            self.state.books.with(session, |book| book.sealed.expect_binding(must_think));
        }
    }

    /// Notes what the provider refused, for this request and those behind it.
    async fn leave_out(
        &self,
        session: SessionId,
        attempt: Attempt,
        newest: Option<EntryId>,
    ) -> Result<(), WalkError> {
        let must_think = body_edit::must_think(self.request.body.bytes());
        if attempt == Attempt::AfterBinding {
            let (endpoint, now) = (self.endpoint(self.request.body.model()), self.state.calendar());
            self.state.books.learned(|known| known.bindings.learn(&endpoint, now));
        }
        let sealed = self.state.books.with(session, |book| {
            book.tally.recoveries += 1;
            match attempt {
                Attempt::AfterSeals => book.sealed.leave_sealed_out(newest),
                Attempt::AfterBinding
                | Attempt::First
                | Attempt::AfterOverflow(_)
                | Attempt::AfterBytes(_) => book.sealed.leave_thinking_out(newest, must_think),
            }
            book.sealed
        });
        let mut about = self.state.engine.about(session).await?;
        about.proxy_state = sealed.unwrap_or_default().written();
        self.state.engine.describe(session, about).await?;
        Ok(())
    }

    /// The client's body with the messages that show `slots`.
    fn written(&self, slots: &[ViewSlot]) -> Bytes {
        let Request { protocol, body, opening, .. } = self.request;
        body.with_messages(&view::messages(*protocol, body, *opening, slots))
    }

    /// Shows the request's own model, where it may go on from it, the request as it stands before a compaction.
    async fn show_to_own_model(&self, checkout: &Checkout, rule: &SessionRule) -> Result<(), WalkError> {
        let is_warm = checkout.driver.ports().model.as_ref().is_some_and(|model| model.is_warm);
        let OwnModel::Ready(own) = &rule.own_model else { return Ok(()) };
        if !is_warm || !rule.policy.summary.input.may_extend() {
            return Ok(());
        }
        let path = self.state.engine.look(checkout).await?;
        let slots = self.state.books.with(checkout.session, |book| {
            let last = path.leaf().and_then(|leaf| book.origins.get(&leaf)).copied();
            view_slots(&path, book).map(|slots| (slots, last))
        });
        let body = match slots.transpose()? {
            Some((Some(slots), _)) => self.written(&slots),
            Some((None, Some(last))) => self.messages_up_to(last),
            Some((None, None)) | None => return Ok(()),
        };
        (own.remember)(WarmRequest { body, beta: self.request.beta.clone() });
        Ok(())
    }

    /// The client's body with its messages up to `last`.
    fn messages_up_to(&self, last: Origin) -> Bytes {
        let Request { body, opening, .. } = self.request;
        let messages: Vec<&str> = (0..opening + last.elements().end).map(|at| body.element(at)).collect();
        body.with_messages(&messages)
    }

    fn sender(&self, checkout: Checkout, path: &Session, view: HistoryView, may_recover: bool) -> Sender {
        let (budget, leaf) = (path.budget(), path.leaf());
        let estimate = Some(budget.request(view.tokens(path)));
        let known = RequestFacts { estimate, window: Some(budget.window), largest: None };
        let (state, endpoint) = (self.state.clone(), self.endpoint(self.request.body.model()));
        let size = request_size(path, view);
        let done = self.done(checkout.session, size);
        let Request { protocol, body, tenant, .. } = self.request;
        let asked = match protocol {
            Protocol::Anthropic | Protocol::OpenaiChat => None,
            Protocol::OpenaiResponses => responses::asked(&state, *tenant, body),
        };
        let model = body.model().to_owned();
        let counter = ReplyCounter { measure: path.assembly().measure().clone(), scale: budget.scale };
        let learner = Learner { state, checkout, leaf, model, endpoint, size, asked, counter };
        let fits_whole = budget.request(path.timeline().whole()) <= budget.window;
        Sender { fits_whole, may_recover, listener: Some(Arc::new(learner)), known, done }
    }

    /// What the reply's headers say.
    fn done(&self, session: SessionId, size: RequestSize) -> DoneHeaders {
        let is_observing = self.state.settings.is_observing;
        let is_less = size.sent.min(size.observed) < size.whole;
        let compaction = match *self.rebuilt.lock().unwrap_or_else(PoisonError::into_inner) {
            CompactionUse::None if is_less => CompactionUse::InUse,
            made => made,
        };
        DoneHeaders { taken_up: Some((session, size)), compaction, recovery: None, is_observing }
    }

    fn note_rebuilt(&self, record: Option<&Record>) {
        if let Some(rebuilt) = record.and_then(CompactionUse::of) {
            *self.rebuilt.lock().unwrap_or_else(PoisonError::into_inner) = rebuilt;
        }
    }

    /// The session that the request goes on with, or a new one.
    async fn place(&self) -> Result<Place, WalkError> {
        let Request { tenant, hashes, .. } = self.request;
        let engine = &self.state.engine;
        if let Some(node) = engine.find(*tenant, hashes).await? {
            if self.state.books.has_room(node.session, self.bytes_from(node.depth)) {
                return self.place_at(node).await;
            }
            if self.state.books.remove(node.session) {
                self.close(vec![node.session]).await?;
            }
        }
        let _newcomers = self.state.newcomers.lock().await;
        if let Some(node) = engine.find(*tenant, hashes).await? {
            return self.place_at(node).await;
        }
        // Nothing is kept of a request that cannot be read.
        let messages = self.read(0)?;
        let session = engine.create(*tenant).await?;
        let held = self.open_book(session).await?;
        let leaf = self.append(session, None, &messages).await?;
        Ok(Place { session, known: hashes.len(), leaf, _held: held })
    }

    /// Goes on from the deepest message that is known.
    async fn place_at(&self, node: MessageLocation) -> Result<Place, WalkError> {
        let held = self.open_book(node.session).await?;
        self.recognize(node).await?;
        Ok(Place { session: node.session, known: node.depth, leaf: Some(node.entry), _held: held })
    }

    /// Takes up where the messages of a path stand that others have stored, or this server before it was restarted.
    async fn recognize(&self, node: MessageLocation) -> Result<(), WalkError> {
        let is_known = |book: &mut Book| book.origins.contains_key(&node.entry);
        if self.state.books.with(node.session, is_known).unwrap_or_default() {
            return Ok(());
        }
        let Request { tenant, hashes, .. } = self.request;
        self.state.engine.flush(node.session).await?;
        let traced = self.state.engine.trace(*tenant, &hashes[..node.depth]).await?;
        let log = self.state.engine.log(node.session, node.entry).await?;
        let origins =
            known_path::origins(&log, node.entry, &traced).ok_or(WalkError::Unknown(node.session))?;
        let sized = origins.into_iter().map(|(id, origin)| (id, origin, self.bytes_of(origin)));
        self.close(self.state.books.add_messages(node.session, sized)).await?;
        let refused = SealedParts::read(&self.state.engine.about(node.session).await?.proxy_state);
        self.state.books.with(node.session, |book| book.sealed = book.sealed.and(refused));
        if self.state.books.with(node.session, |book| book.records.is_empty()).unwrap_or_default() {
            let records = self.state.engine.store().records(node.session).await.map_err(EngineError::from)?;
            let keep = |book: &mut Book| {
                records.into_iter().for_each(|one| book.keep_record(Some(one.entry), one.record));
            };
            self.state.books.with(node.session, keep);
        }
        Ok(())
    }

    /// Opens the book of a session, and holds it; those that must go for it are closed.
    async fn open_book(&self, session: SessionId) -> Result<BookHold, WalkError> {
        let Request { protocol, body, .. } = self.request;
        let gone = self.state.books.open(session, *protocol, body.model());
        let gone = gone.ok_or(WalkError::Leaving(session))?;
        let held = BookHold::of_opened(self.state, session);
        self.close(gone).await?;
        Ok(held)
    }

    /// Closes sessions whose books were let go.
    async fn close(&self, gone: Vec<SessionId>) -> Result<(), WalkError> {
        let leaving = LeavingSessions { books: &self.state.books, sessions: gone };
        for &session in &leaving.sessions {
            self.state.engine.close(session).await;
            // What is in memory alone is let go with it; a store that outlives us keeps what it keeps.
            if self.state.settings.store.is_none() {
                self.state.engine.store().remove(session).await.map_err(EngineError::from)?;
            }
        }
        Ok(())
    }

    /// What the elements from a place on take.
    fn bytes_from(&self, known: usize) -> usize {
        let Request { body, opening, .. } = self.request;
        (opening + known..body.len()).map(|at| body.element(at).len()).sum()
    }

    fn read(&self, first: usize) -> Result<Vec<(Origin, Message)>, Unreadable> {
        let Request { protocol, body, opening, hashes, .. } = self.request;
        reading::messages(*protocol, body, *opening, first..hashes.len())
    }

    /// What counts for an attempt. Where the provider is asked to make room by itself, only what it refuses is compacted here.
    fn rule_of(&self, session: SessionId, attempt: Attempt) -> SessionRule {
        let mut rule = self.rule(session);
        let is_first = attempt == Attempt::First;
        if is_first && provider_edits::are_asked(self.request) {
            let settings = Settings { mode: TriggerMode::Off, ..rule.policy.settings().clone() };
            // A policy that may compact by itself is sound where it may not.
            rule.policy = Policy::try_from(settings).map_or(rule.policy, Arc::new);
        }
        rule
    }

    /// Whether the policy has a request changed after a refusal, also where its provider makes room by itself first.
    fn may_recover(&self, session: SessionId, rule: &SessionRule) -> bool {
        let is_on = |policy: &Policy| policy.mode != TriggerMode::Off && policy.guard.recoveries_max > 0;
        is_on(&rule.policy) || (provider_edits::are_asked(self.request) && is_on(&self.rule(session).policy))
    }

    fn rule(&self, session: SessionId) -> SessionRule {
        let Request { protocol, upstream, body, credentials, agent, .. } = self.request;
        let (model, known) = (body.model(), self.known(body.model()));
        let agent = agent.as_deref();
        let caller = Caller { protocol: *protocol, model, agent, credentials, upstream, known };
        let mut rule = self.state.settings.rules.of(&caller);
        rule.ports.clock = self.state.settings.clock.clone();
        rule.ports.operator = Some(self.operator(session, Some(self.client.clone())));
        rule.ports.waiter = Some(self.waiter.clone());
        rule
    }

    /// What is known of the window of a model.
    fn known(&self, model: &str) -> WindowFacts {
        let (endpoint, now) = (self.endpoint(model), self.state.calendar());
        let limits = self.state.books.windows(|windows| windows.of(&endpoint, now));
        let learned = [limits.window, limits.input_max].into_iter().flatten().map(|limit| limit.tokens).min();
        WindowFacts { stated: self.state.settings.window, learned, ..WindowFacts::default() }
    }

    fn endpoint(&self, model: &str) -> Endpoint {
        self.request.endpoint(model)
    }

    fn operator(&self, session: SessionId, client: Option<ClientLine>) -> Arc<SessionOperator> {
        let ServerState { checkpoints, settings, .. } = &**self.state;
        let (desk, tell) = (checkpoints.clone(), settings.tell.clone());
        Arc::new(SessionOperator { session, desk, tell, client })
    }

    /// Where an agent with a shell of its own has an original shown.
    fn recall(&self, session: SessionId) -> Arc<str> {
        format!("curl http://{}/api/v1/sessions/{session}/messages/m0123", self.state.address).into()
    }

    /// How the path is worked on for this request.
    fn checkout(
        &self,
        session: SessionId,
        rule: &SessionRule,
        leaf: Option<EntryId>,
    ) -> Result<Checkout, NoWindow> {
        let assembly = self.assembly(rule, self.request.body.model())?;
        let idle = self.state.books.with(session, |book| book.seen.elapsed());
        let mut ports = own_model::ports(rule, self.is_cached(session));
        ports.restorer = Some(Arc::new(self.restorer(&rule.policy)));
        let options = SessionOptions { recall: Some(self.recall(session)), ..SessionOptions::default() };
        let driver = Driver::new(ports);
        Ok(Checkout { session, leaf, assembly, options, driver, idle })
    }

    /// What the request shows of skills and tool servers, where the policy may bring them back.
    fn restorer(&self, policy: &Policy) -> RequestRestorer {
        let Request { protocol, body, around, .. } = self.request;
        let wanted = policy.restore.skills_tokens + policy.restore.servers_tokens;
        if wanted > Tokens::ZERO {
            RequestRestorer::of(*protocol, body, &around.parts.tools)
        } else {
            RequestRestorer::default()
        }
    }

    /// Counter, window and budget of a model, with what the request has around its messages.
    fn assembly(&self, rule: &SessionRule, model: &str) -> Result<Assembly, NoWindow> {
        let spec = self.state.settings.catalog.find(model);
        let spec = spec.with_betas(self.request.beta.as_deref().unwrap_or_default());
        let calibration = self.state.books.calibration(&self.endpoint(model));
        let assembly = Assembly::new(rule.policy.clone(), spec, self.known(model))?;
        let mut assembly = assembly.with_calibration(calibration);
        let around = &self.request.around;
        let fixed = around.count(&assembly) + self.sealed(&assembly);
        assembly.set_request(fixed, around.parts.max_tokens.map(Tokens));
        Ok(assembly)
    }

    /// What a summary takes that the provider itself has made, and that stands before the history.
    fn sealed(&self, assembly: &Assembly) -> Tokens {
        let Request { protocol, body, sealed, .. } = self.request;
        let messages = sealed.clone().map(|range| reading::messages(*protocol, body, 0, range));
        let messages = messages.and_then(Result::ok).unwrap_or_default();
        messages.iter().map(|(_, message)| assembly.measure().sizes(message).total()).sum()
    }

    /// Whether the provider is likely to have the session's last request in its cache, for the same model.
    fn is_cached(&self, session: SessionId) -> bool {
        let is_recent = |book: &mut Book| {
            let sent = book.sent.as_ref().filter(|(model, _)| model == self.request.body.model());
            sent.is_some_and(|(_, when)| when.elapsed() < CACHE_TIME)
        };
        self.state.books.with(session, is_recent).unwrap_or_default()
    }

    /// Appends what is new. Where the newest reply ended a turn, what the policy wants done between turns is
    /// done before the next begins; in a history that comes as a whole, turns ended long ago.
    async fn take_up(&self, place: &Place, rule: &SessionRule) -> Result<Checkout, WalkError> {
        let Place { session, known, mut leaf, .. } = *place;
        let messages = self.read(known)?;
        let mut checkout = self.checkout(session, rule, leaf)?;
        let is_reply = |(_, message): &(Origin, Message)| message.role == Role::Assistant;
        let is_answer = |one: &&(Origin, Message)| one.0.element == known && is_reply(one);
        let answered = messages.iter().take_while(is_answer).filter(|_| known > 0).count();
        // A client that changed what it said last sends that anew, in front of the reply.
        let replied = messages.iter().rposition(is_reply).filter(|_| known > 0).map_or(0, |at| at + 1);
        let (answer, more) = (&messages[..answered], &messages[answered..replied]);
        let input = &messages[replied..];
        self.state.books.with(session, |book| book.is_working |= replied > 0);
        if !answer.is_empty() {
            let sent_with = leaf;
            leaf = self.append(session, leaf, answer).await?;
            checkout.leaf = leaf;
            self.note_usage(&checkout, rule, sent_with).await?;
        }
        leaf = self.append(session, leaf, more).await?;
        checkout.leaf = leaf;
        // Others may have brought the reply before: a question asked again, or several at once.
        let may_act = !self.compacts_by_itself && !self.state.settings.is_observing;
        if known > 0 && !input.is_empty() && may_act {
            self.show_to_own_model(&checkout, rule).await?;
            self.rest(&checkout, input).await?;
        }
        checkout.leaf = self.append(session, leaf, input).await?;
        self.state.books.with(session, |book| (book.seen, book.is_idle_checked) = (Instant::now(), false));
        Ok(checkout)
    }

    /// Appends messages; the newest of the path then.
    async fn append(
        &self,
        session: SessionId,
        leaf: Option<EntryId>,
        messages: &[(Origin, Message)],
    ) -> Result<Option<EntryId>, WalkError> {
        if messages.is_empty() {
            return Ok(leaf);
        }
        let is_last =
            |at: usize| messages.get(at + 1).is_none_or(|(next, _)| next.element != messages[at].0.element);
        let hash =
            |at: usize, origin: &Origin| is_last(at).then(|| self.request.hashes[origin.elements().end - 1]);
        let arrived =
            messages.iter().enumerate().map(|(at, (origin, message))| (message.clone(), hash(at, origin)));
        let arrival = HashedMessages {
            messages: arrived.collect(),
            about: self.about(session, leaf),
            is_repeated: true,
            time_ms: self.state.settings.clock.unix_ms(),
        };
        let ids = self.state.engine.append(session, leaf, arrival).await?;
        let origins = messages.iter().map(|(origin, _)| (*origin, self.bytes_of(*origin)));
        let appended = ids.iter().zip(origins).map(|(id, (origin, bytes))| (*id, origin, bytes));
        self.close(self.state.books.add_messages(session, appended)).await?;
        Ok(ids.last().copied().or(leaf))
    }

    /// What is to be kept of a session that begins, or goes on with another model.
    fn about(&self, session: SessionId, leaf: Option<EntryId>) -> Option<SessionAbout> {
        let model = self.request.body.model();
        let is_as_stored = |book: &mut Book| {
            let is_as_stored = std::mem::replace(&mut book.stored_model, model.to_owned()) == model;
            (is_as_stored, book.sealed.written())
        };
        let (is_as_stored, proxy_state) = self.state.books.with(session, is_as_stored).unwrap_or_default();
        if is_as_stored && leaf.is_some() {
            return None;
        }
        let mut about = SessionAbout::default();
        about.origin = SessionOrigin::Proxy;
        about.model = model.to_owned();
        about.form = self.request.protocol.name().to_owned();
        about.agent = self.request.agent.clone().unwrap_or_default();
        about.proxy_state = proxy_state;
        about.title = self.title();
        Some(about)
    }

    /// What a session is called: what a person said first, unless nothing of that is to be kept.
    fn title(&self) -> String {
        let Request { protocol, body, opening, hashes, .. } = self.request;
        if self.state.settings.store.as_ref().is_some_and(|place| place.keep == KeptBodies::None) {
            return String::new();
        }
        let first = reading::messages(*protocol, body, *opening, 0..hashes.len().min(TITLE_ELEMENTS));
        let is_asked = |message: &Message| message.role == Role::User && message.author == Author::Person;
        let asked = first.into_iter().flatten().map(|(_, message)| message).filter(is_asked);
        let said = asked.map(|message| message.said()).find(|said| !said.trim().is_empty());
        let line = said.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
        line.chars().take(TITLE_CHARS).collect()
    }

    /// What the elements of a message take; of two messages of one element, the second stands for it.
    fn bytes_of(&self, origin: Origin) -> usize {
        let Request { body, opening, .. } = self.request;
        match origin.part {
            ElementPart::Results => 0,
            ElementPart::All | ElementPart::Said => {
                origin.elements().map(|at| body.meaning(opening + at).len()).sum()
            }
        }
    }

    /// Tells the session what the provider said of the call whose reply has come back.
    async fn note_usage(
        &self,
        checkout: &Checkout,
        rule: &SessionRule,
        sent_with: Option<EntryId>,
    ) -> Result<(), WalkError> {
        let told = |book: &mut Book| book.ended_calls.remove(&sent_with?);
        let Some(told) = self.state.books.with(checkout.session, told).flatten() else { return Ok(()) };
        let is_stored = told.stored_as.is_some() && told.stored_as == checkout.leaf;
        let Some((usage, source)) = told.usage.filter(|_| !is_stored) else { return Ok(()) };
        let mut called = checkout.clone();
        // Whatever this request asks for, it is the model called then whose provider has counted.
        if told.model != self.request.body.model() {
            called.assembly = self.assembly(rule, &told.model)?;
        }
        match source {
            UsageSource::Provider => self.state.engine.reply(&called, usage).await?,
            UsageSource::Estimate => self.state.engine.reply_estimated(&called, usage).await?,
        };
        Ok(())
    }

    /// Does what the policy wants done between turns, with so much about to be said.
    async fn rest(&self, checkout: &Checkout, input: &[(Origin, Message)]) -> Result<(), WalkError> {
        let path = self.state.engine.look(checkout).await?;
        if !path.has_turn_ended() {
            return Ok(());
        }
        let ended = self.state.engine.end_turn(checkout, TurnEnd::Good).await;
        self.settle(checkout.session, ended)?;
        let measure = checkout.assembly.measure();
        let tokens = input.iter().map(|(_, message)| measure.sizes(message).total()).sum();
        let looked = self.state.engine.prepare_at(checkout, LookPoint::Input(tokens)).await;
        self.settle(checkout.session, looked)?;
        Ok(())
    }

    /// Makes room after an overflow; none where no more can be done.
    async fn recover(
        &self,
        checkout: &Checkout,
        told: OverflowFigures,
    ) -> Result<Option<PreparedSession>, WalkError> {
        let session = checkout.session;
        self.state.tell(NoticeKind::TooLong { session });
        let figures = RefusalFigures { limit: told.limit().or(told.rate), requested: told.requested };
        let (mut acted, verdict) = self.state.engine.overflow(checkout, figures, told.gap()).await?;
        if told.limit().is_none() && told.rate.is_some() {
            // What one minute allows is what this request must fit, and no window: nothing is learned from it.
            acted.step.events.retain(|event| !matches!(event, Event::Learned { .. }));
        }
        self.learn(&acted.step.events);
        let acted = self.settle(session, Ok(acted))?;
        if verdict.is_err() {
            return Ok(None);
        }
        self.state.books.with(session, |book| book.tally.recoveries += 1);
        Ok(Some(acted))
    }

    /// Learns the window of the request's model, for every session with it. The window that the path is measured by
    /// may be what an agent or the operator says of it, and says nothing of the provider.
    fn learn(&self, events: &[Event]) {
        let (endpoint, now) = (self.endpoint(self.request.body.model()), self.state.calendar());
        for event in events {
            if let Event::Learned { window } = event {
                self.state.books.windows(|windows| windows.limit(&endpoint, *window, now));
            }
        }
    }

    /// Keeps the record of what the engine did, and tells the operator.
    fn settle(
        &self,
        session: SessionId,
        acted: Result<PreparedSession, EngineError>,
    ) -> Result<PreparedSession, EngineError> {
        let acted = acted.inspect_err(|error| match error {
            // Nothing is wrong: the client has gone, and its next request begins anew.
            EngineError::NobodyWaits => {}
            error => self.state.tell(NoticeKind::Failed { session, why: error.to_string() }),
        })?;
        note_step(self.state, session, &acted);
        self.note_rebuilt(acted.step.record.as_deref());
        Ok(acted)
    }
}

/// What a request has, and what it would have without us: no more than the window, beyond which no provider takes it.
fn request_size(path: &Session, view: HistoryView) -> RequestSize {
    let (budget, whole) = (path.budget(), path.timeline().whole());
    let (whole, sent) = (budget.request(whole), budget.request(view.tokens(path)));
    let observed = sent.less(path.timeline().observed());
    RequestSize { whole, without: whole.min(budget.window).max(sent), sent, observed }
}

/// A person speaks in one of so many elements of a request; agents put reminders of their own in front.
const TITLE_ELEMENTS: usize = 4;
/// Enough of a first prompt to know a session by.
const TITLE_CHARS: usize = 120;

/// What `truncation: "auto"` comes to.
const TRUNCATION: &str = "its requests say `truncation: \"auto\"`: what is too much for the provider it drops without a word; leave it out, so that it refuses and is sent less";

/// A walk that could not be finished.
#[derive(Debug, thiserror::Error)]
enum WalkError {
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error(transparent)]
    NoWindow(#[from] NoWindow),
    #[error(
        "{0} was stored by another version that reads this request otherwise; it begins anew with the next conversation"
    )]
    Unknown(SessionId),
    #[error("{0} is being closed to make room; send the request again")]
    Leaving(SessionId),
    #[error("the work on this request was stopped; send it again")]
    Stopped,
}

#[cfg(test)]
pub(crate) mod tests;
