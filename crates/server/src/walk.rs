//! The walk of one request, from the client's body to the body that is sent: found by what it says, appended to its
//! session, made to fit by the engine, written from the client's own bytes.

mod body_writer;
mod forecast;
mod intake;
mod obstacle;
mod place;
mod prefixes;
mod recovery;
mod request_rule;
mod sender;
mod supply;
mod whole_history;

pub(crate) use forecast::foresee;
pub(crate) use recovery::mend;

use crate::checkpoints::ClientLine;
use crate::notice::NoticeKind;
use crate::observation::note_observed;
use crate::own_model;
use crate::reply::Sender;
use crate::request::Request;
use crate::request_reader::Unreadable;
use crate::response_headers::CompactionUse;
use crate::rules::SessionRule;
use crate::server_state::{ServerState, note_step};
use crate::{blocking, body_edit, client_compaction, client_wait};
use bytes::Bytes;
use epitome_engine::store::SessionId;
use epitome_engine::{Checkout, EngineError, LookPoint, NoWindow, PreparedSession, RequestWaiter, Session};
use epitome_wire::Protocol;
use epitome_wire::overflow::OverflowFigures;
use futures_util::future::{BoxFuture, Either, select};
use obstacle::WalkDelay;
use std::pin::pin;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Instant;
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

/// The body to send; none where there is none but the one that came. The operator is told what went wrong.
async fn attempt(
    state: &Arc<ServerState>,
    request: &Arc<Request>,
    attempt: Attempt,
) -> Option<PreparedRequest> {
    let told = |error: WalkError| state.tell_passed_on(request.tenant, error.to_string());
    // Let go with this future when the client hangs up; the work goes on.
    let (_held, client) = ClientLine::new();
    let walk = |pace| walk_at(pace, state.clone(), request.clone(), client.clone(), attempt);
    let is_light = attempt == Attempt::First && request.body.new_bytes() <= LIGHT_BYTES_MAX;
    let tried =
        if is_light { blocking::run_light(walk(Pace::Light)).await } else { Some(Err(WalkError::Heavy)) };
    let worked = match tried {
        Some(Err(WalkError::Heavy)) => {
            let walk = walk(Pace::Any);
            blocking::run(async move || walk.await).await
        }
        tried => tried,
    };
    worked.unwrap_or(Err(WalkError::Stopped)).map_err(told).ok().flatten()
}

/// A walk that takes up no more than this, and finds nothing due, is over in less time than another thread is woken in.
const LIGHT_BYTES_MAX: usize = 16 << 10;

/// How long a walk may take the processor for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pace {
    /// Others wait for this thread: what would take longer ends with [`WalkError::Heavy`], and is begun anew elsewhere.
    Light,
    /// As long as it takes.
    Any,
}

/// A walk, on the heap: it holds all that a compaction does, and would be copied with every future that it is a part of.
fn walk_at(
    pace: Pace,
    state: Arc<ServerState>,
    request: Arc<Request>,
    client: ClientLine,
    attempt: Attempt,
) -> BoxFuture<'static, Result<Option<PreparedRequest>, WalkError>> {
    Box::pin(async move {
        let compacts_by_itself = client_compaction::is_asked(&request);
        if pace == Pace::Light && (compacts_by_itself || state.settings.is_observing) {
            return Err(WalkError::Heavy);
        }
        let waiter = client_wait::begin(&state, client.clone());
        let walk = Walk { pace, compacts_by_itself, ..Walk::new(&state, &request, &client, waiter) };
        walk.run_while_wanted(attempt).await
    })
}

/// One walk under way.
struct Walk<'w> {
    state: &'w Arc<ServerState>,
    request: &'w Request,
    client: &'w ClientLine,
    /// The same client, as far as models must know of it.
    waiter: RequestWaiter,
    pace: Pace,
    /// Whether the client has its own summary made by this request.
    compacts_by_itself: bool,
    /// Whether it goes on without what the store has of its session, which cannot be had.
    begins_anew: AtomicBool,
    /// What was made or put to use for the request.
    rebuilt: Mutex<CompactionUse>,
}

