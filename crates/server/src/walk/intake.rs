//! Taking up what is new in a request: the reply that came back, with what its provider said of the call, what is to be done between
//! turns, and what is said now.

use super::place::Place;
use super::{Pace, Walk, WalkError};
use crate::books::Book;
use crate::ended_call::{CallKey, UsageSource};
use crate::request::Request;
use crate::request_reader::{self, Unreadable};
use crate::rules::SessionRule;
use crate::server_state::ServerState;
use crate::view::Origin;
use epitome_core::facts::spoken;
use epitome_core::{Author, EntryId, KeptBodies, Message, Role};
use epitome_engine::store::{SessionAbout, SessionId, SessionOrigin};
use epitome_engine::{Checkout, HashedMessages, LookPoint, TurnEnd};
use epitome_wire::protocol::ElementPart;

/// A person speaks in one of so many elements of a request; agents put reminders of their own in front.
const TITLE_ELEMENTS: usize = 4;

/// Enough of a first prompt to know a session by.
const TITLE_CHARS: usize = 120;

impl Walk<'_> {
    /// Appends what is new. Where the newest reply ended a turn, what the policy wants done between turns is
    /// done before the next begins; in a history that comes as a whole, turns ended long ago.
    pub(super) async fn take_up(&self, place: &Place, rule: &SessionRule) -> Result<Checkout, WalkError> {
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
        // A walk that turns out to be no light one is begun anew, and asks how long its session was idle.
        if self.pace == Pace::Any {
            self.state.books.with(session, Book::note_seen);
        }
        Ok(checkout)
    }

    /// Appends messages; the newest of the path then.
    pub(super) async fn append(
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
            same_as: self.taken_up_as(session, &messages[0]).await?,
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

    /// The entry that a reply was taken up as before its client has sent it back, where the store does not have what it says.
    async fn taken_up_as(
        &self,
        session: SessionId,
        (origin, message): &(Origin, Message),
    ) -> Result<Option<EntryId>, WalkError> {
        let ServerState { settings, engine, key, .. } = &**self.state;
        let is_text_kept = settings.store.as_ref().is_none_or(|store| store.keep == KeptBodies::All);
        let is_asked_for = !is_text_kept && message.role == Role::Assistant;
        let Some(before) = origin.element.checked_sub(1).filter(|_| is_asked_for) else { return Ok(None) };
        let said = key.said(self.request.hashes[before], message);
        let found = engine.find(self.request.tenant, &[said]).await?;
        Ok(found.filter(|place| place.session == session).map(|place| place.entry))
    }

    /// What is to be kept of a session that begins, or goes on with another model.
    pub(super) fn about(&self, session: SessionId, leaf: Option<EntryId>) -> Option<SessionAbout> {
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
    pub(super) fn title(&self) -> String {
        let Request { protocol, body, opening, hashes, .. } = self.request;
        if self.state.settings.store.as_ref().is_some_and(|place| place.keep == KeptBodies::None) {
            return String::new();
        }
        let first = request_reader::messages(*protocol, body, *opening, 0..hashes.len().min(TITLE_ELEMENTS));
        let is_asked = |message: &Message| message.role == Role::User && message.author == Author::Person;
        let asked = first.into_iter().flatten().map(|(_, message)| message).filter(is_asked);
        let said =
            asked.map(|message| spoken(&message.said()).into_owned()).find(|said| !said.trim().is_empty());
        let line = said.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
        line.chars().take(TITLE_CHARS).collect()
    }

    /// What the elements of a message take; of two messages of one element, the second stands for it.
    pub(super) fn bytes_of(&self, origin: Origin) -> usize {
        let Request { body, opening, .. } = self.request;
        match origin.part {
            ElementPart::Results => 0,
            ElementPart::All | ElementPart::Said => {
                origin.elements().map(|at| body.meaning(opening + at).len()).sum()
            }
        }
    }

    /// Tells the session what the provider said of the call whose reply has come back.
    pub(super) async fn note_usage(
        &self,
        checkout: &Checkout,
        rule: &SessionRule,
        sent_with: Option<EntryId>,
    ) -> Result<(), WalkError> {
        let told = |book: &mut Book| book.ended_calls.take_answered(&self.request.call_key(sent_with?));
        let told = self.state.books.with(checkout.session, told).flatten();
        let Some((CallKey { model, .. }, told)) = told else { return Ok(()) };
        let is_stored = told.stored_as.is_some() && told.stored_as == checkout.leaf;
        let Some((usage, source)) = told.usage.filter(|_| !is_stored) else { return Ok(()) };
        let mut called = checkout.clone();
        // Whatever this request asks for, it is the model called then whose provider has counted.
        if *model != *self.request.body.model() {
            called.assembly = self.assembly(checkout.session, rule, &model)?;
        }
        match source {
            UsageSource::Provider => self.state.engine.reply(&called, usage).await?,
            UsageSource::Estimate => self.state.engine.reply_estimated(&called, usage).await?,
        };
        Ok(())
    }

    /// Does what the policy wants done between turns, with so much about to be said.
    pub(super) async fn rest(
        &self,
        checkout: &Checkout,
        input: &[(Origin, Message)],
    ) -> Result<(), WalkError> {
        if !self.state.engine.glance(checkout).await?.has_turn_ended() {
            return Ok(());
        }
        self.keep_pace(checkout, LookPoint::TurnEnd).await?;
        let ended = self.state.engine.end_turn(checkout, TurnEnd::Good).await;
        self.settle(checkout.session, ended)?;
        let measure = checkout.assembly.measure();
        let tokens = input.iter().map(|(_, message)| measure.sizes(message).total()).sum();
        self.keep_pace(checkout, LookPoint::Input(tokens)).await?;
        let looked = self.state.engine.prepare_at(checkout, LookPoint::Input(tokens)).await;
        self.settle(checkout.session, looked)?;
        Ok(())
    }

    pub(super) fn read(&self, first: usize) -> Result<Vec<(Origin, Message)>, Unreadable> {
        let Request { protocol, body, opening, hashes, .. } = self.request;
        request_reader::messages(*protocol, body, *opening, first..hashes.len())
    }
}