impl<'w> Walk<'w> {
    fn new(
        state: &'w Arc<ServerState>,
        request: &'w Request,
        client: &'w ClientLine,
        waiter: RequestWaiter,
    ) -> Self {
        let (begins_anew, rebuilt) = (AtomicBool::new(false), Mutex::default());
        Self {
            state,
            request,
            client,
            waiter,
            pace: Pace::Any,
            compacts_by_itself: false,
            begins_anew,
            rebuilt,
        }
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

    /// The walk, taken up anew where something stood in its way that can be got past.
    async fn run_alone(&self, attempt: Attempt) -> Result<Option<PreparedRequest>, WalkError> {
        let mut delay = WalkDelay::begin();
        loop {
            match self.run(attempt).await {
                Err(error) => self.get_past(error, attempt, &mut delay).await?,
                ended => return ended,
            }
        }
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
        self.watch_prefix(session);
        let drops_unbound = self.state.books.with(session, |book| {
            book.tally.requests += 1;
            book.sent = Some((self.request.body.model().to_owned(), Instant::now()));
            book.agent.clone_from(&self.request.agent);
            book.checkout = Some(kept.clone());
            book.see(&path);
            book.note_seen();
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
                // To write what it is shown takes a while.
                if own_model::is_warm(checkout) {
                    self.keep_pace(checkout, LookPoint::Call).await?;
                    self.show_to_own_model(checkout, rule).await?;
                }
                let acted = match self.pace {
                    Pace::Light => self.state.engine.prepare_if_calm(checkout).await.transpose(),
                    Pace::Any => {
                        self.let_others_find(checkout).await?;
                        Some(self.state.engine.prepare(checkout).await)
                    }
                };
                self.settle(session, acted.ok_or(WalkError::Heavy)?)?
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

    /// Ends a walk that is to be light where there is more to do than that at some point.
    async fn keep_pace(&self, checkout: &Checkout, point: LookPoint) -> Result<(), WalkError> {
        let is_light = self.pace == Pace::Any || self.state.engine.is_calm_at(checkout, point).await?;
        if is_light { Ok(()) } else { Err(WalkError::Heavy) }
    }

    /// Has stored what was said before a model is asked to write a summary of it: another server that is sent the same meanwhile finds
    /// who is at work on it, and waits.
    async fn let_others_find(&self, checkout: &Checkout) -> Result<(), EngineError> {
        let engine = &self.state.engine;
        let may_be_looked_for = self.state.neighbours.may_be() && engine.has_deferred(checkout.session);
        let may_ask = checkout.driver.ports().model.is_some();
        if may_be_looked_for && may_ask && !engine.is_calm_at(checkout, LookPoint::Call).await? {
            engine.flush(checkout.session).await?;
        }
        Ok(())
    }

    /// Says once that a provider is asked to leave out what is too much without a word.
    fn tell_of_truncation(&self, session: SessionId) {
        let Request { protocol, body, tenant, .. } = self.request;
        if *protocol == Protocol::OpenaiResponses && body.field("truncation") == Some("\"auto\"") {
            let what = TRUNCATION.to_owned();
            self.state.tell_once_as(*tenant, what.clone(), &NoticeKind::Remark { session, what }.into());
        }
    }

    /// Keeps the record of what the engine did, and tells the operator.
    fn settle(
        &self,
        session: SessionId,
        acted: Result<PreparedSession, EngineError>,
    ) -> Result<PreparedSession, EngineError> {
        let acted = acted.inspect_err(|error| {
            if Self::is_told(error) {
                self.state.tell(NoticeKind::Failed { session, why: error.to_string() });
            }
        })?;
        note_step(self.state, session, &acted);
        self.note_rebuilt(acted.step.record.as_deref());
        Ok(acted)
    }
}

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
    #[error("there is more to do for this request than may be done at once")]
    Heavy,
    #[error("the work on this request was stopped; send it again")]
    Stopped,
}

#[cfg(test)]
pub(crate) mod tests;
